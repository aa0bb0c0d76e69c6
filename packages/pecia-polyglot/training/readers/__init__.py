"""One module a format. Each yields pairs: a string in English and in another language."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pair:
    """`origin` is the Debian package or list it was read from; splits are made by it."""

    origin: str
    language: str
    english: str
    text: str
