"""Inputs and outputs of the four tools, as in the reference."""

from typing import Any

from pydantic import ConfigDict, Field

from pecia.kernel.tool.model import Input, Output

CASCADE = Field(default=None, max_length=200, description="Which cascade, where there are several.")
CONCEPT = Field(max_length=2000, description="The concept, such as `decisions/primary-db`.")


class ConceptSearch(Input):
    query: str = Field(max_length=2000, description="Lead with the most distinctive words.")
    limit: int = Field(default=10, ge=1, le=100)
    cascade: str | None = CASCADE


class ReadConcept(Input):
    concept_id: str = CONCEPT
    layer: str | None = Field(
        default=None, max_length=200, description="Read this one layer as it is written, unmerged."
    )
    cascade: str | None = CASCADE


class ListConcepts(Input):
    type: str | None = Field(default=None, max_length=200, description="Only this resolved type.")
    limit: int | None = Field(default=None, ge=1, le=10_000, description="Unset: all.")
    cursor: str | None = Field(default=None, max_length=2000, description="From `next_cursor`.")
    cascade: str | None = CASCADE


class GetLinks(Input):
    concept_id: str = CONCEPT
    cascade: str | None = CASCADE


class CascadeOutput(Output):
    """An output whose optional fields are present only with a value."""

    model_config = ConfigDict(frozen=True, extra="allow")


class ConceptHit(Output):
    id: str
    title: str | None
    score: float
    layers: list[str]
    snippet: str


class ConceptSearchOut(CascadeOutput):
    results: list[ConceptHit]


class ContributorOut(CascadeOutput):
    layer: str
    level: int
    updated: str | None


class ConceptOut(CascadeOutput):
    """The resolved concept; with `layer`, that layer's own: raw, without provenance."""

    id: str
    contributors: list[ContributorOut] | None = None
    layer: str | None = None
    raw: bool | None = None
    frontmatter: dict[str, Any]
    frontmatterProvenance: dict[str, str] | None = None
    sections: list[dict[str, Any]]
    markdown: str | None = None


class ConceptListItem(Output):
    id: str
    type: str | None
    title: str | None
    layers: list[str]


class ConceptListOut(CascadeOutput):
    concepts: list[ConceptListItem]


class LinkSource(Output):
    id: str
    contributors: list[ContributorOut]


class OutgoingLink(CascadeOutput):
    raw: str
    target: str
    id: str | None
    layers: list[str]


class IncomingLink(CascadeOutput):
    id: str
    layer: str
    raw: str


class ConceptLinksOut(CascadeOutput):
    source: LinkSource
    outgoing: list[OutgoingLink]
    incoming: list[IncomingLink]
