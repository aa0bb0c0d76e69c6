"""From which text a program made the one that it wrote. Pure.

A program reads the file, thinks, and writes it. If the file was replaced between the two, what was
new then is not in what the program writes: not because it deleted it, but because it never saw it.
"""

import re
from collections.abc import Sequence

from pecia.kernel.text.align import differences
from pecia.kernel.text.diff import diff_tokens

_WORD = re.compile(r"\w+")


def ancestor(text: str, current: str, earlier: Sequence[str]) -> int | None:
    """Which of the earlier texts it was made from; None where that is the current one.

    In doubt the current one: only a text that knows nothing of what was new since was made before.
    """
    found = [it for it, old in enumerate(earlier) if _is_made_from(text, old, current)]
    return min(found, key=lambda it: _distance(earlier[it], text), default=None)


def _is_made_from(text: str, old: str, current: str) -> bool:
    if old == current or text == current:
        return False
    new = set(_WORD.findall(current)).difference(_WORD.findall(old))
    if not new:
        # Nothing that can be looked for: the way to it must lead back through the old text.
        whole = _distance(current, old) + _distance(old, text)
        return _distance(current, text) == whole
    return new.isdisjoint(_WORD.findall(text)) and _distance(old, text) < _distance(current, text)


def _distance(old: str, new: str) -> int:
    found = differences(diff_tokens(old), diff_tokens(new))
    return sum(it.old.size + it.new.size for it in found)
