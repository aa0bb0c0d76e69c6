"""Retention metrics: how much of the source a package keeps. Pure; sets no thresholds."""

from collections.abc import Iterator
from dataclasses import dataclass

from pecia.features.ckf.heuristic.parse.blocks import parse_blocks
from pecia.features.ckf.heuristic.parse.sentences import iter_sentences
from pecia.features.ckf.package.checks.source import extract_numbers
from pecia.features.ckf.package.model import Item, Package, integer_of, text_of
from pecia.kernel.errors import Json
from pecia.kernel.text.span import Span


@dataclass(frozen=True, slots=True)
class ShareCount:
    """A count out of a total."""

    kept: int
    total: int

    def __add__(self, other: "ShareCount") -> "ShareCount":
        return ShareCount(self.kept + other.kept, self.total + other.total)

    @property
    def share(self) -> float:
        return self.kept / self.total if self.total else 1.0


@dataclass(frozen=True, slots=True)
class RetentionMetrics:
    """The metrics of one package against its source."""

    items_with_trace: ShareCount
    excerpts_verbatim: ShareCount
    numbers: ShareCount
    sentences: ShareCount


def measure_retention(package: Package, text: str) -> RetentionMetrics:
    words = "\n".join(_texts(package.body))
    traced = {text_of(it, "extracted_item_id") for it in package.trace}
    ids = [text_of(item, "id") for _, item in package.iter_items()]
    numbers = set(extract_numbers(text))
    kept_numbers = numbers & set(extract_numbers(words))
    sentences = [span.of(text) for _, span in iter_sentences(text, parse_blocks(text))]
    return RetentionMetrics(
        ShareCount(sum(it in traced for it in ids), len(ids)),
        ShareCount(sum(is_verbatim(it, text) for it in package.trace), len(package.trace)),
        ShareCount(len(kept_numbers), len(numbers)),
        ShareCount(sum(it in words for it in sentences), len(sentences)),
    )


def is_verbatim(row: Item, text: str) -> bool:
    """Whether the quotation equals the source at the row's offsets."""
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
