"""The aligned texts as files: the strings of each language, and the English string of each."""

import gzip
import lzma
import re
from pathlib import Path
from typing import Any

import numpy as np


def content(path: Path) -> bytes:
    """A file, packed or not."""
    for suffix, unpack in ((".xz", lzma.decompress), (".gz", gzip.decompress)):
        packed = path.with_name(path.name + suffix)
        if packed.exists():
            return unpack(packed.read_bytes())
    return path.read_bytes()


def read_language(folder: Path, name: str) -> tuple[list[str], Any]:
    texts = content(folder / f"{name}.txt").decode().split("\n")[:-1]
    steps = np.frombuffer(content(folder / f"{name}.num"), "<i4").astype(np.int64)
    return texts, np.cumsum(steps)


def language_names(folder: Path) -> list[str]:
    found = {re.match(r"[a-z]+", it.name)[0] for it in folder.glob("*.txt*")}  # type: ignore[index]
    return sorted(found - {"english"})
