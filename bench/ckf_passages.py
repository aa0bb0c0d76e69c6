"""Cuts texts into passages to label, by a splitter that shares nothing with the compiler's.

    python -m bench.ckf_passages TEXTS NAME [--windows 2] [--size 16]

Prints `start end text` of windows at places chosen by a hash of the name, so that nobody chooses
by cue; `--windows 0` prints all passages.
"""

import argparse
import hashlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("texts", type=Path)
    options.add_argument("name")
    options.add_argument("--windows", type=int, default=2)
    options.add_argument("--size", type=int, default=16)
    asked = options.parse_args()
    text = (asked.texts / f"{asked.name}.txt").read_text("utf-8")
    for start, end in choose_windows(asked.name, text, asked.windows, asked.size):
        print(start, end, " ".join(text[start:end].split()))
    return 0


def choose_windows(name: str, text: str, windows: int, size: int) -> list[tuple[int, int]]:
    passages = list(iter_passages(text))
    if not windows or len(passages) <= windows * size:
        return passages
    part = len(passages) // windows
    found: list[tuple[int, int]] = []
    for at in range(windows):
        digest = hashlib.sha256(f"{name}/{at}".encode()).digest()
        first = at * part + int.from_bytes(digest[:4]) % max(1, part - size)
        found += passages[first : first + size]
    return found


def iter_passages(text: str) -> Iterator[tuple[int, int]]:
    """Sentences of paragraphs, list items and single lines, with their offsets."""
    for block in _BLOCK.finditer(text):
        start = block.start()
        for mark in _END.finditer(text, block.start(), block.end()):
            before = text[max(start, mark.start() - 12) : mark.start()].split()
            if text[mark.start()] == "." and before and _SHORT.fullmatch(before[-1].lower()):
                continue
            yield from _trim(text, start, mark.end())
            start = mark.end()
        yield from _trim(text, start, block.end())


def _trim(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    words = text[start:end]
    first, last = len(words) - len(words.lstrip()), len(words.rstrip())
    if last > first:
        yield start + first, start + last


# A block ends before a blank line, a list mark, a heading or a line of a table.
_BLOCK = re.compile(
    r"[^\n]+(?:\n(?![ \t]*(?:\n|[-*+•·|#]|\(?(?:\d{1,3}|[a-zA-Z])[.)][ \t]|\Z))[^\n]+)*"
)
_END = re.compile(r"[.!?]+[)\"'”»]{0,2}(?=\s+[\"'“«(„]?[A-ZÀ-ÖØ-Þ])")
_SHORT = re.compile(
    r"(?:[(\"]?(?:[a-zà-ÿ]|\d{1,2}|art|abs|nr|z|bzw|e\.?g|i\.?e|etc|cf|dr|vgl|p\.?ex|sec|no|vs|ca)"
    r"|.*\.[a-z])"
)


if __name__ == "__main__":
    sys.exit(main())
