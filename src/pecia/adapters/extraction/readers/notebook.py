"""Jupyter notebooks: a section a cell, its code in a fence, its printed output below."""

import json
from collections.abc import Iterator
from typing import Any, cast

from pecia.adapters.extraction.readers.input_file import InputFile, ReaderResult, UnreadableFile
from pecia.adapters.extraction.readers.version import OURS, our_version
from pecia.adapters.extraction.status import ExtractionStatus
from pecia.adapters.extraction.wire import About
from pecia.kernel.text.canonical import RawUnit, UnitKind

_OUTPUT_LETTERS = 20_000


def read_notebook(file: InputFile, first: int, count: int) -> ReaderResult:
    try:
        notebook: Any = json.loads(file.text.text)
        cells = cast("list[dict[str, Any]]", notebook["cells"])
        language = _language(notebook.get("metadata", {}))
        units = list(_units(cells, language))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UnreadableFile(
            ExtractionStatus.CORRUPT, "It is a notebook whose JSON is damaged."
        ) from error
    about = About(
        "", OURS, our_version(), is_markdown=True, title=_title(units), unit_count=len(units)
    )
    return ReaderResult(about, units)


def _language(metadata: dict[str, Any]) -> str:
    said = metadata.get("language_info", {}).get("name", "python")
    return said if isinstance(said, str) and said.isalnum() else ""


def _units(cells: list[dict[str, Any]], language: str) -> Iterator[RawUnit]:
    for number, cell in enumerate(cells, 1):
        source = _join_source(cell.get("source", ""))
        if cell.get("cell_type") == "code":
            source = "\n\n".join([f"```{language}\n{source}\n```", *_outputs(cell)])
        yield RawUnit(number, UnitKind.SECTION, source, f"cell {number}")


def _outputs(cell: dict[str, Any]) -> Iterator[str]:
    for output in cell.get("outputs", []):
        text = _join_source(output.get("text") or output.get("data", {}).get("text/plain", ""))
        if text.strip():
            more = len(text) - _OUTPUT_LETTERS
            cut = f"\n… and {more:,} more letters of output" if more > 0 else ""
            yield f"```\n{text[:_OUTPUT_LETTERS].rstrip()}{cut}\n```"


def _join_source(said: object) -> str:
    return "".join(map(str, cast("list[object]", said))) if isinstance(said, list) else str(said)


def _title(units: list[RawUnit]) -> str:
    for unit in units:
        if unit.text.startswith("# "):
            return unit.text.split("\n", 1)[0][2:].strip()
    return ""
