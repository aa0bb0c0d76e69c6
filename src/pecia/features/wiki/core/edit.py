"""The text of a document after a write or edit. Pure: all other characters stay."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from pecia.kernel.errors import Conflict, InvalidInput, NotFound
from pecia.kernel.text.markdown.frontmatter import find_body_start, split_document
from pecia.kernel.text.span import Span

Position: TypeAlias = Literal["append", "prepend", "replace"]


def apply_write(old: str | None, given: str, where: Position) -> str:
    """The whole text after a write.

    `replace` without frontmatter keeps the old one. Appended text is separated by one blank line,
    and its own frontmatter is dropped. What is put into a document has its line ends; a text that
    replaces all of it has its own.
    """
    if old is None:
        return given
    new = split_document(given)
    was = split_document(old)
    if where == "replace" and (new.has_block or not was.has_block):
        return given
    body = with_line_ends_of(old, new.body)
    if where == "replace":
        return old[: was.block.end] + body
    head = old[: was.block.end]
    if not was.body.strip():
        return head + body
    first, second = (was.body, body) if where == "append" else (body, was.body)
    return head + join_blocks(first, second, "\r\n" if "\r\n" in old else "\n")


def with_line_ends_of(text: str, given: str) -> str:
    """What is put into a text, with CRLF or LF if all of its lines end so."""
    ends, pairs = text.count("\n"), text.count("\r\n")
    if not ends or 0 < pairs < ends:
        return given
    return _to_crlf(given) if pairs else given.replace("\r\n", "\n")


def _to_crlf(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", "\r\n")


def join_blocks(first: str, second: str, line_end: str) -> str:
    """Two texts with exactly one blank line between them, as far as possible."""
    ends = first[len(first.rstrip("\r\n")) :].count("\n")
    begins = second[: len(second) - len(second.lstrip("\r\n"))].count("\n")
    return first + line_end * max(0, 2 - ends - begins) + second


@dataclass(frozen=True, slots=True)
class EditResult:
    """The new text, and the offsets of the replacements in it."""

    text: str
    offsets: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Replacement:
    """One replacement: at an offset, the n-th occurrence, all of them, or the first."""

    find: str
    replace: str
    offset: int | None = None
    occurrence: int | None = None
    every: bool = False
    within: Span | None = None
    """Only here; an offset counts from the beginning of the document all the same."""


def apply_replacement(text: str, ask: Replacement) -> EditResult:
    """The text after the replacement."""
    spans = _select_spans(text, ask)
    boundary = find_body_start(text)
    for it in spans:
        if it.start < boundary:
            raise InvalidInput(
                "the text to find is in the frontmatter, or overlaps it",
                field="find",
                hint="patch_frontmatter changes its keys, write_document replaces a document with "
                "its frontmatter; edit_document is for the body.",
            )
    pieces: list[str] = []
    offsets: list[int] = []
    done = 0
    new = with_line_ends_of(text, ask.replace)
    for it in spans:
        pieces.append(text[done : it.start])
        offsets.append(sum(map(len, pieces)))
        pieces.append(_to_crlf(new) if "\r\n" in it.of(text) else new)
        done = it.end
    return EditResult("".join([*pieces, text[done:]]), tuple(offsets))


def _select_spans(text: str, ask: Replacement) -> list[Span]:
    low, high = (0, len(text)) if ask.within is None else (ask.within.start, ask.within.end)
    if ask.offset is not None:
        there = next(_find_spans(text, ask.find, ask.offset), None)
        if there is None or there.start != ask.offset or not low <= ask.offset < high:
            raise Conflict(
                f"the document has other text at offset {ask.offset} now",
                field="offset",
                got=ask.offset,
                hint="Read the document again; offsets count characters of what it says now.",
            )
        return [there]
    found = [it for it in _find_spans(text, ask.find, low) if it.end <= high]
    if not found:
        raise NotFound(
            f"the document does not contain exactly this text: {ask.find[:100]!r}",
            field="find",
            hint="Read the document again; spaces and empty lines count.",
        )
    if ask.every:
        return found
    if ask.occurrence is not None:
        if ask.occurrence > len(found):
            raise NotFound(
                f"the text occurs only {len(found)} times", field="occurrence", max=len(found)
            )
        return [found[ask.occurrence - 1]]
    return found[:1]


def count_occurrences(text: str, find: str) -> int:
    return sum(1 for _ in _find_spans(text, find))


def _find_spans(text: str, find: str, start: int = 0) -> Iterator[Span]:
    """Where the text is, from the left and without overlaps. A line end is LF or CRLF."""
    if "\n" in find and ("\r\n" in text or "\r\n" in find):
        lines = find.replace("\r\n", "\n").split("\n")
        pattern = re.compile(r"\r?\n".join(map(re.escape, lines)))
        yield from (Span(*it.span()) for it in pattern.finditer(text, start))
        return
    at = text.find(find, start)
    while at >= 0:
        yield Span(at, at + len(find))
        at = text.find(find, at + len(find))
