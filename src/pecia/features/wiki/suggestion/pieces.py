"""A change of a text, cut into pieces that can be taken one by one. Pure."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TypeAlias

MAX_PIECES = 200
# Tokens of both sides of one changed block, multiplied; above, the block is one piece.
MAX_TOKEN_PRODUCT = 1_000_000
# Above, frequent lines do not count: the comparison of long documents would be quadratic.
MAX_EXACT_LINES = 2_000
# Unchanged characters between two changes of a line that make them two pieces.
MIN_GAP_CHARS = 12
MIN_SIMILARITY = 0.5
_TOKEN = re.compile(r"\w+|\W")

Opcode: TypeAlias = tuple[str, int, int, int, int]


@dataclass(frozen=True, slots=True)
class ChangePiece:
    """Characters of a text from `start` to `end`, replaced by `new`."""

    start: int
    end: int
    new: str


def split_change(base: str, text: str) -> list[ChangePiece]:
    """The pieces that turn one text into the other, in order. None where both are equal.

    By lines first, then by words within lines that were changed.
    """
    old_lines, new_lines = _lines(base), _lines(text)
    pieces: list[ChangePiece] = []
    offsets = _offsets(old_lines)
    for old, new in _changed_blocks(old_lines, new_lines):
        start = offsets[old.start]
        was, now = (
            "".join(old_lines[old.start : old.stop]),
            "".join(new_lines[new.start : new.stop]),
        )
        pieces += [
            ChangePiece(start + it.start, start + it.end, it.new) for it in _refine(was, now)
        ]
    if len(pieces) > MAX_PIECES:
        return [_join(base, pieces)]
    return pieces


def apply_pieces(text: str, pieces: Sequence[ChangePiece]) -> str:
    """The text with these pieces, which do not overlap."""
    made: list[str] = []
    done = 0
    for it in sorted(pieces, key=lambda it: (it.start, it.end)):
        made += (text[done : it.start], it.new)
        done = it.end
    return "".join([*made, text[done:]])


def _lines(text: str) -> list[str]:
    """Split at line feeds alone: other line ends of Python's are part of a line."""
    *whole, last = text.split("\n")
    return [*(f"{it}\n" for it in whole), *([last] if last else ())]


def _offsets(lines: Sequence[str]) -> list[int]:
    made = [0]
    for it in lines:
        made.append(made[-1] + len(it))
    return made


def _changed_blocks(old: list[str], new: list[str]) -> Iterator[tuple[range, range]]:
    lead = 0
    while lead < min(len(old), len(new)) and old[lead] == new[lead]:
        lead += 1
    tail = 0
    while tail < min(len(old), len(new)) - lead and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    was, now = old[lead : len(old) - tail], new[lead : len(new) - tail]
    is_long = max(len(was), len(now)) > MAX_EXACT_LINES
    for kind, a, b, c, d in SequenceMatcher(None, was, now, autojunk=is_long).get_opcodes():
        if kind != "equal":
            yield range(lead + a, lead + b), range(lead + c, lead + d)


def _refine(was: str, now: str) -> list[ChangePiece]:
    """The changes within a block, by words; the whole block where little of it stayed."""
    whole = [ChangePiece(0, len(was), now)]
    if not was or not now:
        return whole
    old, new = _TOKEN.findall(was), _TOKEN.findall(now)
    if len(old) * len(new) > MAX_TOKEN_PRODUCT:
        return whole
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    ops = matcher.get_opcodes()
    kept = sum(len("".join(old[a:b]).strip()) for kind, a, b, _, _ in ops if kind == "equal")
    if kept < MIN_SIMILARITY * min(len(was.strip()), len(now.strip())):
        return whole
    offsets = _offsets(old)
    return [
        ChangePiece(offsets[a], offsets[b], "".join(new[c:d]))
        for a, b, c, d in _merge_near(ops, old)
    ]


def _merge_near(ops: Sequence[Opcode], old: Sequence[str]) -> list[tuple[int, int, int, int]]:
    """The changes; those with little between them are one."""
    made: list[tuple[int, int, int, int]] = []
    for kind, a, b, c, d in ops:
        if kind == "equal":
            continue
        if made and _is_near("".join(old[made[-1][1] : a])):
            made[-1] = (made[-1][0], b, made[-1][2], d)
        else:
            made.append((a, b, c, d))
    return made


def _is_near(gap: str) -> bool:
    return len(gap) < MIN_GAP_CHARS and "\n" not in gap


def _join(base: str, pieces: Sequence[ChangePiece]) -> ChangePiece:
    """All pieces as one."""
    start, end = pieces[0].start, pieces[-1].end
    moved = [ChangePiece(it.start - start, it.end - start, it.new) for it in pieces]
    return ChangePiece(start, end, apply_pieces(base[start:end], moved))
