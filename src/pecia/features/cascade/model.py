"""Data types of a cascade. Pure: no file, no clock, no store."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pecia.kernel.errors import Json

FULL = "full"
"""The frontmatter `override` that cuts off every layer below."""

NONE = "none"
"""The heading's `override` that hides a section."""


@dataclass(frozen=True, slots=True)
class DocumentDate:
    """A document's date as written, and the key it came from; both None without one."""

    value: str | None = None
    source: str | None = None


@dataclass(frozen=True, slots=True)
class ConceptSection:
    """A heading and what follows it up to the next one; text before the first has no heading.

    `heading` is the line as it is written, `clean` the same with its anchor and without the other
    attributes. `slug` is made of the words alone.
    """

    key: str
    heading: str | None
    clean: str | None
    level: int
    lines: tuple[str, ...]
    updated: str | None = None
    override: str | None = None
    slug: str = ""
    anchored: bool = False

    @property
    def content(self) -> str:
        return "\n".join(self.lines).strip()

    @property
    def is_tombstone(self) -> bool:
        return self.override == NONE


@dataclass(frozen=True, slots=True)
class ConceptDocument:
    """One concept as one layer holds it. `sections` are parsed from `text` lazily.

    `fault` is an error in its frontmatter that did not prevent reading it. `ready` are the sections
    of a document that was not parsed from text; `is_plain` marks a page without frontmatter, whose
    sections are its second-level headings. `start` is where the body begins.
    """

    id: str
    path: str
    text: str
    frontmatter: Mapping[str, Json]
    dated: DocumentDate = DocumentDate()
    ready: tuple[ConceptSection, ...] | None = None
    is_plain: bool = False
    start: int = 0
    fault: "DocumentFault | None" = None


@dataclass(frozen=True, slots=True)
class DocumentFault:
    """An error in a document that is used nevertheless."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class LayerProblem:
    """A file of a layer that could not be read, or not fully, with the reason."""

    layer: str
    path: str
    code: str
    message: str
    id: str | None = None


@dataclass(frozen=True, slots=True)
class LayerRank:
    """A layer's name, its level, and its place in the manifest, which breaks the last tie."""

    layer: str
    level: int
    position: int = 0


@dataclass(frozen=True, slots=True)
class Contribution:
    """One layer's version of a concept."""

    rank: LayerRank
    document: ConceptDocument

    @property
    def layer(self) -> str:
        return self.rank.layer


@dataclass(frozen=True, slots=True)
class Dissent:
    """Another layer's version of a section that lost."""

    layer: str
    updated: str | None
    content: str


@dataclass(frozen=True, slots=True)
class EffectiveSection:
    """The winning section, and its dissent."""

    section: ConceptSection
    key: str
    layer: str
    updated: str | None
    conflicts: tuple[Dissent, ...] = ()
    fresher_dissent: bool = False

    @property
    def suppressed(self) -> bool:
        return self.section.is_tombstone

    @property
    def content(self) -> str:
        return "" if self.suppressed else self.section.content


@dataclass(frozen=True, slots=True)
class KeyConflict:
    """A frontmatter key that layers set to different values, highest layer first."""

    key: str
    values: tuple[tuple[Contribution, Json], ...]


@dataclass(frozen=True, slots=True)
class EffectiveConcept:
    """A concept as resolved by the whole cascade."""

    id: str
    contributors: tuple[Contribution, ...]
    frontmatter: Mapping[str, Json]
    provenance: Mapping[str, str]
    sections: tuple[EffectiveSection, ...]
    key_conflicts: tuple[KeyConflict, ...] = field(default=())

    @property
    def layers(self) -> list[str]:
        return [it.layer for it in self.contributors]
