"""A link as it is written: its kind, its places and what it says. No opinion on what it means.

Named tuples: a document has a hundred thousand links, and a frozen dataclass takes three times as
long to make.
"""

from enum import StrEnum
from typing import NamedTuple

from pecia.kernel.text.span import Span


class LinkKind(StrEnum):
    INLINE = "inline"
    REFERENCE = "reference"
    AUTO = "auto"
    WIKI = "wiki"
    HTML = "html"


class LinkTarget(NamedTuple):
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


class Link(NamedTuple):
    """`embed` is an image or a `![[file]]`. A reference's target lies in its definition, and the
    span of an HTML link is its opening tag."""

    kind: LinkKind
    embed: bool
    span: Span
    target: LinkTarget
    text: str
    title: str | None = None


class LinkDefinition(NamedTuple):
    """A line `[label]: target "title"`."""

    label: str
    span: Span
    target: LinkTarget
    title: str | None
