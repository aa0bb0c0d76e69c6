"""A whole package as people read it: cover, contents, sections, traces and the source beside them.

Pure. Every text of the package goes through `tag`, which escapes it.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from pecia.kernel.errors import Json
from pecia.rooms.ckf.package.field import Kind, Section
from pecia.rooms.ckf.package.fields import METADATA, SECTIONS, TRACEABILITY
from pecia.rooms.ckf.package.inspect import has_content
from pecia.rooms.ckf.package.model import NO_DATE, Item, Package, text_of
from pecia.rooms.ckf.pages.html import Html, Piece, tag
from pecia.rooms.ckf.pages.inspection_view import inspection_view
from pecia.rooms.ckf.pages.item_view import (
    Places,
    field_list,
    item_card,
    plain,
    quotation,
    reference,
    words,
)
from pecia.rooms.ckf.pages.portion import OVERVIEW, Lead, Portion, Run, Window, by_button, more
from pecia.rooms.ckf.pages.source_view import QuotedSource, source_view

COVER = ("source_author", "source_type", "domain", "language", "created_at", "compression_level")


@dataclass(frozen=True, slots=True)
class Shown:
    """A package, and what the page says around it. `actions` are downloads and the like."""

    package: Package
    source: str | None = None
    title: str = ""
    about: Piece = None
    actions: Piece = None
    stale: tuple[str, ...] = ()
    portion: Portion = OVERVIEW
    lead: Lead = by_button


def package_view(shown: Shown) -> Html:
    package = shown.package
    window = Window(package, shown.portion)
    runs = {it.key: window.run(it) for it in window.sections()}
    ids = frozenset(text_of(it, "id") for run in runs.values() for it in run.items)
    source = QuotedSource(package, shown.source, ids) if shown.source else None
    places = Places(ids, source.anchor if source else lambda _: None)
    is_overview = not shown.portion.section
    return tag(
        "div",
        _cover(shown),
        _contents(package, has_source=source is not None) if is_overview else _back(shown.lead),
        tag(
            "div",
            inspection_view(package, source, ids) if is_overview else None,
            (_section(it, shown, runs[it.key], places) for it in window.sections()),
            _header(package, places) if is_overview else None,
            class_="sections",
        ),
        _source(source),
        class_="package with-source" if source else "package",
    )


def _back(lead: Lead) -> Html:
    return tag("nav", lead("The whole package", ""), class_="contents", aria_label="Contents")


def _cover(shown: Shown) -> Html:
    metadata = shown.package.metadata
    said = ((it, text_of(metadata, it)) for it in COVER)
    facts = [(name, it) for name, it in said if it and it != NO_DATE]
    return tag(
        "header",
        tag("h1", shown.title or text_of(metadata, "source_title") or "A package"),
        tag("p", shown.about, class_="about") if shown.about is not None else None,
        _staleness(shown.stale),
        tag("dl", (_pair(words(key), it) for key, it in facts), class_="cover"),
        tag("div", shown.actions, class_="actions") if shown.actions is not None else None,
        class_="title",
    )


def _pair(name: str, value: str) -> Html:
    return tag("div", tag("dt", name), tag("dd", value))


def _staleness(stale: tuple[str, ...]) -> Html | None:
    if not stale:
        return None
    names = ", ".join(stale)
    return tag(
        "p",
        tag("strong", "stale"),
        f" Changed since this was compiled: {names}",
        class_="complaint",
    )


def _contents(package: Package, *, has_source: bool) -> Html:
    links = [("inspection", "Inspection report", None)]
    links += [
        (f"section-{it.key}", _title(it), len(package.items(it.key)) or None)
        for it in SECTIONS
        if has_content(package.body.get(it.key))
    ]
    links += [("header", "Header", None)]
    if has_source:
        links += [("source", "Source", None)]
    entries = (
        tag("li", tag("a", name, href=f"#{anchor}"), tag("small", f" {count}") if count else None)
        for anchor, name, count in links
    )
    return tag("nav", tag("ul", entries), class_="contents", aria_label="Contents")


def _section(section: Section, shown: Shown, run: Run, places: Places) -> Html | None:
    value = shown.package.body.get(section.key)
    if not has_content(value) and not shown.portion.section:
        return None
    return tag(
        "section",
        tag("h2", tag("small", f"{section.number} "), _title(section)),
        _inside(section, value, run, places),
        more(run, section, shown.lead),
        id=f"section-{section.key}",
    )


def _inside(section: Section, value: Json, run: Run, places: Places) -> Piece:
    if section is TRACEABILITY and run.total:
        return _traces(run.items, places)
    if section.kind is Kind.OBJECT and isinstance(value, dict):
        return field_list(section, value, places)
    if run.total:
        cards = [item_card(section, it, places) for it in run.items]
        return cards or tag("p", "There is no such page.")
    # A section of the wrong kind is shown as it is: the report says what is wrong with it.
    return tag("p", plain(value)) if value else tag("p", "This section is empty.")


def _traces(rows: list[Item], places: Places) -> Html:
    heads = tag("tr", (tag("th", it, scope="col") for it in ("Item", "Place", "Basis", "Words")))
    table = tag("table", tag("thead", heads), tag("tbody", (_trace(it, places) for it in rows)))
    return tag("div", table, class_="wide")


def _trace(row: Item, places: Places) -> Html:
    cells: Iterator[Piece] = iter(
        (
            reference(text_of(row, "extracted_item_id"), places),
            tag("code", text_of(row, "source_location")),
            words(text_of(row, "extraction_type")),
            quotation(text_of(row, "source_excerpt"), places),
        )
    )
    return tag("tr", (tag("td", it) for it in cells))


def _header(package: Package, places: Places) -> Html:
    fields = {key: it for key, it in package.metadata.items() if key != "source_manifest"}
    inside = field_list(METADATA, fields, places)
    return tag("section", tag("h2", tag("small", "0 "), "Header"), inside, id="header")


def _source(source: QuotedSource | None) -> Html | None:
    if source is None:
        return None
    note = tag("p", "Marked: words that an item quotes. A mark leads to its item.", class_="note")
    return tag(
        "aside", tag("h2", "Source"), note, source_view(source), id="source", class_="beside"
    )


def _title(section: Section) -> str:
    return section.title.capitalize()
