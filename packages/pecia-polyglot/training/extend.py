"""Adds to the chosen texts: `python extend.py ROWS LESSONS XQUAD WORDNET`, after select_rows.py.

Languages with few texts get more of their own; every language gets words and names of dictionaries,
CLDR and Wikidata; English gets the glosses of WordNet (dict-wn, unpacked in WORDNET). ROWS is the
first shard.
"""

import gzip
import json
import random
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from clean import clean, is_english
from readers.words import number_of
from select_rows import LEFT_OUT, is_held, shingles, test_shingles, write

SMALL = (
    "af ar az be bn bs cy eo et fa ga gu he hi hr hy is ka kk kn lv mk ml mr ms pa ro sq ta te th "
    "ur uz vi lt"
)
SMALL_BYTES, MAX_WORDS, MAX_WORD_CHARS, MAX_GLOSSES = 4e6, 160_000, 60, 110_000
LISTS = (
    "dict-freedict", "edict", "cldr", "wikidata-names", "wordnet", "cc-cedict", "places",
    "openstreetmap",
)  # fmt: skip
# Texts of general subjects: always taken.
GENERAL = ("pud", "wordnet", "po-Stellarium", "course-cncf", "course-opensource", "course-ethereum")


def read_rows(path: Path) -> Any:
    with path.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            parts = line.rstrip("\n").split("\t", 2)
            if len(parts) == 3 and parts[1] not in LEFT_OUT:
                yield int(parts[0]), parts[1], parts[2]


def more_of(path: Path, every: list[str], known: set[str]) -> list[tuple[str, str]]:
    """Texts of a small language whose English was not chosen; longer ones first."""
    found = [
        (every[number], text)
        for number, origin, text in read_rows(path)
        if not is_held(origin) and every[number] not in known
    ]
    random.Random(path.stem).shuffle(found)
    kept, size = [], 0
    for english, text in sorted(found, key=lambda it: -min(len(it[0]), 60) // 20):
        if size > SMALL_BYTES:
            break
        kept.append((english, text))
        size += len(text.encode())
    return kept


def general_of(path: Path, every: list[str]) -> list[tuple[str, str]]:
    return [
        (every[number], text)
        for number, origin, text in read_rows(path)
        if origin.startswith(GENERAL) and not is_held(origin) and len(every[number]) > 40
    ]


def words_of(path: Path, every: list[str]) -> list[tuple[str, str]]:
    found = [
        (every[number], text)
        for number, origin, text in read_rows(path)
        if origin.startswith(LISTS) and len(every[number]) <= MAX_WORD_CHARS
    ]
    random.Random(path.stem).shuffle(found)
    return found[:MAX_WORDS]


def glosses(folder: Path, tests: set[str]) -> list[str]:
    content = gzip.decompress(next(folder.rglob("*.dict.dz")).read_bytes())
    found: dict[str, None] = {}
    for line in next(folder.rglob("*.index")).read_text("utf-8", "replace").splitlines():
        word, _, rest = line.partition("\t")
        at, _, size = rest.partition("\t")
        if size and not word.startswith("00"):
            start = number_of(at)
            text = content[start : start + number_of(size)].decode("utf-8", "replace")
            text = re.sub(r"\{([^}]*)\}", r"\1", text)
            text = re.sub(r"\[[^]]*\]|^\s*(n|v|adj|adv)?\s*\d+:", "", text, flags=re.M)
            text = clean(" ".join(text.split()))[:500]
            if is_english(text) and not shingles(text) & tests:
                found.setdefault(text)
    drawn = list(found)
    random.Random(2).shuffle(drawn)
    return drawn[:MAX_GLOSSES]


def main() -> None:
    rows, lessons, xquad, wordnet = (Path(it) for it in sys.argv[1:5])
    tests = test_shingles(xquad)
    every = (rows / "english.txt").read_text("utf-8", "replace").split("\n")[:-1]
    english = (lessons / "english.txt").read_text("utf-8").split("\n")[:-1]
    held = {
        it for pairs in json.loads((lessons / "held.json").read_text()).values() for it, _ in pairs
    }
    known = set(english)
    added = {it: more_of(rows / f"{it}.tsv", every, known) for it in SMALL.split()}
    for path in sorted(rows.glob("*.tsv")):
        added.setdefault(path.stem, []).extend(general_of(path, every))
    order = {text: number for number, text in enumerate(every)}
    fresh = sorted(
        {it for pairs in added.values() for it, _ in pairs} - held, key=order.__getitem__
    )
    english += [it for it in fresh if not shingles(it) & tests]
    for path in sorted(rows.glob("*.tsv")):
        added.setdefault(path.stem, []).extend(words_of(path, every))
    known = set(english)
    words = sorted(
        {it for pairs in added.values() for it, _ in pairs if len(it) <= MAX_WORD_CHARS}
        - known
        - held
    )
    random.Random(1).shuffle(words)
    english += words
    place = {text: number for number, text in enumerate(english)}
    english += glosses(wordnet, tests)
    write(lessons / "english", english, np.arange(len(english)))
    for language, pairs in added.items():
        texts = (lessons / f"{language}.txt").read_text("utf-8").split("\n")[:-1]
        steps = np.frombuffer((lessons / f"{language}.num").read_bytes(), "<i4").astype(np.int64)
        merged = {*zip(np.cumsum(steps).tolist(), texts, strict=True)}
        merged |= {(place[it], text) for it, text in pairs if it in place}
        write(
            lessons / language,
            [it[1] for it in sorted(merged)],
            np.array([it[0] for it in sorted(merged)]),
        )


if __name__ == "__main__":
    main()
