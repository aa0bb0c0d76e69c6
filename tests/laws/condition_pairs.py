"""Pairs of statements with a value and a condition, from the frames of `condition_frames.txt`.

Only meaning is stated there: nothing in it knows how the code compares.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

FRAMES = Path(__file__).with_name("condition_frames.txt")
LATIN = "ABCDEIOSXY"
LETTERS = {"ru": "АБВИКОСУЯ", "uk": "АБВІЗОУЯ"}
NOW = {
    "en": ("now ",),
    "de": (
        "jetzt ",
        "inzwischen ",
        "ab sofort ",
    ),
    "nl": (
        "nu ",
        "voortaan ",
    ),
    "fr": (
        "maintenant ",
        "désormais ",
    ),
    "es": ("ahora ",),
    "pt": ("agora ",),
    "it": (
        "ora ",
        "adesso ",
    ),
    "ru": ("теперь ",),
    "uk": ("тепер ",),
    "pl": ("teraz ",),
    "sv": (
        "nu ",
        "numera ",
    ),
    "da": ("nu ",),
    "no": ("nå ",),
    "zh": ("现在",),
}


class FactPair(NamedTuple):
    """What was said before, and what is said to hold now."""

    old: str
    new: str


class ConditionFrame(NamedTuple):
    language: str
    shape: str
    values: list[str]
    conditions: list[str]
    is_single: bool

    def pairs(self, *, same: bool) -> Iterator[FactPair]:
        """Two values under one condition, or under two."""
        old, new, *_ = self.values
        for now in NOW[self.language]:
            for one in self.conditions:
                for other in self.conditions:
                    if (one == other) is same:
                        yield FactPair(self._say(old, one), self._say(new, other, now))

    def _say(self, value: str, condition: str, now: str = "") -> str:
        text = self.shape.format(now=now, v=value, c=condition)
        return text[:1].upper() + text[1:]


class NamedThing(NamedTuple):
    language: str
    before: str
    after: str
    values: list[str]
    is_single: bool

    def pairs(self, *, same: bool) -> Iterator[FactPair]:
        """One thing with two values, or two things with one or two."""
        letters = LETTERS.get(self.language, LATIN)
        old, other_value, *_ = self.values
        for one in letters:
            for other in letters:
                if (one == other) is not same:
                    continue
                for new in (other_value,) if same else (old, other_value):
                    yield FactPair(
                        self.before.format(n=one, v=old), self.after.format(n=other, v=new)
                    )


def read_frames() -> list[ConditionFrame]:
    return [
        ConditionFrame(language, shape, values.split("|"), conditions.split("|"), bool(single))
        for language, shape, values, conditions, *single in _read("{c}")
    ]


def read_named() -> list[NamedThing]:
    return [
        NamedThing(language, before, after, values.split("|"), bool(single))
        for language, before, after, values, *single in _read("{n}")
    ]


def _read(place: str) -> Iterator[list[str]]:
    """The rows whose statement has this place."""
    for line in FRAMES.read_text("utf-8").splitlines():
        row = line.split(" ; ")
        if not line.startswith("#") and len(row) > 1 and place in row[1]:
            yield row
