"""Items of the heuristic package, as a fallback for what the model did not return. Pure."""

from collections import defaultdict
from collections.abc import Iterable

from pecia.features.ckf.llm.item import ExtractedItem
from pecia.features.ckf.llm.prepare.segment import SourceChunk
from pecia.features.ckf.package.model import Item, Package, integer_of, number_of, text_of
from pecia.kernel.text.span import Span

_TRACE = frozenset({"id", "source_basis", "confidence", "source_refs", "source_excerpts"})


def list_heuristic_items(package: Package) -> list[ExtractedItem]:
    """Every item with its quoted spans."""
    quotes: defaultdict[str, list[Span]] = defaultdict(list)
    for row in package.trace:
        start, end = integer_of(row, "source_char_start"), integer_of(row, "source_char_end")
        if start is not None and end is not None:
            quotes[text_of(row, "extracted_item_id")].append(Span(start, end))
    return [
        _extracted_item(section, it, quotes[text_of(it, "id")])
        for section, it in package.iter_items()
        if quotes[text_of(it, "id")]
    ]


def filter_by_chunks(
    items: list[ExtractedItem], chunks: Iterable[SourceChunk]
) -> list[ExtractedItem]:
    """The items that begin in one of these chunks."""
    spans = [it.span for it in chunks]
    return [
        it for it in items if any(span.start <= it.quotes[-1].start < span.end for span in spans)
    ]


def _extracted_item(section: str, item: Item, quotes: list[Span]) -> ExtractedItem:
    return ExtractedItem(
        section,
        {name: value for name, value in item.items() if name not in _TRACE},
        tuple(quotes),
        text_of(item, "source_basis"),
        number_of(item, "confidence") or 0.0,
        "text",
        text_of(item, "id"),
    )
