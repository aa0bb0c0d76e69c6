"""The merge: many layers, one concept, dissent kept. Pure: no store, no clock, no I/O.

The highest level wins; between equals the newer document, then the earlier in the manifest. A
tombstone wins like any other section, and suppresses conflicts: the layer that hid the section has
already settled them. The input order of the layers does not matter.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

from pecia.features.cascade.core.dates import age_rank, is_later
from pecia.features.cascade.model import (
    FULL,
    ConceptSection,
    Contribution,
    Dissent,
    EffectiveConcept,
    EffectiveSection,
    KeyConflict,
)
from pecia.features.cascade.okf.document import sections_of
from pecia.kernel.errors import Json

UNCONTESTED = frozenset({"updated", "override"})
"""Keys about the document itself: they are never conflicts."""


def resolve(concept: str, found: Iterable[Contribution]) -> EffectiveConcept:
    """The effective concept, merged from all contributions."""
    contributors = sort_contributions(found)
    active = cut_at_override(contributors)
    frontmatter, provenance = merge_frontmatter(active)
    return EffectiveConcept(
        concept,
        tuple(contributors),
        frontmatter,
        provenance,
        merge_sections(active),
        tuple(_key_conflicts(active)),
    )


def sort_contributions(found: Iterable[Contribution]) -> list[Contribution]:
    """Contributions, the strongest first."""
    return sorted(
        found,
        key=lambda it: (-it.rank.level, -age_rank(it.document.dated.value), it.rank.position),
    )


def cut_at_override(contributors: Sequence[Contribution]) -> Sequence[Contribution]:
    """The active contributions: down to the first `override: full`, inclusive."""
    for number, it in enumerate(contributors, start=1):
        if it.document.frontmatter.get("override") == FULL:
            return contributors[:number]
    return contributors


def merge_frontmatter(
    active: Sequence[Contribution],
) -> tuple[dict[str, Json], Mapping[str, str]]:
    """Every key with the value of the strongest layer that has it, and that layer."""
    values: dict[str, Json] = {}
    provenance: dict[str, str] = {}
    for it in reversed(active):
        for key, value in it.document.frontmatter.items():
            values[key] = value
            provenance[key] = it.layer
    return values, provenance


def merge_sections(active: Sequence[Contribution]) -> tuple[EffectiveSection, ...]:
    """Every section once, with its dissent; the hidden ones last."""
    read = [(it, sections_of(it.document)) for it in active]
    anchors = {it.key for _, sections in read for it in sections if it.anchored}
    rivals: dict[str, list[tuple[Contribution, ConceptSection]]] = {}
    for contribution, sections in read:
        own = {it.key for it in sections if it.anchored}
        for section in sections:
            key = _merge_key(section, anchors, own)
            rivals.setdefault(key, []).append((contribution, section))
    settled = [_resolve_section(key, found) for key, found in rivals.items()]
    visible = [it for it in settled if not it.suppressed]
    return (*visible, *(it for it in settled if it.suppressed))


def has_same_content(one: str, other: str) -> bool:
    """Whether two texts differ only in white space, line ends and bullet characters."""
    if one == other:
        return True
    # Cheap check first: normalization keeps the last word, where most differing texts differ.
    ends_alike = one.rsplit(None, 1)[-1:] == other.rsplit(None, 1)[-1:]
    return ends_alike and _normalize_text(one) == _normalize_text(other)


def _merge_key(section: ConceptSection, anchors: set[str], own: set[str]) -> str:
    """A heading's slug matches another layer's anchor, unless its own layer uses that anchor."""
    met = section.slug in anchors and section.slug not in own
    return section.slug if met and not section.anchored else section.key


def _resolve_section(
    key: str, rivals: Sequence[tuple[Contribution, ConceptSection]]
) -> EffectiveSection:
    winner, section = rivals[0]
    updated = _date(winner, section)
    if section.is_tombstone:
        return EffectiveSection(section, key, winner.layer, updated)
    dissent = tuple(
        Dissent(it.layer, _date(it, other), _section_text(other))
        for it, other in rivals[1:]
        if not has_same_content(section.content, _section_text(other))
    )
    fresher = any(is_later(it.updated, updated) for it in dissent)
    return EffectiveSection(section, key, winner.layer, updated, dissent, fresher)


def _section_text(section: ConceptSection) -> str:
    return "" if section.is_tombstone else section.content


def _date(contribution: Contribution, section: ConceptSection) -> str | None:
    return section.updated or contribution.document.dated.value


def _key_conflicts(active: Sequence[Contribution]) -> Iterable[KeyConflict]:
    held: dict[str, list[tuple[Contribution, Json]]] = {}
    for it in active:
        for key, value in it.document.frontmatter.items():
            held.setdefault(key, []).append((it, value))
    for key, values in held.items():
        if key not in UNCONTESTED and any(value != values[0][1] for _, value in values):
            yield KeyConflict(key, tuple(values))


def _normalize_text(text: str) -> str:
    unix = text.replace("\r\n", "\n").replace("\r", "\n")
    rows = [_BULLET.sub(r"\1- ", it.rstrip()) for it in unix.split("\n")]
    # A blank line between two list items is insignificant.
    listed = _LOOSE_LIST.sub(r"\1\n", "\n".join(rows))
    return _BLANK_RUN.sub("\n\n", listed).strip()


_BULLET = re.compile(r"^( {0,3})[*+-] ")
_LOOSE_LIST = re.compile(r"(?m)^( {0,3}- .*)\n\n+(?= {0,3}- )")
_BLANK_RUN = re.compile(r"\n{3,}")
