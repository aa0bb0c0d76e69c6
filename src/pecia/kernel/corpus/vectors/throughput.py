"""Embedding throughput, as the jobs report it in their messages. Pure."""

import re
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EmbedThroughput:
    """`seconds` are those spent in the model, not those spent waiting for others."""

    texts: int = 0
    seconds: float = 0.0

    def __add__(self, other: "EmbedThroughput") -> "EmbedThroughput":
        return EmbedThroughput(self.texts + other.texts, self.seconds + other.seconds)

    @property
    def texts_per_s(self) -> float | None:
        """None where nothing was embedded, or too little to be measured."""
        return self.texts / self.seconds if self.texts and self.seconds > 0 else None

    def as_message(self, model: str) -> str | None:
        """As a job's message; None if nothing was embedded."""
        return f"{self.texts} texts in {self.seconds:.6f} s by {model}" if self.texts else None


def parse_messages(messages: Iterable[str | None], model: str) -> EmbedThroughput:
    """The sum over the messages of this model; others are ignored."""
    return sum((_parse_message(it or "", model) for it in messages), EmbedThroughput())


def _parse_message(message: str, model: str) -> EmbedThroughput:
    found = _MESSAGE.fullmatch(message)
    if found is None or found["model"] != model:
        return EmbedThroughput()
    return EmbedThroughput(int(found["texts"]), float(found["seconds"]))


_MESSAGE = re.compile(
    r"(?P<texts>\d+) texts in (?P<seconds>\d+\.\d+) s by (?P<model>.*)", re.DOTALL
)
