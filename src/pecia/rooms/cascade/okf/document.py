"""An OKF document: read into frontmatter and sections, and written back byte for byte. Pure."""

import json
import re
from dataclasses import dataclass, replace

from pecia.kernel.errors import InvalidFormat, Json, PayloadTooLarge
from pecia.kernel.text.frontmatter import Split, read_frontmatter, split_document
from pecia.kernel.text.heading import Heading
from pecia.kernel.text.sections import Outline, SectionRules, read_outline
from pecia.kernel.text.sections import Section as Piece
from pecia.kernel.text.slug import github_slug
from pecia.kernel.text.span import split_lines
from pecia.kernel.text.yaml import RepeatedKey
from pecia.rooms.cascade.dates import document_date
from pecia.rooms.cascade.model import Document, Fault, Section
from pecia.rooms.cascade.okf.quick import quick_head, quick_values
from pecia.rooms.cascade.okf.quick_sections import quick_sections

MAX_BYTES = 2_000_000

RULES = SectionRules(underlined=False, slug=github_slug)
"""A line under a heading starts no section: an underlined heading is text here."""

DOCUMENT_TYPE = "document"


class Unreadable(Exception):
    """A document that cannot contribute; `code` names why."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


@dataclass(frozen=True, slots=True)
class Okf:
    """A document in its parts: joined in this order, they are its text."""

    split: Split
    frontmatter: dict[str, Json]
    repeated: tuple[RepeatedKey, ...]
    outline: Outline
    text: str

    def render(self) -> str:
        """The document as it was, from its parts."""
        pieces = (it.span.of(self.text) for it in self.outline.sections)
        return self.outline.head.of(self.text) + "".join(pieces)


def read_okf(text: str) -> Okf:
    """Every part of a document; Unreadable when its frontmatter is no mapping."""
    split = split_document(text)
    values, repeated = _frontmatter(text, split)
    return Okf(split, values, repeated, read_outline(text, RULES), text)


def decode(raw: bytes) -> str:
    """The text of a file, or Unreadable with the reason."""
    if len(raw) > MAX_BYTES:
        raise Unreadable("too-large", f"{len(raw)} bytes, at most {MAX_BYTES} are read")
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise Unreadable("not-utf-8", _not_utf8(raw, error)) from None


def decode_leniently(raw: bytes) -> tuple[str, Fault | None]:
    """The same, with a sign in the place of every byte that is no text."""
    try:
        return decode(raw), None
    except Unreadable as error:
        if error.code != "not-utf-8":
            raise
        return raw.decode(errors="replace"), Fault(error.code, error.message)


def read_document(concept: str, path: str, text: str, git_day: str | None = None) -> Document:
    """A concept's document. One that has no frontmatter at all is of the type `document`."""
    if not text.strip("\ufeff \t\r\n"):
        raise Unreadable("empty", "the file is empty")
    if quick := quick_head(text):
        values, start = quick
        return Document(concept, path, text, values, document_date(values, git_day), start=start)
    values, start, fault = full_head(text)
    dated = document_date(values, git_day)
    return Document(concept, path, text, values, dated, start=start, fault=fault)


def full_head(text: str) -> tuple[dict[str, Json], int, Fault | None]:
    """The frontmatter of any text, where its body begins, and what is wrong with it.

    A concept is never lost for its frontmatter: what cannot be read leaves it with none, which
    wins over nothing that other layers say.
    """
    split = split_document(text)
    if split.unclosed:
        message = "line 1: the frontmatter has no closing line ---"
        return {}, split.block.end, Fault("unclosed-frontmatter", message)
    if not split.has_block:
        return {"type": DOCUMENT_TYPE}, split.block.end, None
    try:
        values, repeated = _frontmatter(text, split)
    except Unreadable as error:
        return _mended(split), split.block.end, Fault(error.code, error.message)
    return values, split.block.end, _repeated(repeated)


def _repeated(keys: tuple[RepeatedKey, ...]) -> Fault | None:
    if not keys:
        return None
    told = ", ".join(f"{it.key!r} again in line {it.at.line}" for it in keys[:5])
    return Fault("repeated-key", f"frontmatter has {told}; the last counts")


def _mended(split: Split) -> dict[str, Json]:
    """The block with every plain value in quotes that only its own colon spoils; else nothing."""
    lines = [_quoted(it) for it in split.yaml.replace("\t", "  ").splitlines()]
    text = "\n".join(["---", *lines, "---", ""])
    try:
        return read_frontmatter(text).values
    except (InvalidFormat, PayloadTooLarge):
        return {}


def _quoted(line: str) -> str:
    found = _PLAIN_LINE.fullmatch(line)
    if not found or not (": " in found[2] or found[2].endswith(":")):
        return line
    return f"{found[1]}{json.dumps(found[2].rstrip(), ensure_ascii=False)}"


def _not_utf8(raw: bytes, error: UnicodeDecodeError) -> str:
    line = raw.count(b"\n", 0, error.start) + 1
    return f"line {line}: byte {error.start} is not UTF-8"


def sections_of(document: Document) -> tuple[Section, ...]:
    """The sections of a document, in order; a preamble without text is none."""
    if document.ready is not None:
        return document.ready
    text = document.text
    found = quick_sections(text, document.start) or full_sections(text)
    shown = [it for it in found if it.heading is not None or it.content]
    return _plain(shown) if document.is_plain else tuple(shown)


def full_sections(text: str) -> list[Section]:
    """The sections of any text, whatever it holds."""
    return [_section(text, it) for it in read_outline(text, RULES).sections]


def _frontmatter(text: str, split: Split) -> tuple[dict[str, Json], tuple[RepeatedKey, ...]]:
    if not split.has_block:
        return {}, ()
    if quick := quick_values(split.yaml):
        return quick, ()
    try:
        found = read_frontmatter(text)
    except (InvalidFormat, PayloadTooLarge) as error:
        code = "not-a-mapping" if error.fields.get("expected") == "mapping" else "bad-yaml"
        raise Unreadable(code, error.message) from None
    return found.values, found.repeated


# A key at the margin, and a value that opens no quote, list, block, anchor or comment.
_PLAIN_LINE = re.compile(r"([A-Za-z_][\w-]*:[ \t]+)([^\s\"'\[\]{}&*!|>%@`#-].*)")


def _section(text: str, piece: Piece) -> Section:
    lines = [it.rstrip("\r\n") for it in split_lines(piece.body.of(text))]
    if piece.body.end == len(text) and text.endswith(("\n", "\r")):
        # What follows the last line end of a file is a line too, as editors count.
        lines.append("")
    heading = piece.heading
    if heading is None:
        return Section("", None, None, 0, tuple(lines))
    return Section(
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


def _plain(sections: list[Section]) -> tuple[Section, ...]:
    """Pages written without OKF in mind: one section for each second-level heading."""
    has_parts = any(it.level == 2 for it in sections)
    merged: list[Section] = []
    for it in sections:
        if it.level == 2:
            merged.append(it)
        elif merged:
            last = merged[-1]
            merged[-1] = replace(last, lines=(*last.lines, *_all_lines(it)))
        else:
            key = "overview" if has_parts else "body"
            merged.append(Section(key, None, None, 0, _all_lines(it), slug=key))
    return tuple(merged)


def _all_lines(section: Section) -> tuple[str, ...]:
    return (section.heading, *section.lines) if section.heading is not None else section.lines
