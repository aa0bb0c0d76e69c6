"""The source with every stretch marked that an item quotes. Pure.

Quotations overlap, so the text is cut wherever one begins or ends, and each piece says whose it is.
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
    """A source, and what of it a package quotes. Only the items with these ids are marked."""

    def __init__(self, package: Package, text: str, ids: Container[str] | None = None) -> None:
        self.text = text
        self._sought = SearchableText(text)
        self._places: dict[str, Span | None] = {}
        self.quoted = sorted(set(self._found(package)), key=lambda it: (it.span.start, it.span.end))
        self.marked = [it for it in self.quoted if ids is None or it.item_id in ids]
        self._starts = {it.span.start for it in self.marked}

    def anchor(self, excerpt: str) -> str | None:
        """Where the page shows that quotation."""
        found = self._place(excerpt)
        return f"at-{found.start}" if found and found.start in self._starts else None

    def _place(self, excerpt: str) -> Span | None:
        """The first place of it, looked for once: an item and its row quote the same words."""
        if excerpt not in self._places:
            found = self._sought.find(excerpt)
            self._places[excerpt] = found.span if found else None
        return self._places[excerpt]

    def _found(self, package: Package) -> Iterator[QuotedSpan]:
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
    """How many characters of the text are quoted at least once."""
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
    """The whole text in order: start, end, and the ids of the items that quote the piece."""
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
        # The narrowest first: it is the item that says just this.
        nearest = sorted(open_, key=lambda it: it.span.end - it.span.start)
        yield start, end, list(dict.fromkeys(it.item_id for it in nearest))
