"""Finds a piece of a change again in a text that others have changed since. Pure.

By content: what the piece replaces, with enough of the text around it, must have been in the old
text exactly once and be in the new one exactly once. Where that does not hold nothing is guessed,
and the piece has no anchor.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pecia.features.wiki.suggestion.pieces import ChangePiece

# Characters of context on a side, the most first.
CONTEXTS = (160, 60, 24)
# What a window must have, spaces not counted, unless it is whole lines.
MIN_WINDOW_CHARS = 16
MAX_LOOKED_AT = 1_000
# Scripts without spaces have words of any length.
MAX_WORD_CHARS = 40
_SPACES = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class AnchorWindow:
    """A part of the old text around a piece."""

    start: int
    end: int
    whole_lines: bool = False


def find_anchors(
    base: str | None, pieces: Sequence[ChangePiece], current: str | None
) -> list[ChangePiece | None]:
    """Each piece at its place in the current text; None where that text changed.

    None as a text is a document that does not exist.
    """
    if base is None or current is None:
        return [it if base is current else None for it in pieces]
    if base == current:
        return [*pieces]
    found: list[ChangePiece | None] = []
    taken: list[ChangePiece] = []
    for it in pieces:
        at = _find_start(base, it, current)
        placed = None if at is None else ChangePiece(at, at + it.end - it.start, it.new)
        if placed is not None and any(_overlap(placed, other) for other in taken):
            placed = None
        if placed is not None:
            taken.append(placed)
        found.append(placed)
    return found


def _find_start(base: str, piece: ChangePiece, current: str) -> int | None:
    for window in _both_sides(base, piece):
        if (at := _match(base, window, current)) is not None:
            return at + piece.start - window.start
    before = _first(base, piece, current, _before(base, piece))
    after = _first(base, piece, current, _after(base, piece))
    if before is None or after is None or before == after:
        return after if before is None else before
    # Between the two somebody has written: an insertion goes after what it followed.
    return before if piece.start == piece.end else None


def _first(
    base: str, piece: ChangePiece, current: str, windows: Iterator[AnchorWindow]
) -> int | None:
    for window in windows:
        if (at := _match(base, window, current)) is not None:
            return at + piece.start - window.start
    return None


def _both_sides(base: str, it: ChangePiece) -> Iterator[AnchorWindow]:
    for size in CONTEXTS:
        yield AnchorWindow(_word_start(base, it.start - size), _word_end(base, it.end + size))
    if it.start == it.end and _is_line_start(base, it.start) and it.start:
        # New lines go between two lines: both belong to the context.
        yield AnchorWindow(_line_start(base, it.start - 1), _line_end(base, it.end), True)
        return
    yield AnchorWindow(_line_start(base, it.start), _block_end(base, it.end), True)


def _before(base: str, it: ChangePiece) -> Iterator[AnchorWindow]:
    yield AnchorWindow(0, it.end)
    for size in CONTEXTS:
        yield AnchorWindow(_word_start(base, it.start - size), it.end)
    if it.start == it.end and _is_line_start(base, it.start) and it.start:
        yield AnchorWindow(_line_start(base, it.start - 1), it.start, True)


def _after(base: str, it: ChangePiece) -> Iterator[AnchorWindow]:
    yield AnchorWindow(it.start, len(base))
    for size in CONTEXTS:
        yield AnchorWindow(it.start, _word_end(base, it.end + size))
    if it.start == it.end and _is_line_start(base, it.start) and it.start < len(base):
        yield AnchorWindow(it.start, _line_end(base, it.start), True)


def _match(base: str, window: AnchorWindow, current: str) -> int | None:
    """Where the window is in the current text, if it is unique in both."""
    words = base[window.start : window.end]
    bare = _SPACES.sub("", words[:MAX_LOOKED_AT])
    if not bare or (len(bare) < MIN_WINDOW_CHARS and not window.whole_lines):
        return None
    at = current.find(words)
    if at < 0 or current.find(words, at + 1) >= 0 or base.find(words) != window.start:
        return None
    if base.find(words, window.start + 1) >= 0:
        return None
    end = at + len(words)
    if window.whole_lines:
        is_aligned = _is_line_start(current, at) and _is_line_end(current, end)
    else:
        is_aligned = _cuts_word(base, window.start) == _cuts_word(current, at)
        is_aligned = is_aligned and _cuts_word(base, window.end) == _cuts_word(current, end)
    return at if is_aligned else None


def _overlap(one: ChangePiece, other: ChangePiece) -> bool:
    return one.start < other.end and other.start < one.end


def _cuts_word(text: str, at: int) -> bool:
    return 0 < at < len(text) and _is_word(text[at - 1]) and _is_word(text[at])


def _is_word(char: str) -> bool:
    return char.isalnum() or char == "_"


def _word_start(text: str, at: int) -> int:
    at = max(0, at)
    least = at - MAX_WORD_CHARS
    while at > least and _cuts_word(text, at):
        at -= 1
    return at


def _word_end(text: str, at: int) -> int:
    at = min(len(text), at)
    most = at + MAX_WORD_CHARS
    while at < most and _cuts_word(text, at):
        at += 1
    return at


def _is_line_start(text: str, at: int) -> bool:
    return at == 0 or text[at - 1] == "\n"


def _is_line_end(text: str, at: int) -> bool:
    return _is_line_start(text, at) or text.startswith(("\n", "\r\n"), at) or at == len(text)


def _line_start(text: str, at: int) -> int:
    return text.rfind("\n", 0, max(0, at)) + 1


def _line_end(text: str, at: int) -> int:
    """The end of the line at `at`, without its line feed."""
    found = text.find("\n", at)
    end = len(text) if found < 0 else found
    return end - 1 if end > at and text[end - 1] == "\r" else end


def _block_end(text: str, at: int) -> int:
    """The end of the line of the last character before `at`."""
    return at if at and text[at - 1] == "\n" else _line_end(text, at)
