"""Descriptions of Debian's packages, and their translations, paragraph by paragraph."""

import bz2
import lzma
import re
from collections.abc import Iterator
from pathlib import Path

from languages import language_of

from readers import Pair


def read(folder: Path) -> Iterator[Pair]:
    english = _load(lzma.decompress((folder / "Translation-en.xz").read_bytes()).decode())
    for path in sorted(folder.glob("*.bz2")):
        language = language_of(path.stem)
        if not language:
            continue
        for digest, theirs in _load(bz2.decompress(path.read_bytes()).decode()).items():
            ours = english.get(digest)
            if ours and len(ours[1]) == len(theirs[1]):
                for a, b in zip(ours[1], theirs[1], strict=True):
                    yield Pair(f"description:{ours[0]}", language, a, b)


def _load(text: str) -> dict[str, tuple[str, list[str]]]:
    found: dict[str, tuple[str, list[str]]] = {}
    for record in text.split("\n\n"):
        head = re.search(
            r"^Package: (\S+)\nDescription-md5: (\S+)\nDescription-\w+: (.*)$", record, re.M
        )
        if not head:
            continue
        parts: list[list[str]] = [[]]
        for line in record[head.end() :].splitlines():
            if line.strip() == ".":
                parts.append([])
            elif line.strip():
                parts[-1].append(line.strip())
        found[head[2]] = (head[1], [head[3], *(" ".join(it) for it in parts if it)])
    return found
