"""Test collections in the layout of BEIR, read from a folder. It writes and downloads nothing.

`corpus.jsonl` and `queries.jsonl` hold an object a line, `qrels/NAME.tsv` three columns.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import orjson

from pecia.kernel.errors import InvalidFormat, NotFound


@dataclass(frozen=True, slots=True)
class BeirDocument:
    id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class BeirCollection:
    """Documents, the queries that were judged, and the judgements by query and document."""

    documents: tuple[BeirDocument, ...]
    queries: Mapping[str, str]
    qrels: Mapping[str, Mapping[str, int]]


def read_collection(folder: Path, split: str = "test") -> BeirCollection:
    """A collection with one of its sets of judgements. An error names the file and the line."""
    judged = _read_qrels(folder / "qrels" / f"{split}.tsv")
    queries = {it["_id"]: it["text"] for it in _lines(folder / "queries.jsonl", ("_id", "text"))}
    for query in judged:
        if query not in queries:
            raise InvalidFormat(f"queries.jsonl has no query {query!r}", field="queries.jsonl")
    documents = tuple(
        BeirDocument(it["_id"], it.get("title", ""), it["text"])
        for it in _lines(folder / "corpus.jsonl", ("_id", "text"))
    )
    return BeirCollection(documents, {query: queries[query] for query in judged}, judged)


def _lines(path: Path, needed: tuple[str, ...]) -> Iterator[dict[str, str]]:
    for number, line in _numbered_lines(path):
        try:
            read: object = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise _format_error(path, number, str(error)) from None
        if not isinstance(read, dict):
            raise _format_error(path, number, "an object is expected")
        entry = cast(dict[str, object], read)
        texts = {it: entry.get(it) for it in (*needed, "title") if it in entry}
        for name in needed:
            if name not in texts:
                raise _format_error(path, number, f"there is no {name}")
        for name, value in texts.items():
            if not isinstance(value, str):
                raise _format_error(path, number, f"{name} is not a text")
        yield cast(dict[str, str], texts)


def _read_qrels(path: Path) -> dict[str, dict[str, int]]:
    judged: dict[str, dict[str, int]] = {}
    for number, line in [*_numbered_lines(path)][1:]:
        try:
            query, document, gain = line.strip("\r").split("\t")
            judged.setdefault(query, {})[document] = int(gain)
        except ValueError:
            raise _format_error(path, number, "query, document and a number are expected") from None
    return judged


def _numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines that are not empty. A text may hold any sign that also ends a line elsewhere."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise NotFound(f"there is no file {path}", file=str(path)) from None
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidFormat(f"{path.name} cannot be read: {error}", field=path.name) from None
    return ((number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip())


def _format_error(path: Path, number: int, why: str) -> InvalidFormat:
    return InvalidFormat(f"{path.name} line {number}: {why}", field=path.name, line=number)
