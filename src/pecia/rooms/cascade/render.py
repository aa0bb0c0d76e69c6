"""The effective concept as callers get it: a plain value, and Markdown with dissent in it. Pure."""

from collections.abc import Mapping

from pecia.kernel.errors import Json
from pecia.kernel.text.yaml_write import dump_yaml
from pecia.rooms.cascade.model import (
    Contribution,
    Dissent,
    Document,
    Effective,
    EffectiveSection,
    KeyConflict,
    Section,
)
from pecia.rooms.cascade.okf.document import sections_of

STATED = ("updated",)
"""Where a date stands that a person wrote as the document's own."""


def effective_value(concept: Effective) -> dict[str, Json]:
    """The resolved shape. What is optional is there only when it says something."""
    value: dict[str, Json] = {
        "id": concept.id,
        "contributors": contributors_value(concept),
        "frontmatter": dict(concept.frontmatter),
        "frontmatterProvenance": dict(concept.provenance),
        "sections": [_section_value(it) for it in concept.sections],
        "markdown": markdown(concept),
    }
    if concept.key_conflicts:
        value["frontmatterConflicts"] = [_key_conflict(it) for it in concept.key_conflicts]
    return value


def raw_value(layer: str, document: Document) -> dict[str, Json]:
    """One layer's concept as it is written, with nothing merged."""
    return {
        "id": document.id,
        "layer": layer,
        "raw": True,
        "frontmatter": dict(document.frontmatter),
        "sections": [_raw_section(it) for it in sections_of(document)],
    }


def contributors_value(concept: Effective) -> list[Json]:
    """Every layer that defines the concept, the strongest first."""
    return [contributor_value(it) for it in concept.contributors]


def contributor_value(it: Contribution) -> dict[str, Json]:
    """A layer, its level and its date; a date that is not the document's own says whose it is."""
    dated = it.document.dated
    value: dict[str, Json] = {
        "layer": it.layer,
        "level": it.rank.level,
        "updated": dated.value,
    }
    if dated.source not in (None, *STATED):
        value["updatedSource"] = dated.source
    return value


def markdown(concept: Effective) -> str:
    """The effective concept as an OKF document: hidden sections left out, dissent in quotes."""
    visible = [_section_markdown(it) for it in concept.sections if not it.suppressed]
    head = frontmatter_block(concept.frontmatter)
    return "\n\n".join([head, *(it for it in visible if it)])


def frontmatter_block(frontmatter: Mapping[str, Json]) -> str:
    """The block at the head, without a line end after it."""
    return f"---\n{dump_yaml(dict(frontmatter)) if frontmatter else ''}---"


def _section_value(it: EffectiveSection) -> dict[str, Json]:
    value: dict[str, Json] = {
        "key": it.key,
        "heading": it.section.clean,
        "content": it.content,
        "sourceLayer": it.layer,
        "sourceUpdated": it.updated,
    }
    if it.suppressed:
        value["suppressed"] = True
    if it.conflicts:
        value["conflicts"] = [_dissent_value(dissent) for dissent in it.conflicts]
    if it.fresher_dissent:
        value["fresherDissent"] = True
    return value


def _dissent_value(it: Dissent) -> dict[str, Json]:
    return {"layer": it.layer, "updated": it.updated, "content": it.content}


def _key_conflict(it: KeyConflict) -> dict[str, Json]:
    values: list[Json] = [
        {**contributor_value(contribution), "value": value} for contribution, value in it.values
    ]
    return {"key": it.key, "winner": values[0], "contributions": values}


def _raw_section(it: Section) -> dict[str, Json]:
    return {
        "key": it.key,
        "heading": it.heading,
        "level": it.level,
        "lines": list(it.lines),
        "updated": it.updated,
        "override": it.override,
    }


def _section_markdown(it: EffectiveSection) -> str:
    quotes = "\n".join(_quote(dissent) for dissent in it.conflicts)
    parts = (it.section.heading, it.content, quotes)
    return "\n\n".join(part for part in parts if part)


def _quote(it: Dissent) -> str:
    """One line where one line holds it: a joined table or code block would be broken."""
    says = f"> ⚠ {it.layer} disagrees (updated {it.updated or '?'}):"
    if "\n" not in it.content:
        return f"{says} {it.content}"
    return "\n".join([says, *(f"> {line}".rstrip() for line in it.content.split("\n"))])
