"""Office documents, books and sheets through kreuzberg, which gives Markdown."""

import base64
import binascii
import re
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from typing import Any, cast
from urllib.parse import unquote_to_bytes

import kreuzberg

from pecia.adapters.extraction.detect.file_kind import OFFICE_TYPES, FileKind
from pecia.adapters.extraction.detect.zip_bomb import check_zip
from pecia.adapters.extraction.readers.input_file import (
    InputFile,
    ReaderResult,
    UnreadableFile,
    one_section,
)
from pecia.adapters.extraction.readers.version import version_of
from pecia.adapters.extraction.status import ExtractionStatus
from pecia.adapters.extraction.wire import About
from pecia.kernel.text.canonical import RawUnit, UnitKind

_PACKAGES = frozenset(
    {
        FileKind.DOCX,
        FileKind.XLSX,
        FileKind.PPTX,
        FileKind.ODT,
        FileKind.ODS,
        FileKind.ODP,
        FileKind.EPUB,
    }
)
_SHEET = re.compile(r"^## (.*)$", re.MULTILINE)
_HEADING = re.compile(r"^#{1,2} +(.+)$", re.MULTILINE)
_BLANKS = re.compile(r" {2,}")
_DASHES = re.compile(r"-{4,}(?= )")
# A picture or link whose target is its bytes: as long as the file, and no words.
_DATA_LINK = re.compile(r"!?\[([^\]\n]{0,300})\]\(data:([^)\s]*)\)")
_SVG_TEXT = frozenset({"text", "title", "desc"})
_MIDNIGHT = re.compile(r"(?<=\| )(\d{4}-\d\d-\d\d) 00:00:00(?= \|)")
_TIME = re.compile(r"\| \d{4}-\d\d-\d\d (?!00:00:00)\d\d:\d\d:\d\d \|")
_ESCAPED = re.compile(r"\\([\\`*_{}\[\]()#+.!|~-])")


# The stub of this release lacks an argument that it takes.
_CONFIG: Any = kreuzberg.ExtractionConfig


def read_document(kind: FileKind) -> Callable[[InputFile, int, int], ReaderResult]:
    """A reader of that kind of flowing text. It has no pages, and we invent none."""

    def read(file: InputFile, first: int, count: int) -> ReaderResult:
        found = convert(file, kind)
        text = squeeze_tables(replace_embedded(found.content))
        return ReaderResult(_about(found, _heading(text), 1), one_section(text))

    return read


def read_sheets(kind: FileKind) -> Callable[[InputFile, int, int], ReaderResult]:
    """A reader of that kind of workbook: one unit a sheet, under its name."""

    def read(file: InputFile, first: int, count: int) -> ReaderResult:
        found = convert(file, kind)
        sheets = list(_sheets(_shorten_days(squeeze_tables(found.content))))
        return ReaderResult(_about(found, "", len(sheets)), sheets)

    return read


def convert(file: InputFile, kind: FileKind) -> kreuzberg.ExtractionResult:
    """What kreuzberg makes of the file, or why it makes nothing of it."""
    if kind in _PACKAGES:
        check_zip(file)
    return to_markdown(file.data, OFFICE_TYPES[kind], kind)


def squeeze_tables(text: str) -> str:
    """The same tables without the blanks that make their columns even, and cost letters."""
    lines: list[str] = []
    in_fence = False
    for line in text.split("\n"):
        in_fence ^= line.startswith("```")
        if line.startswith("|") and not in_fence:
            line = _BLANKS.sub(" ", _DASHES.sub("---", line))
        lines.append(line)
    return "\n".join(lines)


def _shorten_days(text: str) -> str:
    """Days without the midnight that a cell of days begins with; times, if there are any, stay."""
    return text if _TIME.search(text) else _MIDNIGHT.sub(r"\1", text)


def replace_embedded(text: str) -> str:
    """The same Markdown, with the words of a picture or link in place of its bytes: the labels of a
    drawing, else the text that stands for it."""
    return _DATA_LINK.sub(_embedded_words, text) if "](data:" in text else text


def _embedded_words(found: re.Match[str]) -> str:
    kind, _, data = found[2].partition(",")
    if not kind.startswith("image/svg+xml"):
        return found[1]
    try:
        drawn = base64.b64decode(data) if kind.endswith(";base64") else unquote_to_bytes(data)
    except binascii.Error:
        return found[1]
    labels = _DrawingLabels()
    labels.feed(drawn.decode("utf-8", "replace"))
    labels.close()
    return " ".join(" ".join(labels.pieces).split())


class _DrawingLabels(HTMLParser):
    """The words that an SVG drawing shows."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[str] = []
        self._depth = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._depth += tag in _SVG_TEXT

    def handle_endtag(self, tag: str) -> None:
        self._depth = max(0, self._depth - (tag in _SVG_TEXT))

    def handle_data(self, data: str) -> None:
        if self._depth:
            self.pieces.append(data)


def to_markdown(data: bytes, content_type: str, kind: FileKind) -> kreuzberg.ExtractionResult:
    config = _CONFIG(
        output_format="markdown", use_cache=False, disable_ocr=True, max_concurrent_extractions=1
    )
    try:
        return kreuzberg.extract_bytes_sync(data, content_type, config=config)
    except kreuzberg.KreuzbergError as error:
        raise _refusal(kind, " ".join(str(error).split())) from error


def _refusal(kind: FileKind, said: str) -> UnreadableFile:
    words = said.lower()
    if "password" in words or "encrypted" in words:
        return UnreadableFile(ExtractionStatus.ENCRYPTED, f"It is {kind} with a password.")
    if "security limit" in words or "too large" in words or "exceed" in words:
        return UnreadableFile(
            ExtractionStatus.TOO_LARGE, f"It is {kind} that grows beyond what is allowed."
        )
    if "unsupported" in words:
        return UnreadableFile(ExtractionStatus.UNSUPPORTED, f"It is {kind}, which is not read.")
    return UnreadableFile(
        ExtractionStatus.CORRUPT, f"It is {kind} that is damaged or cut off: {said[:200]}."
    )


def _about(found: kreuzberg.ExtractionResult, heading: str, unit_count: int) -> About:
    said = cast("dict[str, Any]", found.metadata)
    return About(
        content_type="",
        extractor="kreuzberg",
        version=version_of("kreuzberg"),
        is_markdown=True,
        title=_word(said.get("title")) or _word(said.get("subject")) or heading,
        authors=tuple(filter(None, map(_word, cast("list[object]", said.get("authors") or [])))),
        date=_word(said.get("created_at"))[:10],
        unit_count=unit_count,
    )


def _word(value: object) -> str:
    return " ".join(value.split())[:300] if isinstance(value, str) else ""


def _heading(text: str) -> str:
    found = _HEADING.search(text[:20_000])
    return found[1].strip() if found else ""


def _sheets(text: str) -> Iterator[RawUnit]:
    """Rows begin with a bar, so a line that begins with a hash is the name of a sheet."""
    starts = [(it.start(), it.end(), it[1]) for it in _SHEET.finditer(text)]
    if not starts:
        if text.strip():
            yield RawUnit(1, UnitKind.SHEET, text.strip())
        return
    ends = [start for start, _, _ in starts[1:]] + [len(text)]
    for number, ((_, body, name), end) in enumerate(zip(starts, ends, strict=True), 1):
        label = _ESCAPED.sub(r"\1", name).strip()
        yield RawUnit(number, UnitKind.SHEET, f"## {name}\n\n{text[body:end].strip()}", label)
