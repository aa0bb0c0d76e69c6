"""Renders a whole package: cover, contents, sections, traces and the source.

Pure. Every text of the package goes through `tag`, which escapes it.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from pecia.features.ckf.package.field import PackageSection, SectionKind
from pecia.features.ckf.package.fields import METADATA, SECTIONS, TRACEABILITY
from pecia.features.ckf.package.model import NO_DATE, Item, Package, text_of
from pecia.features.ckf.package.quality.inspect import has_content
from pecia.features.ckf.pages.html import Html, Piece, tag
from pecia.features.ckf.pages.views.inspection import render_inspection
from pecia.features.ckf.pages.views.item import (
    PageAnchors,
    humanize,
    render_fields,
    render_item,
    render_quotation,
    render_reference,
    render_value,
)
from pecia.features.ckf.pages.views.pagination import (
    OVERVIEW,
    ItemPage,
    MakePageLink,
    PackagePortion,
    PackageWindow,
    render_page_button,
    render_pager,
)
from pecia.features.ckf.pages.views.source import QuotedSource, render_source
from pecia.kernel.errors import Json

COVER_FIELDS = (
    "source_author",
    "source_type",
    "domain",
    "language",
    "created_at",
    "compression_level",
)
# A date of a package has a time; midnight means that only the day is known.
MIDNIGHT = "T00:00:00Z"


@dataclass(frozen=True, slots=True)
class PackagePage:
    """A package and the page around it. `actions` are downloads and the like."""

    package: Package
    source: str | None = None
    title: str = ""
    about: Piece = None
    actions: Piece = None
    stale: tuple[str, ...] = ()
    portion: PackagePortion = OVERVIEW
    lead: MakePageLink = render_page_button


def render_package(shown: PackagePage) -> Html:
    package = shown.package
    window = PackageWindow(package, shown.portion)
    runs = {it.key: window.run(it) for it in window.sections()}
    ids = frozenset(text_of(it, "id") for run in runs.values() for it in run.items)
    source = QuotedSource(package, shown.source, ids) if shown.source else None
    places = PageAnchors(ids, source.anchor if source else lambda _: None)
    is_overview = not shown.portion.section
    return tag(
        "div",
        _cover(shown),
        _contents(package, has_source=source is not None) if is_overview else _back(shown.lead),
        tag(
            "div",
            render_inspection(package, source, ids) if is_overview else None,
            (_section(it, shown, runs[it.key], places) for it in window.sections()),
            _header(package, places) if is_overview else None,
            class_="sections",
        ),
        _source(source),
        class_="package with-source" if source else "package",
    )


def _back(lead: MakePageLink) -> Html:
    return tag("nav", lead("The whole package", ""), class_="contents", aria_label="Contents")


def _cover(shown: PackagePage) -> Html:
    metadata = shown.package.metadata
    values = ((it, text_of(metadata, it)) for it in COVER_FIELDS)
    facts = [(name, it) for name, it in values if it and it != NO_DATE]
    return tag(
        "header",
        tag("h1", shown.title or text_of(metadata, "source_title") or "A package"),
        tag("p", shown.about, class_="about") if shown.about is not None else None,
        _staleness(shown.stale),
        tag(
            "dl",
            (_pair(humanize(key), it.removesuffix(MIDNIGHT)) for key, it in facts),
            class_="cover",
        ),
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


def _section(
    section: PackageSection, shown: PackagePage, run: ItemPage, places: PageAnchors
) -> Html | None:
    value = shown.package.body.get(section.key)
    if not has_content(value) and not shown.portion.section:
        return None
    return tag(
        "section",
        tag("h2", tag("small", f"{section.number} "), _title(section)),
        _inside(section, value, run, places),
        render_pager(run, section, shown.lead),
        id=f"section-{section.key}",
    )


def _inside(section: PackageSection, value: Json, run: ItemPage, places: PageAnchors) -> Piece:
    if section is TRACEABILITY and run.total:
        return _traces(run.items, places)
    if section.kind is SectionKind.OBJECT and isinstance(value, dict):
        return render_fields(section, value, places)
    if run.total:
        cards = [render_item(section, it, places) for it in run.items]
        return cards or tag("p", "There is no such page.")
    # A section of the wrong kind is shown as it is: the report says what is wrong with it.
    return tag("p", render_value(value)) if value else tag("p", "This section is empty.")


def _traces(rows: list[Item], places: PageAnchors) -> Html:
    heads = tag("tr", (tag("th", it, scope="col") for it in ("Item", "Place", "Basis", "Words")))
    table = tag("table", tag("thead", heads), tag("tbody", (_trace(it, places) for it in rows)))
    return tag("div", table, class_="wide")


def _trace(row: Item, places: PageAnchors) -> Html:
    cells: Iterator[Piece] = iter(
        (
            render_reference(text_of(row, "extracted_item_id"), places),
            tag("code", text_of(row, "source_location")),
            humanize(text_of(row, "extraction_type")),
            render_quotation(text_of(row, "source_excerpt"), places),
        )
    )
    return tag("tr", (tag("td", it) for it in cells))


def _header(package: Package, places: PageAnchors) -> Html:
    fields = {key: it for key, it in package.metadata.items() if key != "source_manifest"}
    inside = render_fields(METADATA, fields, places)
    return tag("section", tag("h2", tag("small", "0 "), "Header"), inside, id="header")


def _source(source: QuotedSource | None) -> Html | None:
    if source is None:
        return None
    note = tag("p", "Marked: words that an item quotes. A mark leads to its item.", class_="note")
    return tag(
        "aside", tag("h2", "Source"), note, render_source(source), id="source", class_="beside"
    )


def _title(section: PackageSection) -> str:
    return section.title.capitalize()
