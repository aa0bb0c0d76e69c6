"""The source with every quoted span marked. Pure.

Quotations overlap, so the text is split wherever one begins or ends; each piece lists its items.
"""

from collections.abc import Container, Iterator
from dataclasses import dataclass
from itertools import pairwise

from pecia.features.ckf.package.locate import SearchableText
from pecia.features.ckf.package.model import Package, integer_of, text_of, texts_of
from pecia.features.ckf.pages.html import Html, tag
from pecia.kernel.text.span import Span

MAX_NAMED_ITEMS = 8
MAX_SHADE = 4


@dataclass(frozen=True, slots=True)
class QuotedSpan:
    span: Span
    item_id: str


class QuotedSource:
    """A source and the spans a package quotes. Only the items with these ids are marked."""

    def __init__(self, package: Package, text: str, ids: Container[str] | None = None) -> None:
        self.text = text
        self._sought = SearchableText(text)
        self._places: dict[str, Span | None] = {}
        self.quoted = sorted(
            set(self._locate_quotations(package)), key=lambda it: (it.span.start, it.span.end)
        )
        self.marked = [it for it in self.quoted if ids is None or it.item_id in ids]
        self._starts = {it.span.start for it in self.marked}

    def anchor(self, excerpt: str) -> str | None:
        """The anchor of that quotation on the page."""
        found = self._place(excerpt)
        return f"at-{found.start}" if found and found.start in self._starts else None

    def _place(self, excerpt: str) -> Span | None:
        """Its first occurrence, cached: an item and its row have the same quotation."""
        if excerpt not in self._places:
            found = self._sought.find(excerpt)
            self._places[excerpt] = found.span if found else None
        return self._places[excerpt]

    def _locate_quotations(self, package: Package) -> Iterator[QuotedSpan]:
        for row in package.trace:
            excerpt = text_of(row, "source_excerpt")
            found = self._sought.find(excerpt, integer_of(row, "source_char_start"))
            if found:
                self._places.setdefault(excerpt, found.span)
                yield QuotedSpan(found.span, text_of(row, "extracted_item_id"))
        for _, item in package.iter_items():
            for excerpt in texts_of(item, "source_excerpts"):
                if found := self._place(excerpt):
                    yield QuotedSpan(found, text_of(item, "id"))


def render_source(source: QuotedSource) -> Html:
    """The text, to be read beside the package."""
    return tag("pre", _pieces(source), class_="source", tabindex=0)


def count_quoted_chars(source: QuotedSource) -> int:
    """The number of characters that are quoted at least once."""
    return sum(end - start for start, end, owners in _cut(source.text, source.quoted) if owners)


def _pieces(source: QuotedSource) -> Iterator[Html | str]:
    for start, end, owners in _cut(source.text, source.marked):
        text = source.text[start:end]
        if not owners:
            yield text
            continue
        named = ", ".join(owners[:MAX_NAMED_ITEMS])
        more = f" and {len(owners) - MAX_NAMED_ITEMS} more" if len(owners) > MAX_NAMED_ITEMS else ""
        yield tag(
            "a",
            text,
            id=f"at-{start}",
            href=f"#item-{owners[0]}",
            class_=f"mark mark-{min(len(owners), MAX_SHADE)}",
            title=f"{named}{more}",
        )


def _cut(text: str, quoted: list[QuotedSpan]) -> Iterator[tuple[int, int, list[str]]]:
    """The pieces of the text in order: start, end, and the ids of the items that quote it."""
    edges = {0, len(text)}
    for it in quoted:
        edges |= {it.span.start, it.span.end}
    places = sorted(edges)
    waiting = list(reversed(quoted))
    open_: list[QuotedSpan] = []
    for start, end in pairwise(places):
        while waiting and waiting[-1].span.start <= start:
            open_.append(waiting.pop())
        open_ = [it for it in open_ if it.span.end > start]
        # The narrowest span first: the most specific item.
        nearest = sorted(open_, key=lambda it: it.span.end - it.span.start)
        yield start, end, list(dict.fromkeys(it.item_id for it in nearest))
