"""How many texts a model takes in how long, as the embedding jobs tell it of themselves. Pure."""

import re
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Speed:
    """`seconds` are those spent in the model, not those spent waiting for others."""

    texts: int = 0
    seconds: float = 0.0

    def __add__(self, other: "Speed") -> "Speed":
        return Speed(self.texts + other.texts, self.seconds + other.seconds)

    @property
    def texts_per_s(self) -> float | None:
        """None where nothing was embedded, or too little to be measured."""
        return self.texts / self.seconds if self.texts and self.seconds > 0 else None

    def told(self, model: str) -> str | None:
        """As the message of a job, for people; None where there is nothing to tell."""
        return f"{self.texts} texts in {self.seconds:.6f} s by {model}" if self.texts else None


def told_by(messages: Iterable[str | None], model: str) -> Speed:
    """What the messages tell of this model together; others tell nothing."""
    return sum((_heard(it or "", model) for it in messages), Speed())


def _heard(message: str, model: str) -> Speed:
    found = _TOLD.fullmatch(message)
    if found is None or found["model"] != model:
        return Speed()
    return Speed(int(found["texts"]), float(found["seconds"]))


_TOLD = re.compile(r"(?P<texts>\d+) texts in (?P<seconds>\d+\.\d+) s by (?P<model>.*)", re.DOTALL)
