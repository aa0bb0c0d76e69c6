"""Less of a language that has much, so that the texts travel: `python trim.py BEFORE LESSONS OUT`.

BEFORE is LESSONS as extend.py left it: what augment.py added since stays whole. Of the rest of a
language, texts of a sentence's length first, up to CAP bytes. English that nothing translates stays
where augment.py added it, and half of it where it is long.
"""

import random
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from select_rows import write
from texts import language_names, read_language

CAP, CAP_OF_WEAK, LONG_SHARE = 7.5e6, 12e6, 0.65
WEAK = frozenset(
    ["ar", "el", "fa", "he", "hi", "ja", "ko", "pl", "ru", "th", "tr", "uk", "vi", "zh"]
)
LONG_CHARS, KEPT_CHARS = 60, 100
Row = tuple[int, str]


def kept_of(before: Path, lessons: Path, name: str, sizes: Any) -> list[Row]:
    rows, old = (
        [*zip(numbers.tolist(), texts, strict=True)]
        for texts, numbers in (read_language(lessons, name), read_language(before, name))
    )
    known = set(old)
    kept = [it for it in rows if it not in known]
    size = sum(len(it[1].encode()) + 2 for it in kept)
    first = [it for it in rows if it in known]
    random.Random(name).shuffle(first)
    long = [it for it in first if sizes[it[0]] >= LONG_CHARS]
    short = [it for it in first if sizes[it[0]] < LONG_CHARS]
    cap = CAP_OF_WEAK if name in WEAK else CAP
    for part, top in ((long, cap * LONG_SHARE), (short, cap), (long, cap)):
        for it in part:
            if size >= top:
                break
            kept.append(it)
            size += len(it[1].encode()) + 2
    return sorted(set(kept))


def main() -> None:
    before, lessons, out = (Path(it) for it in sys.argv[1:4])
    out.mkdir(parents=True, exist_ok=True)
    english, _ = read_language(lessons, "english")
    sizes = np.array([len(it) for it in english])
    kept = {it: kept_of(before, lessons, it, sizes) for it in language_names(lessons)}
    used = (sizes > KEPT_CHARS) & (np.random.default_rng(1).random(len(sizes)) < 0.5)
    used[len(read_language(before, "english")[0]) :] = True
    for rows in kept.values():
        used[[number for number, _ in rows]] = True
    place = np.cumsum(used) - 1
    write(out / "english", [english[it] for it in np.flatnonzero(used)], np.arange(used.sum()))
    for name, rows in kept.items():
        numbers = place[np.array([it for it, _ in rows], np.int64)]
        write(out / name, [it[1] for it in rows], numbers)
    shutil.copy(lessons / "held.json", out / "held.json")
    sys.stdout.write(f"{used.sum()} English texts, {sum(map(len, kept.values()))} others\n")


if __name__ == "__main__":
    main()
