"""The edits that turn one text into another. Pure.

Line ends are part of the lines, so a change of line ends shows. The work is bounded (see `align`).
"""

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate

from pecia.kernel.text.diff.align import SequenceDifference, find_differences
from pecia.kernel.text.span import Edit, Span


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
                _trim(words.old.of(was), words.new.of(now), rows.old.start + words.old.start)
            )
    return edits


def diff_rows(text: str) -> list[str]:
    """Lines with their ends, as patches count them: cut after line feeds only."""
    return _ROW.findall(text)


def diff_tokens(text: str) -> list[str]:
    """Words, runs of white space and single marks: joined, they are the text."""
    return _TOKEN.findall(text)


def _in_characters(old: Sequence[str], new: Sequence[str]) -> Iterator[SequenceDifference]:
    """Differences with spans that count characters instead of items."""
    old_at = list(accumulate(map(len, old), initial=0))
    new_at = list(accumulate(map(len, new), initial=0))
    for it in find_differences(old, new):
        yield SequenceDifference(
            Span(old_at[it.old.start], old_at[it.old.end]),
            Span(new_at[it.new.start], new_at[it.new.end]),
        )


def _trim(was: str, now: str, start: int) -> Edit:
    most = min(len(was), len(now))
    head = next((i for i in range(most) if was[i] != now[i]), most)
    most -= head
    tail = next((i for i in range(most) if was[-1 - i] != now[-1 - i]), most)
    return Edit(Span(start + head, start + len(was) - tail), now[head : len(now) - tail])


_ROW = re.compile(r"[^\n]*+\n|[^\n]+")
_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")
