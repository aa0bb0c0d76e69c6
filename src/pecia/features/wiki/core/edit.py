"""The text of a document after a write or edit. Pure: all other characters stay."""

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
    and its own frontmatter is dropped.
    """
    if old is None:
        return given
    new = split_document(given)
    was = split_document(old)
    if where == "replace":
        return given if new.has_block or not was.has_block else old[: was.block.end] + new.body
    head = old[: was.block.end]
    if not was.body.strip():
        return head + new.body
    first, second = (was.body, new.body) if where == "append" else (new.body, was.body)
    return head + join_blocks(first, second, "\r\n" if "\r\n" in old else "\n")


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
    starts = _select_offsets(text, ask)
    boundary = find_body_start(text)
    for start in starts:
        if start < boundary:
            raise InvalidInput(
                "the text to find is in the frontmatter, or overlaps it",
                field="find",
                hint="write_document replaces a document with its frontmatter; "
                "edit_document is for the body.",
            )
    pieces: list[str] = []
    offsets: list[int] = []
    done = 0
    for start in starts:
        pieces.append(text[done:start])
        offsets.append(sum(map(len, pieces)))
        pieces.append(ask.replace)
        done = start + len(ask.find)
    return EditResult("".join([*pieces, text[done:]]), tuple(offsets))


def _select_offsets(text: str, ask: Replacement) -> list[int]:
    low, high = (0, len(text)) if ask.within is None else (ask.within.start, ask.within.end)
    if ask.offset is not None:
        if (
            not low <= ask.offset < high
            or text[ask.offset : ask.offset + len(ask.find)] != ask.find
        ):
            raise Conflict(
                "the document has other text at this offset now", field="offset", got=ask.offset
            )
        return [ask.offset]
    found = [it for it in _find_offsets(text, ask.find, low) if it + len(ask.find) <= high]
    if not found:
        raise NotFound(
            "the document does not contain exactly this text",
            field="find",
            hint="Read the document again; spaces and line ends count.",
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
    return sum(1 for _ in _find_offsets(text, find))


def _find_offsets(text: str, find: str, start: int = 0) -> Iterator[int]:
    at = text.find(find, start)
    while at >= 0:
        yield at
        at = text.find(find, at + len(find))
