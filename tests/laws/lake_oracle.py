"""What the lake should show to whom, naively: hits, files, errors, counts. It knows no index.

Worlds say `text N` in their files, each file another number, so a query is matched by looking.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from pecia.kernel.errors import Conflict, NotFound
from tests.laws.facts import File
from tests.laws.oracle import Caller, sees_file, sees_source

At: TypeAlias = tuple[str, str]
"""A file: its source and its key."""


@dataclass(frozen=True, slots=True)
class Question:
    """One word or one phrase, in a place or anywhere."""

    words: str
    is_phrase: bool = False
    mode: str = "lexical"
    source: str | None = None
    path: str | None = None

    def arguments(self) -> dict[str, Any]:
        asked = {
            "query": f'"{self.words}"' if self.is_phrase else self.words,
            "mode": self.mode,
            "source_id": self.source,
            "path": self.path,
        }
        return {name: it for name, it in asked.items() if it is not None}


def seen(who: Caller) -> dict[At, File]:
    """Every file this caller sees, in the order of listings."""
    files = who.tenant.file
    return {at: files[at] for at in sorted(files, key=_bytes) if sees_file(who, *at)}


def sources(who: Caller) -> list[str]:
    return [it for it in sorted(who.tenant.source, key=str.encode) if sees_source(who, it)]


def hits(who: Caller, asked: Question) -> dict[At, bool]:
    """The files that answer, and whether their words do. Every file is one chunk at most."""
    found = {at: says(asked, at, it) for at, it in seen(who).items() if _stands(asked, at, it)}
    by_meaning = asked.mode == "hybrid" and not asked.is_phrase
    return {
        at: by_words
        for at, by_words in found.items()
        if by_words or (by_meaning and who.tenant.file[at].embedded)
    }


def says(asked: Question, at: At, file: File) -> bool:
    """Whether its words, or those of its name, are the ones asked for."""
    text = file.texts[-1]
    if asked.is_phrase:
        return asked.words == text
    return any(it in {*text.split(), *_name_words(at[1])} for it in asked.words.split())


def source_refusal(who: Caller, source: str) -> dict[str, Any] | None:
    """How its files are refused: one that is hidden as one that never was; one switched off by
    that name, to whoever knows the source. None where they can be asked for."""
    if source not in sources(who):
        return _not_found(f"no source {source!r}", "pecia source list", source_id=source)
    return None if who.tenant.source[source].enabled else _switched_off(source)


def file_refusal(who: Caller, source: str, key: str) -> dict[str, Any] | None:
    if (source, key) in seen(who):
        return None
    if source in sources(who) and not who.tenant.source[source].enabled:
        return _switched_off(source)
    message = f"no file {key!r} in source {source!r}"
    return _not_found(message, "lake.list_files", source_id=source, key=key)


def counts(who: Caller, vectors_a_file: int) -> dict[str, int]:
    """What the index holds for this caller."""
    held = seen(who).values()
    return {
        "files": len(held),
        "chunks": sum(bool(it.texts) for it in held),
        "vectors": vectors_a_file * sum(it.embedded for it in held),
    }


def _stands(asked: Question, at: At, file: File) -> bool:
    """Whether it has a text at all, in the place asked for."""
    source, key = at
    return bool(file.texts) and asked.source in (None, source) and _in_path(asked.path, key)


def _in_path(glob: str | None, key: str) -> bool:
    match glob:
        case None:
            return True
        case "a/**":
            return key.startswith("a/") and key != "a/"
        case "*.md":
            return key.endswith(".md") and "/" not in key
        case _:
            raise AssertionError(f"no meaning for {glob!r} here")


def _name_words(key: str) -> Iterator[str]:
    yield from re.findall(r"[^\W_]+|[^\W\d_]+|\d+", key.lower())
    yield from re.findall(r"[^\W\d_]+|\d+", key.lower())


def _switched_off(source: str) -> dict[str, Any]:
    hint = f"an administrator switches it on: pecia source set {source} --enabled true"
    error = Conflict(f"the source {source!r} is switched off", source_id=source, hint=hint)
    return dict(error.payload())


def _not_found(message: str, listed_by: str, **fields: str) -> dict[str, Any]:
    hint = f"Not found, or no access. Try `{listed_by}`."
    return dict(NotFound(message, hint=hint, **fields).payload())


def _bytes(at: At) -> tuple[bytes, bytes]:
    return at[0].encode(), at[1].encode()
