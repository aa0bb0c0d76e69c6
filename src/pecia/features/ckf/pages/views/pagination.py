"""Pagination of large packages; a small one is shown whole. Pure.

The overview of a large package has the beginning of every section; every other page has a run of
items of one section. Nothing is left out without a way to it.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from pecia.features.ckf.package.field import PackageSection, SectionKind
from pecia.features.ckf.package.fields import SECTIONS
from pecia.features.ckf.package.model import Item, Package
from pecia.features.ckf.pages.html import Html, Piece, join_html, tag
from pecia.kernel.errors import InvalidFormat

# A page with more items than this is slow to make and slower to lay out.
LARGE_PACKAGE_ITEMS = 600
OVERVIEW_ITEMS = 20
PAGE_SIZE = 200
# The form that is submitted again for another page; its buttons are elsewhere.
FORM_ID = "again"

MakePageLink: TypeAlias = Callable[[str, str], Html]
"""Makes a control from a label and its target part; an empty part is the overview."""


@dataclass(frozen=True, slots=True)
class PackagePortion:
    """The overview, or one page of one section, counted from 1."""

    section: str = ""
    page: int = 1


OVERVIEW = PackagePortion()


@dataclass(frozen=True, slots=True)
class ItemPage:
    """Items that a page shows of a section, and how many there are in all."""

    items: list[Item]
    first: int
    total: int

    @property
    def is_whole(self) -> bool:
        return len(self.items) == self.total


def parse_portion(value: str) -> PackagePortion:
    """`decision_rules.2`, as the controls write it, or nothing for the overview."""
    if not value:
        return OVERVIEW
    found = _PART.fullmatch(value)
    if not found or found[1] not in _PAGED:
        raise InvalidFormat(
            f'Field "part" is a section and a page, such as "concepts.2"; got {value[:50]!r}',
            field="part",
            expected=f"one of {', '.join(sorted(_PAGED))}, a dot and a number",
            got=value[:50],
        )
    return PackagePortion(found[1], int(found[2]))


class PackageWindow:
    """A package through one portion."""

    def __init__(self, package: Package, portion: PackagePortion) -> None:
        self.package = package
        self.portion = portion
        self.is_large = sum(1 for _ in package.iter_items()) > LARGE_PACKAGE_ITEMS

    def sections(self) -> tuple[PackageSection, ...]:
        if self.portion.section:
            return tuple(it for it in SECTIONS if it.key == self.portion.section)
        return SECTIONS

    def run(self, section: PackageSection) -> ItemPage:
        found = self.package.items(section.key)
        if self.portion.section:
            first = (self.portion.page - 1) * PAGE_SIZE
            return ItemPage(found[first : first + PAGE_SIZE], first, len(found))
        return ItemPage(found[:OVERVIEW_ITEMS] if self.is_large else found, 0, len(found))


def render_pager(run: ItemPage, section: PackageSection, lead: MakePageLink) -> Html | None:
    """Links from an overview to the whole section, or between its pages."""
    if run.is_whole:
        return None
    pages = -(-run.total // PAGE_SIZE)
    if len(run.items) == OVERVIEW_ITEMS and not run.first:
        summary = f"The first {OVERVIEW_ITEMS} of {run.total:,} are shown. "
        return tag("p", summary, lead(f"All {run.total:,}", f"{section.key}.1"), class_="note")
    page = run.first // PAGE_SIZE + 1
    last = run.first + len(run.items)
    summary = f"{run.first + 1:,} to {last:,} of {run.total:,}. "
    steps: list[Piece] = [lead("Previous", f"{section.key}.{page - 1}")] if page > 1 else []
    if page < pages:
        steps += [" ", lead("Next", f"{section.key}.{page + 1}")]
    return tag("p", summary, join_html(steps), class_="note")


def render_page_button(words: str, part: str) -> Html:
    """For a form on the page, which is submitted again."""
    return tag("button", words, name="part", value=part, form=FORM_ID, type="submit")


def page_link_maker(address: str) -> MakePageLink:
    """For what an address names. It has a query already."""
    return partial(_link, address)


def _link(address: str, words: str, part: str) -> Html:
    return tag("a", words, href=f"{address}&part={part}" if part else address, class_="button")


_PART = re.compile(r"([a-z_]{1,40})\.([1-9]\d{0,5})")
_PAGED = frozenset(it.key for it in SECTIONS if it.kind is SectionKind.ARRAY)
