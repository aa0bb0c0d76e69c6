"""Trains the models of `core/classify`: `python -m bench.memories.sentences` writes their weights.

From the sentences in `sentences/`, written for it, and from label sets: instructions, the requests
beside them, what is kept and what is not, and facts; of sets that are halved last, the half in
sight. Logistic regression with a quadratic penalty, by Newton's method, over features that two
sentences have.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import orjson

from bench.memories.labels import Half, read_labels
from pecia.features.memory.core.classify import features
from pecia.features.memory.core.classify.features import read_features
from pecia.features.memory.core.compare.statement import read_statement, stem

FOLDER = Path(__file__).parent / "sentences"
WEIGHTS = Path(features.__file__).parent
INSTRUCTIONS: tuple[Half, ...] = ("seen", "held", "fresh6", "fresh10 seen")
UTTERANCES: tuple[Half, ...] = ("seen", "held", "fresh", "fresh2", "fresh6", "fresh10 seen")
FACTS: tuple[Half, ...] = (
    *("seen", "held", "fresh", "fresh2", "fresh3 seen", "fresh3 held", "fresh4 seen"),
    *("fresh4 held", "fresh6", "fresh7 seen", "fresh7 held", "fresh8 seen", "fresh8 held"),
    "fresh10 seen",
)
MIN_SENTENCES = 2
PENALTY = 1.0
STEPS = 15


def read_standing() -> dict[str, bool]:
    """Sentences, and whether they hold for all that is asked later."""
    found = dict.fromkeys(_read_lines("other"), False)
    found |= dict.fromkeys(_read_lines("instructions"), True)
    for half in INSTRUCTIONS:
        instructions = read_labels("instructions", half)
        found |= {it: False for _, it in instructions} | {it: True for it, _ in instructions}
        found |= {it: False for kind, it in read_labels("utterances", half) if kind == "skip"}
    for half in FACTS:
        found |= {it: False for it, *_ in _read_rows("updates", half)}
    return _in_english(found)


def read_chatter() -> dict[str, bool]:
    """Sentences, and whether nobody needs them later. Questions have a rule of their own."""
    found: dict[str, bool] = {}
    for half in FACTS:
        for name in ("near_misses", "negations", "updates", "paraphrases"):
            rows = _read_rows(name, half)
            found |= {text: False for row in rows for text in row[:2]}
    for half in UTTERANCES:
        rows = read_labels("utterances", half)
        found |= {it: kind == "skip" for kind, it in rows if not it.endswith("?")}
    found |= dict.fromkeys(_read_lines("chatter"), True)
    return _in_english(found)


def _read_lines(name: str) -> list[str]:
    lines = (FOLDER / f"{name}.txt").read_text("utf-8").splitlines()
    return [it for it in lines if not it.startswith("#")]


def _read_rows(name: str, half: Half) -> list[tuple[str, ...]]:
    try:
        return read_labels(name, half)
    except FileNotFoundError:
        return []


def _in_english(sentences: Mapping[str, bool]) -> dict[str, bool]:
    return {text: told for text, told in sentences.items() if text.isascii()}


def train(sentences: Mapping[str, bool]) -> dict[str, float]:
    found = [read_features(it) for it in sentences]
    counts = Counter(name for it in found for name in it)
    names = sorted(name for name, count in counts.items() if count >= MIN_SENTENCES)
    # The last one is the intercept, which has no penalty.
    told = np.array([[*(it.get(name, 0.0) for name in names), 1.0] for it in found])
    wanted = np.array([*sentences.values()], dtype=float)
    weights, penalty = np.zeros(len(names) + 1), np.full(len(names) + 1, PENALTY)
    penalty[-1] = 0.0
    for _ in range(STEPS):
        chance = 1 / (1 + np.exp(-told @ weights))
        slope = told.T @ (chance - wanted) + penalty * weights
        curve = (told.T * (chance * (1 - chance))) @ told + np.diag(penalty)
        weights -= np.linalg.solve(curve, slope)
    rounded = (round(float(it), 2) for it in weights)
    return {name: it for name, it in zip((*names, ""), rounded, strict=True) if it or not name}


def write(name: str, sentences: Mapping[str, bool]) -> None:
    told = (text for text, is_so in sentences.items() if is_so)
    model = {"weights": train(sentences), "known": _stems(told)}
    (WEIGHTS / f"{name}.json").write_bytes(orjson.dumps(model) + b"\n")


def _stems(texts: Iterable[str]) -> list[str]:
    return sorted({stem(it) for text in texts for it in read_statement(text).words})


def main() -> None:
    write("instruction", read_standing())
    write("chatter", read_chatter())


if __name__ == "__main__":
    main()
