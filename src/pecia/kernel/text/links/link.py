"""A link as it is written: its kind, its places and what it says. No opinion on what it means."""

from dataclasses import dataclass
from enum import StrEnum

from pecia.kernel.text.span import Span


class LinkKind(StrEnum):
    INLINE = "inline"
    REFERENCE = "reference"
    AUTO = "auto"
    WIKI = "wiki"
    HTML = "html"


@dataclass(frozen=True, slots=True)
class LinkTarget:
    """Where a link leads, as its writer put it, Markdown's escapes undone and percent signs not.

    `tail` is what follows the path: query and fragment. `path_span` is what to rewrite.
    """

    path: str
    anchor: str | None
    span: Span
    path_span: Span
    tail: str = ""

    @property
    def address(self) -> str:
        return self.path + self.tail


@dataclass(frozen=True, slots=True)
class Link:
    """`embed` is an image or a `![[file]]`. A reference's target lies in its definition, and the
    span of an HTML link is its opening tag."""

    kind: LinkKind
    embed: bool
    span: Span
    target: LinkTarget
    text: str
    title: str | None = None


@dataclass(frozen=True, slots=True)
class LinkDefinition:
    """A line `[label]: target "title"`."""

    label: str
    span: Span
    target: LinkTarget
    title: str | None
