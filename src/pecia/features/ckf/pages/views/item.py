"""Renders one item of a package: fields, confidence and quotations. Pure."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import cast

from pecia.features.ckf.package.field import FieldRole, PackageSection
from pecia.features.ckf.package.model import Item, number_of, text_of, texts_of
from pecia.features.ckf.pages.html import Html, Piece, join_html, tag
from pecia.kernel.errors import Json

HIGH_CONFIDENCE, LOW_CONFIDENCE = 0.85, 0.5
# Shown in the head of an item, or as its quotations.
SEPARATE_FIELDS = frozenset(("id", "confidence", "source_basis", "source_excerpts", "source_refs"))


@dataclass(frozen=True, slots=True)
class PageAnchors:
    """Anchors on the page: ids of items, and of quotations in the source."""

    ids: frozenset[str]
    find: Callable[[str], str | None]
    """The anchor of a quotation in the source, None where it is not shown or not there."""


def render_item(section: PackageSection, item: Item, places: PageAnchors) -> Html:
    """An article with the item's own anchor."""
    name = text_of(item, section.identity[0]) if section.identity else ""
    item_id = text_of(item, "id")
    rest = [it for it in item if it not in SEPARATE_FIELDS and it != _name_field(section)]
    return tag(
        "article",
        tag("h3", name or item_id),
        _facts(item, item_id),
        render_fields(section, {it: item[it] for it in rest}, places),
        (render_quotation(it, places) for it in texts_of(item, "source_excerpts")),
        class_="item",
        id=f"item-{item_id}" if item_id else None,
    )


def render_fields(section: PackageSection, fields: Item, places: PageAnchors) -> Html | None:
    """Every field that says something, in the order it came."""
    rows = [
        (tag("dt", humanize(name)), tag("dd", _value(section, name, value, places)))
        for name, value in fields.items()
        if value not in ("", [], {}, None)
    ]
    return tag("dl", rows) if rows else None


def render_quotation(text: str, places: PageAnchors) -> Html:
    """The words of the source, with a link to where they stand."""
    at = places.find(text)
    link = tag("a", "in the source", href=f"#{at}", class_="where") if at else None
    return tag("blockquote", text, link)


def render_reference(item_id: str, places: PageAnchors) -> Html:
    """A link to an item of this page, or its bare name."""
    if item_id in places.ids:
        return tag("a", tag("code", item_id), href=f"#item-{item_id}")
    return tag("code", item_id)


def render_confidence(value: float | None) -> Html | None:
    """A bar, and the number."""
    if value is None:
        return None
    bar = tag(
        "meter",
        f"{value:.2f}",
        min=0,
        max=1,
        low=LOW_CONFIDENCE,
        high=HIGH_CONFIDENCE,
        optimum=1,
        value=value,
    )
    return tag("span", bar, f" {value:.2f}", class_="confidence", title="confidence")


def humanize(name: str) -> str:
    return name.replace("_", " ")


def _facts(item: Item, item_id: str) -> Html:
    basis = text_of(item, "source_basis")
    refs = texts_of(item, "source_refs")
    return tag(
        "p",
        tag("code", item_id),
        render_confidence(number_of(item, "confidence")),
        tag("span", humanize(basis), class_="badge") if basis else None,
        tag("span", ", ".join(refs), class_="refs", title="spans of the source") if refs else None,
        class_="facts",
    )


def _name_field(section: PackageSection) -> str:
    return section.identity[0] if section.identity else ""


def _value(section: PackageSection, name: str, value: Json, places: PageAnchors) -> Piece:
    field = section.find_field(name)
    if field and field.role is FieldRole.REFERENCE:
        names = [value] if isinstance(value, str) else cast(list[Json], value)
        return _join_with_commas(render_reference(str(it), places) for it in names)
    if isinstance(value, list):
        return tag(
            "ol" if field and field.ordered else "ul", (tag("li", render_value(it)) for it in value)
        )
    return render_value(value)


def render_value(value: Json) -> Piece:
    """Any value of a package. Objects become lists of their fields."""
    if isinstance(value, dict):
        shown = ((humanize(key), it) for key, it in value.items() if it not in ("", [], None))
        return _join_with_commas(
            join_html(tag("i", key), " ", render_value(it)) for key, it in shown
        )
    if isinstance(value, list):
        return _join_with_commas(render_value(it) for it in value)
    return "yes" if value is True else "no" if value is False else value


def _join_with_commas(pieces: Iterable[Piece]) -> list[Piece]:
    found: list[Piece] = []
    for it in pieces:
        found += [it] if not found else [", ", it]
    return found
