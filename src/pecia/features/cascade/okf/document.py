"""An OKF document: read into frontmatter and sections, and written back byte for byte. Pure."""

import json
import re
from dataclasses import dataclass, replace

from pecia.features.cascade.core.dates import read_document_date
from pecia.features.cascade.model import ConceptDocument, ConceptSection, DocumentFault
from pecia.features.cascade.okf.fast_frontmatter import parse_head_fast, parse_values_fast
from pecia.features.cascade.okf.fast_sections import parse_sections_fast
from pecia.kernel.errors import InvalidFormat, Json, PayloadTooLarge
from pecia.kernel.text.markdown.frontmatter import DocumentSplit, read_frontmatter, split_document
from pecia.kernel.text.markdown.heading import Heading
from pecia.kernel.text.markdown.sections import MarkdownOutline, SectionRules, read_outline
from pecia.kernel.text.markdown.sections import MarkdownSection as Piece
from pecia.kernel.text.slug import github_slug
from pecia.kernel.text.span import split_lines
from pecia.kernel.text.yaml.reader import RepeatedKey

MAX_BYTES = 2_000_000
MAX_REPAIRED_FIELDS = 200
"""Each is parsed by itself: more in one frontmatter are not worth the time."""

RULES = SectionRules(underlined=False, slug=github_slug)
"""Setext headings are not recognised: an underlined heading is text here."""

DOCUMENT_TYPE = "document"


class UnreadableDocument(Exception):
    """A document that cannot be used; `code` says why."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


@dataclass(frozen=True, slots=True)
class OkfDocument:
    """A document in its parts: joined in this order, they are its text."""

    split: DocumentSplit
    frontmatter: dict[str, Json]
    repeated: tuple[RepeatedKey, ...]
    outline: MarkdownOutline
    text: str

    def render(self) -> str:
        """The document as it was, from its parts."""
        pieces = (it.span.of(self.text) for it in self.outline.sections)
        return self.outline.head.of(self.text) + "".join(pieces)


def parse_okf(text: str) -> OkfDocument:
    """The parts of a document; UnreadableDocument if its frontmatter is not a mapping."""
    split = split_document(text)
    values, repeated = _frontmatter(text, split)
    return OkfDocument(split, values, repeated, read_outline(text, RULES), text)


def decode(raw: bytes) -> str:
    """The text of a file, or UnreadableDocument with the reason."""
    if len(raw) > MAX_BYTES:
        raise UnreadableDocument("too-large", f"{len(raw)} bytes; the maximum is {MAX_BYTES}")
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise UnreadableDocument("not-utf-8", _not_utf8(raw, error)) from None


def decode_leniently(raw: bytes) -> tuple[str, DocumentFault | None]:
    """The same, with a replacement character for every invalid byte."""
    try:
        return decode(raw), None
    except UnreadableDocument as error:
        if error.code != "not-utf-8":
            raise
        return raw.decode(errors="replace"), DocumentFault(error.code, error.message)


def parse_document(
    concept: str, path: str, text: str, git_day: str | None = None
) -> ConceptDocument:
    """A concept's document. Without frontmatter its type is `document`."""
    if not text.strip("\ufeff \t\r\n"):
        raise UnreadableDocument("empty", "the file is empty")
    if quick := parse_head_fast(text):
        values, start = quick
        return ConceptDocument(
            concept, path, text, values, read_document_date(values, git_day), start=start
        )
    values, start, fault = parse_head(text)
    dated = read_document_date(values, git_day)
    return ConceptDocument(concept, path, text, values, dated, start=start, fault=fault)


def parse_head(text: str) -> tuple[dict[str, Json], int, DocumentFault | None]:
    """The frontmatter of any text, where its body begins, and what is wrong with it.

    A concept is never lost for its frontmatter: a field that is unreadable is left out, and
    overrides nothing of other layers.
    """
    split = split_document(text)
    if split.unclosed:
        message = "line 1: the frontmatter has no closing line ---"
        return {}, split.block.end, DocumentFault("unclosed-frontmatter", message)
    if not split.has_block:
        return {"type": DOCUMENT_TYPE}, split.block.end, None
    try:
        values, repeated = _frontmatter(text, split)
    except UnreadableDocument as error:
        return _repair_frontmatter(split), split.block.end, DocumentFault(error.code, error.message)
    return values, split.block.end, _check_repeated(repeated)


def _check_repeated(keys: tuple[RepeatedKey, ...]) -> DocumentFault | None:
    if not keys:
        return None
    repetitions = ", ".join(f"{it.key!r} again in line {it.at.line}" for it in keys[:5])
    return DocumentFault("repeated-key", f"frontmatter has {repetitions}; the last counts")


