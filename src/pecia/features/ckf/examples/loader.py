"""The six example texts and their packages, as they ship. Reads only files of this folder."""

from dataclasses import dataclass
from importlib.resources import files

from pecia.features.ckf.model import SourceText
from pecia.features.ckf.package.codec.codec import PackageFormat, parse_package
from pecia.features.ckf.package.model import Package

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
# What a language model answered for one of the texts, and the package made of it.
MODEL_TOPIC = "learning"
MODEL_ANSWER = "learning.answer.json"
MODEL_PACKAGE = "learning.model.ckf.json"
MODEL_CREATED_AT = "2026-11-17T00:00:00Z"
EXAMPLES_PACKAGE = "pecia.features.ckf.examples"


@dataclass(frozen=True, slots=True)
class ShippedExample:
    """One text, what kind of text it is, and the package made of it."""

    topic: str
    source_type: str
    source: SourceText
    package: Package


def load_example(topic: str) -> ShippedExample:
    """The example on one of `TOPICS`."""
    package = parse_package(_read(f"{topic}.ckf.json"), PackageFormat.JSON)
    return ShippedExample(topic, SOURCE_TYPE_BY_TOPIC[topic], load_example_source(topic), package)


def load_model_example() -> Package:
    """The package that `ckf.compile_llm` makes of the stored answer on `MODEL_TOPIC`."""
    return parse_package(_read(MODEL_PACKAGE), PackageFormat.JSON)


def load_example_source(topic: str) -> SourceText:
    return SourceText(_read(f"{topic}.md"), language="en", author="Pecia", filename=f"{topic}.md")


def _read(name: str) -> str:
    return files(EXAMPLES_PACKAGE).joinpath(name).read_text(encoding="utf-8")
