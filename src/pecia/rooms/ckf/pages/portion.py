"""Which part of a package a page shows: a small one whole, of a large one a part. Pure.

The overview of a large package has the beginning of every section; every other page has a run of
items of one section. Nothing is left out without a way to it.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from pecia.kernel.errors import InvalidFormat
from pecia.rooms.ckf.package.field import Kind, Section
from pecia.rooms.ckf.package.fields import SECTIONS
from pecia.rooms.ckf.package.model import Item, Package
from pecia.rooms.ckf.pages.html import Html, Piece, joined, tag

# A page with more items than this is slow to make and slower to lay out.
LARGE = 600
FIRST = 20
AT_ONCE = 200
# The form that a page is made from again; its buttons stand elsewhere.
FORM = "again"

Lead: TypeAlias = Callable[[str, str], Html]
"""Makes a control from its words and the part that it leads to; an empty part is the overview."""


@dataclass(frozen=True, slots=True)
class Portion:
    """The overview, or one page of one section, counted from 1."""

    section: str = ""
    page: int = 1


OVERVIEW = Portion()


@dataclass(frozen=True, slots=True)
class Run:
    """Items that a page shows of a section, and how many there are in all."""

    items: list[Item]
    first: int
    total: int

    @property
    def is_whole(self) -> bool:
        return len(self.items) == self.total


def asked_portion(value: str) -> Portion:
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
    return Portion(found[1], int(found[2]))


class Window:
    """A package through one portion."""

    def __init__(self, package: Package, portion: Portion) -> None:
        self.package = package
        self.portion = portion
        self.is_large = sum(1 for _ in package.every_item()) > LARGE

    def sections(self) -> tuple[Section, ...]:
        if self.portion.section:
            return tuple(it for it in SECTIONS if it.key == self.portion.section)
        return SECTIONS

    def run(self, section: Section) -> Run:
        found = self.package.items(section.key)
        if self.portion.section:
            first = (self.portion.page - 1) * AT_ONCE
            return Run(found[first : first + AT_ONCE], first, len(found))
        return Run(found[:FIRST] if self.is_large else found, 0, len(found))


def more(run: Run, section: Section, lead: Lead) -> Html | None:
    """What leads from an overview to the whole section, or from page to page of one."""
    if run.is_whole:
        return None
    pages = -(-run.total // AT_ONCE)
    if len(run.items) == FIRST and not run.first:
        told = f"The first {FIRST} of {run.total:,} are shown. "
        return tag("p", told, lead(f"All {run.total:,}", f"{section.key}.1"), class_="note")
    page = run.first // AT_ONCE + 1
    last = run.first + len(run.items)
    told = f"{run.first + 1:,} to {last:,} of {run.total:,}. "
    steps: list[Piece] = [lead("Previous", f"{section.key}.{page - 1}")] if page > 1 else []
    if page < pages:
        steps += [" ", lead("Next", f"{section.key}.{page + 1}")]
    return tag("p", told, joined(steps), class_="note")


def by_button(words: str, part: str) -> Html:
    """For what a form on the page holds: the form is sent once more."""
    return tag("button", words, name="part", value=part, form=FORM, type="submit")


def by_link(address: str) -> Lead:
    """For what an address names. It has a query already."""
    return partial(_link, address)


def _link(address: str, words: str, part: str) -> Html:
    return tag("a", words, href=f"{address}&part={part}" if part else address, class_="button")


_PART = re.compile(r"([a-z_]{1,40})\.([1-9]\d{0,5})")
_PAGED = frozenset(it.key for it in SECTIONS if it.kind is Kind.ARRAY)
