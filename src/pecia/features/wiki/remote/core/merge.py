"""Three-way merge of a text by lines. Pure.

As git merges: changes of both sides are taken if at least one unchanged line is between them. Where
both sides made the very same change, it is taken once. Everything else is a conflict, and nothing
is guessed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from pecia.kernel.text.diff.align import find_differences

LOCAL_MARK, BASE_MARK, REMOTE_MARK = "<<<<<<< local", "||||||| base", ">>>>>>> remote"
SEPARATOR = "======="

_Edit: TypeAlias = tuple[int, int, int, int]
"""Lines of the base, and the lines that one side has in their place."""


@dataclass(frozen=True, slots=True)
class MergeChunk:
    """Lines of the result. In a conflict, the lines of all three texts."""

    lines: Sequence[str] = ()
    conflict: tuple[Sequence[str], Sequence[str], Sequence[str]] | None = None
    """Local, base, remote."""


def merge_texts(base: str, local: str, remote: str) -> str | None:
    """The text with the changes of both sides; None where they contradict each other."""
    chunks = [*_merge(_lines(base), _lines(local), _lines(remote))]
    if any(it.conflict for it in chunks):
        return None
    return "".join(line for it in chunks for line in it.lines)


def mark_conflicts(base: str, local: str, remote: str) -> str:
    """The merged text with git's marks around each place where both sides contradict each other."""
    made: list[str] = []
    for it in _merge(_lines(base), _lines(local), _lines(remote)):
        made += it.lines
        if it.conflict is not None:
            ours, before, theirs = it.conflict
            for mark, lines in ((LOCAL_MARK, ours), (BASE_MARK, before), (SEPARATOR, theirs)):
                made += [f"{mark}\n", *_end_lines(lines)]
            made.append(f"{REMOTE_MARK}\n")
    return "".join(made)


def _merge(base: list[str], local: list[str], remote: list[str]) -> Iterator[MergeChunk]:
    ours, theirs = _edits(base, local), _edits(base, remote)
    at = 0
    while ours or theirs:
        start = min(it[0][0] for it in (ours, theirs) if it)
        yield MergeChunk(base[at:start])
        mine, other, end = _take_group(ours, theirs, start)
        yield _resolve(base, (local, mine), (remote, other), (start, end))
        at = end
    yield MergeChunk(base[at:])


def _take_group(
    ours: list[_Edit], theirs: list[_Edit], start: int
) -> tuple[list[_Edit], list[_Edit], int]:
    """Remove the edits that overlap or touch each other, beginning with the first."""
    mine: list[_Edit] = []
    other: list[_Edit] = []
    end = start
    while True:
        for edits, taken in ((ours, mine), (theirs, other)):
            if edits and edits[0][0] <= end:
                taken.append(edits.pop(0))
                end = max(end, taken[-1][1])
                break
        else:
            return mine, other, end


def _resolve(
    base: list[str],
    local: tuple[list[str], list[_Edit]],
    remote: tuple[list[str], list[_Edit]],
    span: tuple[int, int],
) -> MergeChunk:
    ours, theirs = _side(base, *local, span), _side(base, *remote, span)
    if not remote[1] or ours == theirs:
        return MergeChunk(ours)
    if not local[1]:
        return MergeChunk(theirs)
    return MergeChunk(conflict=(ours, base[span[0] : span[1]], theirs))


def _side(base: list[str], text: list[str], edits: list[_Edit], span: tuple[int, int]) -> list[str]:
    """One side's lines in the place of these lines of the base."""
    made: list[str] = []
    at = span[0]
    for start, end, new_start, new_end in edits:
        made += [*base[at:start], *text[new_start:new_end]]
        at = end
    return [*made, *base[at : span[1]]]


def _edits(base: list[str], text: list[str]) -> list[_Edit]:
    return [
        (it.old.start, it.old.end, it.new.start, it.new.end) for it in find_differences(base, text)
    ]


def _end_lines(lines: Sequence[str]) -> list[str]:
    return [it if it.endswith("\n") else f"{it}\n" for it in lines]


def _lines(text: str) -> list[str]:
    """Split at line feeds alone: other line ends of Python's are part of a line."""
    *whole, last = text.split("\n")
    return [*(f"{it}\n" for it in whole), *([last] if last else ())]
