"""Whether an English sentence tells what holds for everything that is asked later, by a small
trained model. Pure.

`Write German letters with the formal Sie` begins as `Write a letter to Herr Bauer` does. What tells
them apart is no one word: whether any of a kind is named (`letters`) or one (`a letter`), a
condition in front, a manner, a contrast. `bench/memories/sentences.py` trains it.
"""

from pecia.features.memory.core.classify.model import load_model


def sounds_standing(sentence: str) -> bool:
    return load_model("instruction").score(sentence) > 0
