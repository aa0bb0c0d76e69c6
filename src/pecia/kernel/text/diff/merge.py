"""Two changed copies of one text, put together again. Pure.

Lines first, then words inside the lines that both sides changed. What both changed differently is a
clash and keeps both sides: nothing is ever dropped in silence.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from pecia.kernel.text.diff.align import SequenceDifference, find_differences
from pecia.kernel.text.diff.diff import diff_rows
from pecia.kernel.text.span import Span


@dataclass(frozen=True, slots=True)
class MergedText:
    """Text that one side changed, both changed alike, or nobody changed."""

    text: str


@dataclass(frozen=True, slots=True)
class MergeConflict:
    base: str
    ours: str
    theirs: str


MergePiece: TypeAlias = MergedText | MergeConflict


@dataclass(frozen=True, slots=True)
class MergeResult:
    pieces: tuple[MergePiece, ...]

    @property
    def clashes(self) -> tuple[MergeConflict, ...]:
        return tuple(it for it in self.pieces if isinstance(it, MergeConflict))

    def text(self, ours: str = "ours", theirs: str = "theirs") -> str:
        """The merged text, each clash between the marks that git writes, under these names."""
        parts: list[str] = []
        for it in self.pieces:
            if isinstance(it, MergedText):
                parts.append(it.text)
                continue
            if parts and not parts[-1].endswith("\n"):
                parts.append("\n")
            parts.append(f"<<<<<<< {ours}\n{_full_lines(it.ours)}=======\n")
            parts.append(f"{_full_lines(it.theirs)}>>>>>>> {theirs}\n")
        return "".join(parts)


def merge_texts(base: str, ours: str, theirs: str) -> MergeResult:
    """Both changes to the base. A clash covers whole lines."""
    pieces: list[MergePiece] = []
    # A last line without an end would be glued to what the other side added after it.
    for piece in _merge(base + "\n", ours + "\n", theirs + "\n", diff_rows):
        settled = _by_words(piece) if isinstance(piece, MergeConflict) else piece
        last = pieces[-1] if pieces else None
        if isinstance(settled, MergedText) and isinstance(last, MergedText):
            pieces[-1] = MergedText(last.text + settled.text)
        else:
            pieces.append(settled)
    pieces[-1] = _without_line_end(pieces[-1])
    return MergeResult(tuple(it for it in pieces if it != MergedText("")))


def _without_line_end(piece: MergePiece) -> MergePiece:
    if isinstance(piece, MergedText):
        return MergedText(piece.text.removesuffix("\n"))
    return MergeConflict(*(it.removesuffix("\n") for it in (piece.base, piece.ours, piece.theirs)))


def _by_words(clash: MergeConflict) -> MergePiece:
    pieces = list(_merge(clash.base, clash.ours, clash.theirs, _words))
    if any(isinstance(it, MergeConflict) for it in pieces):
        return clash
    return MergedText("".join(it.text for it in pieces if isinstance(it, MergedText)))


def _words(text: str) -> list[str]:
    # White space alone corresponds to anything: kept apart, it would glue the wrong words.
    return _WORD.findall(text)


@dataclass(slots=True)
class _Cluster:
    """Changes of both sides that meet in the base."""

    base: Span
    ours: list[SequenceDifference]
    theirs: list[SequenceDifference]


def _merge(
    base: str, ours: str, theirs: str, split: Callable[[str], list[str]]
) -> Iterator[MergePiece]:
    items, own, other = split(base), split(ours), split(theirs)
    done = 0
    for it in _clusters(find_differences(items, own), find_differences(items, other)):
        if it.base.start > done:
            yield MergedText("".join(items[done : it.base.start]))
        was = "".join(items[it.base.start : it.base.end])
        yield _settle(was, _side(own, it.ours, it.base, was), _side(other, it.theirs, it.base, was))
        done = it.base.end
    if done < len(items):
        yield MergedText("".join(items[done:]))


def _settle(base: str, ours: str, theirs: str) -> MergePiece:
    if theirs in (base, ours):
        return MergedText(ours)
    return MergedText(theirs) if ours == base else MergeConflict(base, ours, theirs)


def _clusters(
    ours: list[SequenceDifference], theirs: list[SequenceDifference]
) -> Iterator[_Cluster]:
    current: _Cluster | None = None
    both = [(it, True) for it in ours] + [(it, False) for it in theirs]
    for found, is_ours in sorted(both, key=lambda it: it[0].old):
        if current is None or not _meet(current.base, found.old):
            if current:
                yield current
            current = _Cluster(found.old, [], [])
        end = max(current.base.end, found.old.end)
        current.base = Span(current.base.start, end)
        (current.ours if is_ours else current.theirs).append(found)
    if current:
        yield current


def _meet(one: Span, other: Span) -> bool:
    """Whether two changes touch the same items, or insert at the same place."""
    return one == other or (one.start < other.end and other.start < one.end)


def _side(items: Sequence[str], found: list[SequenceDifference], base: Span, was: str) -> str:
    """What the side has in the place of those items of the base."""
    if not found:
        return was
    start = found[0].new.start - (found[0].old.start - base.start)
    end = found[-1].new.end + (base.end - found[-1].old.end)
    return "".join(items[start:end])


def _full_lines(text: str) -> str:
    return text if not text or text.endswith("\n") else text + "\n"


_WORD = re.compile(r"\S+\s*+|\s+")
