"""A logistic regression over the features of a sentence, from a file of weights. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

import orjson

from pecia.features.memory.core.classify.features import read_features

NOTHING = -100.0


@dataclass(frozen=True, slots=True)
class SentenceModel:
    """`known` are stems of words in what it was taught to tell."""

    weights: Mapping[str, float]
    known: frozenset[str]

    def score(self, sentence: str) -> float:
        """The logarithm of the odds."""
        found = read_features(sentence)
        if not found:
            return NOTHING
        return self.weights[""] + sum(self.weights.get(it, 0.0) * n for it, n in found.items())


@lru_cache
def load_model(name: str) -> SentenceModel:
    path = files("pecia.features.memory.core.classify").joinpath(f"{name}.json")
    read = orjson.loads(path.read_bytes())
    return SentenceModel(read["weights"], frozenset(read["known"]))
