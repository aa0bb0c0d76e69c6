"""The heuristic compiler's package as a stock of items, for what the model did not give. Pure."""

from collections import defaultdict
from collections.abc import Iterable

from pecia.kernel.text.span import Span
from pecia.rooms.ckf.llm.found import Found
from pecia.rooms.ckf.llm.segment import Chunk
from pecia.rooms.ckf.package.model import Item, Package, integer_of, number_of, text_of

_TRACE = frozenset({"id", "source_basis", "confidence", "source_refs", "source_excerpts"})


def stock(package: Package) -> list[Found]:
    """Every item with the places that it quotes."""
    quotes: defaultdict[str, list[Span]] = defaultdict(list)
    for row in package.trace:
        start, end = integer_of(row, "source_char_start"), integer_of(row, "source_char_end")
        if start is not None and end is not None:
            quotes[text_of(row, "extracted_item_id")].append(Span(start, end))
    return [
        _found(section, it, quotes[text_of(it, "id")])
        for section, it in package.every_item()
        if quotes[text_of(it, "id")]
    ]


def within(items: list[Found], chunks: Iterable[Chunk]) -> list[Found]:
    """The items that begin in one of these chunks."""
    spans = [it.span for it in chunks]
    return [
        it for it in items if any(span.start <= it.quotes[-1].start < span.end for span in spans)
    ]


def _found(section: str, item: Item, quotes: list[Span]) -> Found:
    return Found(
        section,
        {name: value for name, value in item.items() if name not in _TRACE},
        tuple(quotes),
        text_of(item, "source_basis"),
        number_of(item, "confidence") or 0.0,
        "text",
        text_of(item, "id"),
    )
