"""Chooses what is trained on, and packs it: `python select_rows.py XQUAD OUT MEGABYTES ROWS...`.

English strings are taken by the number of languages that have them, and for words not seen often
yet; per language, long texts first. Held out by origin: one package in 40. Strings that share eight
words with a paragraph or question of XQuAD are left out.
"""

import json
import random
import re
import sys
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

_WORD = re.compile(r"[^\W\d_]+")
MAX_SEEN = 40
HELD_SHARE = 40
LONG_CHARS, LONG_SHARE = 120, 0.35
ENGLISH_MEGABYTES = 48
# By their licence: licences.py.
LEFT_OUT = frozenset(
    it.split()[0] for it in (Path(__file__).parent / "left_out.txt").read_text().splitlines()
)


def shingles(text: str) -> set[str]:
    found = _WORD.findall(text.casefold())
    return {" ".join(found[at : at + 8]) for at in range(len(found) - 7)}


def test_shingles(folder: Path) -> set[str]:
    found: set[str] = set()
    for article in json.loads((folder / "en.json").read_text())["data"]:
        for paragraph in article["paragraphs"]:
            found |= shingles(paragraph["context"])
            for question in paragraph["qas"]:
                found |= shingles(question["question"])
    return found


def is_held(origin: str) -> bool:
    return zlib.crc32(origin.encode()) % HELD_SHARE == 0


def choose_english(english: list[str], languages: Any, held: Any, tests: set[str]) -> list[int]:
    """Numbers of the strings taken, in reading order."""
    value = np.array([min(len(it), 240) for it in english], np.float32) ** 0.7
    value *= np.sqrt(np.minimum(languages, 40)) * (languages > 0) * ~held
    seen: Counter[str] = Counter()
    taken, size = [], 0
    for number in np.argsort(-value, kind="stable"):
        text = english[number]
        if value[number] == 0 or size > ENGLISH_MEGABYTES * 1e6:
            break
        words = {it.casefold() for it in _WORD.findall(text)}
        fresh = sum(seen[it] < MAX_SEEN for it in words)
        if not words or (fresh < 0.15 * len(words) and (len(words) < 6 or number % 3)):
            continue
        if tests and shingles(text) & tests:
            continue
        seen.update(words)
        taken.append(int(number))
        size += len(text) + 1
    return sorted(taken)


class Rows:
    """The rows of all shards, with one numbering of the English strings."""

    def __init__(self, shards: list[Path]) -> None:
        self.english: list[str] = []
        self.maps: list[tuple[Path, Any]] = []
        numbers: dict[str, int] = {}
        for shard in shards:
            lines = (
                (shard / "english.txt")
                .read_text(encoding="utf-8", errors="replace")
                .split("\n")[:-1]
            )
            found = [numbers.setdefault(it, len(numbers)) for it in lines]
            self.maps.append((shard, np.array(found, np.int64)))
        self.english = list(numbers)
        names = {it.stem for shard in shards for it in shard.glob("*.tsv")}
        self.languages = sorted(names)

    def read(self, language: str) -> Iterator[tuple[int, str, str]]:
        for shard, numbers in self.maps:
            path = shard / f"{language}.tsv"
            if path.exists():
                known = numbers.tolist()
                with path.open(encoding="utf-8", errors="replace") as lines:
                    for line in lines:
                        parts = line.rstrip("\n").split("\t", 2)
                        # A shard that was stopped may end in half a line.
                        if len(parts) != 3 or parts[1] in LEFT_OUT:
                            continue
                        if int(parts[0]) < len(known):
                            yield known[int(parts[0])], parts[1], parts[2]


def main() -> None:
    tests, out, budget = Path(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3]) * 1e6
    out.mkdir(parents=True, exist_ok=True)
    rows = Rows([Path(it) for it in sys.argv[4:]])
    languages = np.zeros(len(rows.english), np.int16)
    held = np.zeros(len(rows.english), bool)
    cache: dict[str, bool] = {}
    for language in rows.languages:
        here = np.zeros(len(rows.english), bool)
        for number, origin, _ in rows.read(language):
            here[number] = True
            if cache.setdefault(origin, is_held(origin)):
                held[number] = True
        languages += here
    print(len(rows.english), "English strings,", int(held.sum()), "held out", flush=True)
    taken = choose_english(rows.english, languages, held, test_shingles(tests))
    print(len(taken), "taken", flush=True)
    place = np.full(len(rows.english), -1, np.int64)
    place[taken] = np.arange(len(taken))
    write(out / "english", [rows.english[it] for it in taken], np.arange(len(taken)))
    report: dict[str, Any] = {"english": len(taken)}
    developed: dict[str, list[tuple[str, str]]] = {}
    for language in rows.languages:
        per_language = 1.5 * budget / len(rows.languages)
        report[language], developed[language] = pack_language(
            rows, language, place, held, out, per_language
        )
    (out / "held.json").write_text(json.dumps(developed, ensure_ascii=False))
    sys.stdout.write(json.dumps(report) + "\n")


def pack_language(
    rows: Rows, language: str, place: Any, held: Any, out: Path, budget: float
) -> tuple[list[int], list[tuple[str, str]]]:
    """Writes what of a language is taken; gives up to 300 held-out pairs of a sentence's length."""
    english = rows.english
    found: dict[int, list[str]] = defaultdict(list)
    apart: list[tuple[str, str]] = []
    for number, _, text in rows.read(language):
        if place[number] >= 0:
            if len(found[number]) < 2:
                found[number].append(text)
        elif held[number] and 30 <= len(english[number]) <= 600:
            apart.append((english[number], text))
    chooser = random.Random(language)
    kept = choose_texts(found, english, place, budget, chooser)
    write(out / language, [it[1] for it in kept], np.array([it[0] for it in kept]))
    size = sum(len(it[1].encode()) + 2 for it in kept)
    unique = list(dict(apart).items())
    chooser.shuffle(unique)
    return [len(kept), size], unique[:300]


def choose_texts(
    found: dict[int, list[str]],
    english: list[str],
    place: Any,
    budget: float,
    chooser: random.Random,
) -> list[tuple[int, str]]:
    """A third of the budget for long texts, the rest by chance: short ones have more words."""
    order = sorted(found)
    chooser.shuffle(order)
    long = [it for it in order if len(english[it]) >= LONG_CHARS]
    short = [it for it in order if len(english[it]) < LONG_CHARS]
    kept: list[tuple[int, str]] = []
    size, limit = 0.0, LONG_SHARE * budget
    for numbers, top in ((long, limit), (short, budget), (long, budget)):
        for number in numbers:
            for text in found[number] if size < top else ():
                kept.append((int(place[number]), text))
                size += len(text.encode()) + 2
    return sorted(set(kept))


def write(path: Path, texts: list[str], numbers: Any) -> None:
    path.with_suffix(".txt").write_text("".join(f"{it}\n" for it in texts), encoding="utf-8")
    steps = np.diff(numbers, prepend=0).astype("<i4")
    path.with_suffix(".num").write_bytes(steps.tobytes())


if __name__ == "__main__":
    main()
