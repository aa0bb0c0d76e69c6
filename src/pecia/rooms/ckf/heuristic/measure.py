"""What a package keeps of its source, counted. Pure; judges nothing, so that others can compare."""

from collections.abc import Iterator
from dataclasses import dataclass

from pecia.kernel.errors import Json
from pecia.kernel.text.span import Span
from pecia.rooms.ckf.heuristic.blocks import read_blocks
from pecia.rooms.ckf.heuristic.sentences import read_sentences
from pecia.rooms.ckf.package.check_source import number_tokens
from pecia.rooms.ckf.package.model import Item, Package, integer_of, text_of


@dataclass(frozen=True, slots=True)
class Count:
    """How many of how many."""

    kept: int
    total: int

    def __add__(self, other: "Count") -> "Count":
        return Count(self.kept + other.kept, self.total + other.total)

    @property
    def share(self) -> float:
        return self.kept / self.total if self.total else 1.0


@dataclass(frozen=True, slots=True)
class Kept:
    """The figures of one package against its source."""

    items_with_trace: Count
    excerpts_verbatim: Count
    numbers: Count
    sentences: Count


def measure(package: Package, text: str) -> Kept:
    words = "\n".join(_texts(package.body))
    traced = {text_of(it, "extracted_item_id") for it in package.trace}
    ids = [text_of(item, "id") for _, item in package.every_item()]
    numbers = set(number_tokens(text))
    kept_numbers = numbers & set(number_tokens(words))
    sentences = [span.of(text) for _, span in read_sentences(text, read_blocks(text))]
    return Kept(
        Count(sum(it in traced for it in ids), len(ids)),
        Count(sum(is_verbatim(it, text) for it in package.trace), len(package.trace)),
        Count(len(kept_numbers), len(numbers)),
        Count(sum(it in words for it in sentences), len(sentences)),
    )


def is_verbatim(row: Item, text: str) -> bool:
    """Whether the row quotes exactly the characters that its offsets name."""
    start, end = integer_of(row, "source_char_start"), integer_of(row, "source_char_end")
    if start is None or end is None:
        return False
    return bool(Span(start, end).size) and Span(start, end).of(text) == text_of(
        row, "source_excerpt"
    )


def _texts(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for it in value:
            yield from _texts(it)
    elif isinstance(value, dict):
        for it in value.values():
            yield from _texts(it)