def _repair_frontmatter(split: DocumentSplit) -> dict[str, Json]:
    """Retry with quotes around plain values that contain a colon; else each field by itself."""
    lines = [_quote_value(it) for it in split.yaml.replace("\t", "  ").splitlines()]
    try:
        values = _try_frontmatter(lines)
    except PayloadTooLarge:
        return {}
    if values is not None:
        return values
    fields: dict[str, Json] = {}
    for field in _field_lines(lines)[:MAX_REPAIRED_FIELDS]:
        fields |= _try_frontmatter(field) or {}
    return fields


def _try_frontmatter(lines: list[str]) -> dict[str, Json] | None:
    try:
        return read_frontmatter("\n".join(["---", *lines, "---", ""])).values
    except InvalidFormat:
        return None


def _field_lines(lines: list[str]) -> list[list[str]]:
    """The lines of each field: an unindented one, and those that can only continue it."""
    fields: list[list[str]] = []
    for line in lines:
        if not fields or _FIELD_START.match(line):
            fields.append([])
        fields[-1].append(line)
    return fields


def _quote_value(line: str) -> str:
    found = _PLAIN_LINE.fullmatch(line)
    if not found or not (": " in found[2] or found[2].endswith(":")):
        return line
    return f"{found[1]}{json.dumps(found[2].rstrip(), ensure_ascii=False)}"


def _not_utf8(raw: bytes, error: UnicodeDecodeError) -> str:
    line = raw.count(b"\n", 0, error.start) + 1
    return f"line {line}: byte {error.start} is not UTF-8"


def sections_of(document: ConceptDocument) -> tuple[ConceptSection, ...]:
    """The sections of a document, in order; an empty preamble is left out."""
    if document.ready is not None:
        return document.ready
    text = document.text
    found = parse_sections_fast(text, document.start) or parse_sections(text)
    shown = [it for it in found if it.heading is not None or it.content]
    return _group_by_second_level(shown) if document.is_plain else tuple(shown)


def parse_sections(text: str) -> list[ConceptSection]:
    """The sections of any text."""
    return [_section(text, it) for it in read_outline(text, RULES).sections]


def _frontmatter(
    text: str, split: DocumentSplit
) -> tuple[dict[str, Json], tuple[RepeatedKey, ...]]:
    if not split.has_block:
        return {}, ()
    if quick := parse_values_fast(split.yaml):
        return quick, ()
    try:
        found = read_frontmatter(text)
    except (InvalidFormat, PayloadTooLarge) as error:
        code = "not-a-mapping" if error.fields.get("expected") == "mapping" else "bad-yaml"
        raise UnreadableDocument(code, error.message) from None
    return found.values, found.repeated


_FIELD_START = re.compile(r"[^\s#\]}-]")
# An unindented key, and a value that starts no quote, list, block, anchor or comment.
_PLAIN_LINE = re.compile(r"([A-Za-z_][\w-]*:[ \t]+)([^\s\"'\[\]{}&*!|>%@`#-].*)")


def _section(text: str, piece: Piece) -> ConceptSection:
    lines = [it.rstrip("\r\n") for it in split_lines(piece.body.of(text))]
    if piece.body.end == len(text) and text.endswith(("\n", "\r")):
        # Text after the last newline is a line too, as editors count.
        lines.append("")
    heading = piece.heading
    if heading is None:
        return ConceptSection("", None, None, 0, tuple(lines))
    return ConceptSection(
        piece.key,
        heading.source,
        heading.clean,
        heading.level,
        tuple(lines),
        _attribute(heading, "updated"),
        _attribute(heading, "override"),
        piece.slug,
        heading.anchor is not None,
    )


def _attribute(heading: Heading, name: str) -> str | None:
    return heading.attributes.get(name) or None


def _group_by_second_level(sections: list[ConceptSection]) -> tuple[ConceptSection, ...]:
    """Plain pages: one section per second-level heading."""
    has_parts = any(it.level == 2 for it in sections)
    merged: list[ConceptSection] = []
    for it in sections:
        if it.level == 2:
            merged.append(it)
        elif merged:
            last = merged[-1]
            merged[-1] = replace(last, lines=(*last.lines, *_all_lines(it)))
        else:
            key = "overview" if has_parts else "body"
            merged.append(ConceptSection(key, None, None, 0, _all_lines(it), slug=key))
    return tuple(merged)


def _all_lines(section: ConceptSection) -> tuple[str, ...]:
    return (section.heading, *section.lines) if section.heading is not None else section.lines
