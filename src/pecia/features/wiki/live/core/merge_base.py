"""Finds the merge base: the text that a program started from. Pure.

A program reads the file, works, and writes it. If the file was replaced in between, what was new
then is missing from what the program writes: not deleted, but never seen.

Words decide. Punctuation and spaces do not: those that a program wrote match those that were new,
and a text without the new words would then look equally close to both.
"""

import re
from collections.abc import Sequence

from pecia.kernel.text.diff.align import find_differences
from pecia.kernel.text.diff.diff import diff_tokens

_WORD = re.compile(r"\w+")


def find_merge_base(text: str, current: str, earlier: Sequence[str]) -> int | None:
    """The index of the earlier text it was made from; None for the current one."""
    found = [it for it, old in enumerate(earlier) if _is_derived_from(text, old, current)]
    return min(found, key=lambda it: _distance(_words(earlier[it]), _words(text)), default=None)


def _is_derived_from(text: str, old: str, current: str) -> bool:
    """Whether it is closer to the old text than to the current one. In doubt, keep the words."""
    if old == current or text == current:
        return False
    was, now, has = _words(old), _words(current), _words(text)
    if was == now:
        return _leads_through(old, current, text)
    from_old, from_current = _distance(was, has), _distance(now, has)
    if from_old != from_current:
        return from_old < from_current
    if not set(now).difference(was):
        # Words were only removed: based on the current text, none of them is lost.
        return False
    if not set(was).difference(now):
        # Words were only added, and at least as many of them are missing as present.
        return True
    # Words were replaced, and again in this text: compare by character.
    return _distance(old, text) <= _distance(current, text)


def _leads_through(old: str, current: str, text: str) -> bool:
    """Whether the path from the current text goes back through the old one: no word decides."""
    was, now, has = diff_tokens(old), diff_tokens(current), diff_tokens(text)
    return _distance(now, has) == _distance(now, was) + _distance(was, has)


def _words(text: str) -> list[str]:
    return _WORD.findall(text)


def _distance(old: Sequence[str], new: Sequence[str]) -> int:
    return sum(it.old.size + it.new.size for it in find_differences(old, new))
