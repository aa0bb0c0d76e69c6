"""One item of a package as people read it: what it says, how sure, and on whose word. Pure."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import cast

from pecia.kernel.errors import Json
from pecia.rooms.ckf.package.field import Role, Section
from pecia.rooms.ckf.package.model import Item, number_of, text_of, texts_of
from pecia.rooms.ckf.pages.html import Html, Piece, joined, tag

SURE, DOUBTFUL = 0.85, 0.5
# Shown in the head of an item, or as its quotations.
APART = frozenset(("id", "confidence", "source_basis", "source_excerpts", "source_refs"))


@dataclass(frozen=True, slots=True)
class Places:
    """Where things are on the page: which ids have an anchor, and where a quotation stands."""

    ids: frozenset[str]
    find: Callable[[str], str | None]
    """The anchor of a quotation in the source, None where it is not shown or not there."""


def item_card(section: Section, item: Item, places: Places) -> Html:
    """An article with the item's own anchor."""
    name = text_of(item, section.identity[0]) if section.identity else ""
    item_id = text_of(item, "id")
    rest = [it for it in item if it not in APART and it != _named(section)]
    return tag(
        "article",
        tag("h3", name or item_id),
        _facts(item, item_id),
        field_list(section, {it: item[it] for it in rest}, places),
        (quotation(it, places) for it in texts_of(item, "source_excerpts")),
        class_="item",
        id=f"item-{item_id}" if item_id else None,
    )


def field_list(section: Section, fields: Item, places: Places) -> Html | None:
    """Every field that says something, in the order it came."""
    rows = [
        (tag("dt", words(name)), tag("dd", _value(section, name, value, places)))
        for name, value in fields.items()
        if value not in ("", [], {}, None)
    ]
    return tag("dl", rows) if rows else None


def quotation(text: str, places: Places) -> Html:
    """The words of the source, with a link to where they stand."""
    at = places.find(text)
    link = tag("a", "in the source", href=f"#{at}", class_="where") if at else None
    return tag("blockquote", text, link)


def reference(item_id: str, places: Places) -> Html:
    """A link to an item of this page, or its bare name."""
    if item_id in places.ids:
        return tag("a", tag("code", item_id), href=f"#item-{item_id}")
    return tag("code", item_id)


def confidence(value: float | None) -> Html | None:
    """A bar for the eye, and the number."""
    if value is None:
        return None
    bar = tag(
        "meter", f"{value:.2f}", min=0, max=1, low=DOUBTFUL, high=SURE, optimum=1, value=value
    )
    return tag("span", bar, f" {value:.2f}", class_="confidence", title="confidence")


def words(name: str) -> str:
    return name.replace("_", " ")


def _facts(item: Item, item_id: str) -> Html:
    basis = text_of(item, "source_basis")
    refs = texts_of(item, "source_refs")
    return tag(
        "p",
        tag("code", item_id),
        confidence(number_of(item, "confidence")),
        tag("span", words(basis), class_="badge") if basis else None,
        tag("span", ", ".join(refs), class_="refs", title="spans of the source") if refs else None,
        class_="facts",
    )


def _named(section: Section) -> str:
    return section.identity[0] if section.identity else ""


def _value(section: Section, name: str, value: Json, places: Places) -> Piece:
    field = section.field(name)
    if field and field.role is Role.REFERENCE:
        names = [value] if isinstance(value, str) else cast(list[Json], value)
        return _separated(reference(str(it), places) for it in names)
    if isinstance(value, list):
        return tag(
            "ol" if field and field.ordered else "ul", (tag("li", plain(it)) for it in value)
        )
    return plain(value)


def plain(value: Json) -> Piece:
    """Any value of a package. Objects become lists of their fields."""
    if isinstance(value, dict):
        shown = ((words(key), it) for key, it in value.items() if it not in ("", [], None))
        return _separated(joined(tag("i", key), " ", plain(it)) for key, it in shown)
    if isinstance(value, list):
        return _separated(plain(it) for it in value)
    return "yes" if value is True else "no" if value is False else value


def _separated(pieces: Iterable[Piece]) -> list[Piece]:
    found: list[Piece] = []
    for it in pieces:
        found += [it] if not found else [", ", it]
    return found
