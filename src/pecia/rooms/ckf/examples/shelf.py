"""The six example texts and their packages, as they ship. Reads only files of this folder."""

from dataclasses import dataclass
from importlib.resources import files

from pecia.rooms.ckf.options import SourceText
from pecia.rooms.ckf.package.codec import Format, parse
from pecia.rooms.ckf.package.model import Package

SOURCE_TYPE_BY_TOPIC = {
    "learning": "Article",
    "business": "Strategy",
    "clinical": "Protocol",
    "legal": "Policy",
    "engineering": "Runbook",
    "scientific": "Paper",
}
TOPICS = tuple(SOURCE_TYPE_BY_TOPIC)
CREATED_AT = "2026-11-02T00:00:00Z"
FOLDER = "pecia.rooms.ckf.examples"


@dataclass(frozen=True, slots=True)
class Example:
    """One text, what kind of text it is, and the package made of it."""

    topic: str
    source_type: str
    source: SourceText
    package: Package


def read_example(topic: str) -> Example:
    """The example on one of `TOPICS`."""
    package = parse(_read(f"{topic}.ckf.json"), Format.JSON)
    return Example(topic, SOURCE_TYPE_BY_TOPIC[topic], example_source(topic), package)


def example_source(topic: str) -> SourceText:
    return SourceText(_read(f"{topic}.md"), language="en", author="Pecia", filename=f"{topic}.md")


def _read(name: str) -> str:
    return files(FOLDER).joinpath(name).read_text(encoding="utf-8")
