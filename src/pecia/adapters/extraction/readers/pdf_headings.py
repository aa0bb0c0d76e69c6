"""Lines of a PDF page that are set larger than the rest: the headings of one without an outline."""

import ctypes
from collections import Counter
from importlib import import_module
from typing import Any

# pypdfium2 comes without types.
pdfium_c: Any = import_module("pypdfium2.raw")

_LARGER = 1.15
_LEVELS = (1.7, 1.35)
_TITLE_LETTERS = 150
# A page with more large lines than this is a poster or a table, and has no headings.
_PER_PAGE = 8


def find_headings(textpage: Any, text: str) -> list[tuple[str, int]]:
    """Each such line with its level, which is that of its size: 1 for the largest."""
    lines = [(at, line) for at, line in _starts(text) if line]
    heights = [_height(textpage, at) for at, _ in lines]
    weights: Counter[float] = Counter()
    for (_, line), height in zip(lines, heights, strict=True):
        weights[height] += len(line)
    if len(weights) < 2:
        return []
    body = max(weights, key=lambda it: (weights[it], -it))
    found = [
        (line, _level(height / body))
        for (_, line), height in zip(lines, heights, strict=True)
        if body > 0 and height > _LARGER * body and _is_title(line)
    ]
    return found if len(found) <= _PER_PAGE else []


def _starts(text: str) -> list[tuple[int, str]]:
    found: list[tuple[int, str]] = []
    at = 0
    for line in text.split("\n"):
        bare = line.strip()
        found.append((at + len(line) - len(line.lstrip()), bare))
        at += len(line) + 1
    return found


def _height(textpage: Any, at: int) -> float:
    """Of the letter there, in half points: the font's own size says nothing of its scale."""
    box = pdfium_c.FS_RECTF()
    if not pdfium_c.FPDFText_GetLooseCharBox(textpage, at, ctypes.byref(box)):
        return 0.0
    return round((box.top - box.bottom) * 2) / 2


def _level(ratio: float) -> int:
    return 1 + sum(ratio < it for it in _LEVELS)


def _is_title(line: str) -> bool:
    letters = sum(map(str.isalpha, line))
    return letters >= 3 and len(line) <= _TITLE_LETTERS and not line.endswith((".", ",", ";"))
