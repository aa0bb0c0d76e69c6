"""From which text a program made the one that it wrote. Pure.

A program reads the file, thinks, and writes it. If the file was replaced between the two, what was
new then is not in what the program writes: not because it deleted it, but because it never saw it.

Words decide. Marks and spaces do not: those that a program wrote match those that were new, and
then a text that knows nothing of the new words looks as near to the one as to the other.
"""

import re
from collections.abc import Sequence

from pecia.kernel.text.diff.align import find_differences
from pecia.kernel.text.diff.diff import diff_tokens

_WORD = re.compile(r"\w+")


def find_merge_base(text: str, current: str, earlier: Sequence[str]) -> int | None:
    """Which of the earlier texts it was made from; None where that is the current one."""
    found = [it for it, old in enumerate(earlier) if _is_derived_from(text, old, current)]
    return min(found, key=lambda it: _distance(_words(earlier[it]), _words(text)), default=None)


def _is_derived_from(text: str, old: str, current: str) -> bool:
    """Whether it is nearer to the old text than to the current one. In doubt, words stay."""
    if old == current or text == current:
        return False
    was, now, has = _words(old), _words(current), _words(text)
    if was == now:
        return _leads_through(old, current, text)
    from_old, from_current = _distance(was, has), _distance(now, has)
    if from_old != from_current:
        return from_old < from_current
    if not set(now).difference(was):
        # Words were taken away only: made from the current text, none of them is lost.
        return False
    if not set(was).difference(now):
        # Words came only, and at least as many of them are missing as are there.
        return True
    # Words became others, and in this text others again: by their letters.
    return _distance(old, text) <= _distance(current, text)


def _leads_through(old: str, current: str, text: str) -> bool:
    """Whether the way from the current text leads back through the old one: no word tells."""
    was, now, has = diff_tokens(old), diff_tokens(current), diff_tokens(text)
    return _distance(now, has) == _distance(now, was) + _distance(was, has)


def _words(text: str) -> list[str]:
    return _WORD.findall(text)


def _distance(old: Sequence[str], new: Sequence[str]) -> int:
    return sum(it.old.size + it.new.size for it in find_differences(old, new))
