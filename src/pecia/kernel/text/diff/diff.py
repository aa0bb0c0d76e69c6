"""Differences between two texts: by line and by word for people, as edits for machines. Pure.

Line ends are part of the lines, so a change of line ends shows. The work is bounded (see `align`).
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate

from pecia.kernel.text.diff.align import SequenceDifference, find_differences
from pecia.kernel.text.span import Edit, Span


class DiffKind(StrEnum):
    ADDED = "added"
    REMOVED = "removed"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True)
class DiffPiece:
    """Text of one kind. Unchanged and removed pieces are the old text, in order."""

    change: DiffKind
    text: str


@dataclass(frozen=True, slots=True)
class LineDiff:
    """A piece for every line, and how many lines came and went."""

    lines: tuple[DiffPiece, ...]
    additions: int
    deletions: int


@dataclass(frozen=True, slots=True)
class UnifiedStyle:
    """What the texts are called, and how many unchanged lines surround a change."""

    old_name: str = "a"
    new_name: str = "b"
    context: int = 3


PLAIN_STYLE = UnifiedStyle()


def diff_lines(old: str, new: str) -> LineDiff:
    lines = tuple(_pieces(diff_rows(old), diff_rows(new)))
    added = sum(it.change is DiffKind.ADDED for it in lines)
    return LineDiff(lines, added, sum(it.change is DiffKind.REMOVED for it in lines))


def diff_words(old: str, new: str) -> list[DiffPiece]:
    """Runs of words, each run of another kind than its neighbours."""
    runs: list[tuple[DiffKind, list[str]]] = []
    for piece in _pieces(diff_tokens(old), diff_tokens(new)):
        if not runs or runs[-1][0] is not piece.change:
            runs.append((piece.change, []))
        runs[-1][1].append(piece.text)
    return [DiffPiece(change, "".join(texts)) for change, texts in runs]


def diff_edits(old: str, new: str) -> list[Edit]:
    """The edits that turn the old text into the new one, cut to the characters that differ.

    All other characters stay where they are, and with them cursors and what others are typing.
    """
    before, after = diff_rows(old), diff_rows(new)
    edits: list[Edit] = []
    for rows in _in_characters(before, after):
        was, now = rows.old.of(old), rows.new.of(new)
        for words in _in_characters(diff_tokens(was), diff_tokens(now)):
            edits.append(
                _trimmed(words.old.of(was), words.new.of(now), rows.old.start + words.old.start)
            )
    return edits


def unified_diff(old: str, new: str, style: UnifiedStyle = PLAIN_STYLE) -> str:
    """The difference as `diff -u` prints it; nothing when there is none."""
    before, after = diff_rows(old), diff_rows(new)
    groups = list(_groups(find_differences(before, after), style.context))
    if not groups:
        return ""
    parts = [f"--- {style.old_name}\n+++ {style.new_name}\n"]
    for group in groups:
        parts += _hunk(before, after, group, style.context)
    return "".join(parts)


def diff_rows(text: str) -> list[str]:
    """Lines with their ends, as patches count them: cut after line feeds only."""
    return _ROW.findall(text)


def diff_tokens(text: str) -> list[str]:
    """Words, runs of white space and single marks: joined, they are the text."""
    return _TOKEN.findall(text)


def _pieces(old: Sequence[str], new: Sequence[str]) -> Iterator[DiffPiece]:
    done = 0
    for it in find_differences(old, new):
        yield from (DiffPiece(DiffKind.UNCHANGED, row) for row in old[done : it.old.start])
        yield from (DiffPiece(DiffKind.REMOVED, row) for row in old[it.old.start : it.old.end])
        yield from (DiffPiece(DiffKind.ADDED, row) for row in new[it.new.start : it.new.end])
        done = it.old.end
    yield from (DiffPiece(DiffKind.UNCHANGED, row) for row in old[done:])


def _in_characters(old: Sequence[str], new: Sequence[str]) -> Iterator[SequenceDifference]:
    """Differences with spans that count characters instead of items."""
    old_at = list(accumulate(map(len, old), initial=0))
    new_at = list(accumulate(map(len, new), initial=0))
    for it in find_differences(old, new):
        yield SequenceDifference(
            Span(old_at[it.old.start], old_at[it.old.end]),
            Span(new_at[it.new.start], new_at[it.new.end]),
        )


def _trimmed(was: str, now: str, start: int) -> Edit:
    most = min(len(was), len(now))
    head = next((i for i in range(most) if was[i] != now[i]), most)
    most -= head
    tail = next((i for i in range(most) if was[-1 - i] != now[-1 - i]), most)
    return Edit(Span(start + head, start + len(was) - tail), now[head : len(now) - tail])


def _groups(found: list[SequenceDifference], context: int) -> Iterator[list[SequenceDifference]]:
    """Differences whose contexts touch are shown together."""
    group: list[SequenceDifference] = []
    for it in found:
        if group and it.old.start - group[-1].old.end > 2 * context:
            yield group
            group = []
        group.append(it)
    if group:
        yield group


def _hunk(
    old: Sequence[str], new: Sequence[str], group: list[SequenceDifference], context: int
) -> Iterator[str]:
    first, last = group[0], group[-1]
    lead = min(context, first.old.start)
    trail = min(context, len(old) - last.old.end)
    before = Span(first.old.start - lead, last.old.end + trail)
    after = Span(first.new.start - lead, last.new.end + trail)
    yield f"@@ -{_range(before)} +{_range(after)} @@\n"
    done = before.start
    for it in group:
        yield from (_marked(" ", row) for row in old[done : it.old.start])
        yield from (_marked("-", row) for row in old[it.old.start : it.old.end])
        yield from (_marked("+", row) for row in new[it.new.start : it.new.end])
        done = it.old.end
    yield from (_marked(" ", row) for row in old[done : before.end])


def _range(span: Span) -> str:
    # An empty range is named by the line before it.
    start = span.start + 1 if span.size else span.start
    return str(start) if span.size == 1 else f"{start},{span.size}"


def _marked(mark: str, row: str) -> str:
    return mark + row if row.endswith("\n") else f"{mark}{row}\n\\ No newline at end of file\n"


_ROW = re.compile(r"[^\n]*+\n|[^\n]+")
_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")
