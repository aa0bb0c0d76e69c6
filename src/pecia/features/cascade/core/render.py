"""The effective concept as JSON, and as Markdown with dissent in quotes. Pure."""

from collections.abc import Mapping

from pecia.features.cascade.model import (
    ConceptDocument,
    ConceptSection,
    Contribution,
    Dissent,
    EffectiveConcept,
    EffectiveSection,
    KeyConflict,
)
from pecia.features.cascade.okf.document import sections_of
from pecia.kernel.errors import Json
from pecia.kernel.text.yaml.writer import dump_yaml

OWN_DATE_SOURCES = ("updated",)
"""The date key written by the document's author."""


def effective_json(concept: EffectiveConcept) -> dict[str, Json]:
    """The resolved shape. Optional keys are present only with a value."""
    value: dict[str, Json] = {
        "id": concept.id,
        "contributors": contributors_json(concept),
        "frontmatter": dict(concept.frontmatter),
        "frontmatterProvenance": dict(concept.provenance),
        "sections": [_section_json(it) for it in concept.sections],
        "markdown": render_markdown(concept),
    }
    if concept.key_conflicts:
        value["frontmatterConflicts"] = [_key_conflict_json(it) for it in concept.key_conflicts]
    return value


def raw_json(layer: str, document: ConceptDocument) -> dict[str, Json]:
    """One layer's concept as it is written, with nothing merged."""
    return {
        "id": document.id,
        "layer": layer,
        "raw": True,
        "frontmatter": dict(document.frontmatter),
        "sections": [_raw_section_json(it) for it in sections_of(document)],
    }


def contributors_json(concept: EffectiveConcept) -> list[Json]:
    """Every layer that defines the concept, the strongest first."""
    return [contributor_json(it) for it in concept.contributors]


def contributor_json(it: Contribution) -> dict[str, Json]:
    """A layer, its level and its date; a date that is not the document's own names its origin."""
    dated = it.document.dated
    value: dict[str, Json] = {
        "layer": it.layer,
        "level": it.rank.level,
        "updated": dated.value,
    }
    if dated.source not in (None, *OWN_DATE_SOURCES):
        value["updatedSource"] = dated.source
    return value


def render_markdown(concept: EffectiveConcept) -> str:
    """The effective concept as an OKF document: hidden sections left out, dissent in quotes."""
    visible = [_section_markdown(it) for it in concept.sections if not it.suppressed]
    head = render_frontmatter(concept.frontmatter)
    return "\n\n".join([head, *(it for it in visible if it)])


def render_frontmatter(frontmatter: Mapping[str, Json]) -> str:
    """The frontmatter block, without a trailing newline."""
    return f"---\n{dump_yaml(dict(frontmatter)) if frontmatter else ''}---"


def _section_json(it: EffectiveSection) -> dict[str, Json]:
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
        value["conflicts"] = [_dissent_json(dissent) for dissent in it.conflicts]
    if it.fresher_dissent:
        value["fresherDissent"] = True
    return value


def _dissent_json(it: Dissent) -> dict[str, Json]:
    return {"layer": it.layer, "updated": it.updated, "content": it.content}


def _key_conflict_json(it: KeyConflict) -> dict[str, Json]:
    values: list[Json] = [
        {**contributor_json(contribution), "value": value} for contribution, value in it.values
    ]
    return {"key": it.key, "winner": values[0], "contributions": values}


def _raw_section_json(it: ConceptSection) -> dict[str, Json]:
    return {
        "key": it.key,
        "heading": it.heading,
        "level": it.level,
        "lines": list(it.lines),
        "updated": it.updated,
        "override": it.override,
    }


def _section_markdown(it: EffectiveSection) -> str:
    quotes = "\n".join(_render_dissent(dissent) for dissent in it.conflicts)
    parts = (it.section.heading, it.content, quotes)
    return "\n\n".join(part for part in parts if part)


def _render_dissent(it: Dissent) -> str:
    """On one line if it fits: joining a table or code block would break it."""
    says = f"> ⚠ {it.layer} disagrees (updated {it.updated or '?'}):"
    if "\n" not in it.content:
        return f"{says} {it.content}"
    return "\n".join([says, *(f"> {line}".rstrip() for line in it.content.split("\n"))])
