"""A document cut at its headings: an outline whose pieces, joined, are the document. Pure.

Only headings outside quotes, lists, code and HTML start a section, whatever their level. What the
sections mean to a reader (a merge, a tombstone, a table of contents) is not decided here.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pecia.kernel.text.markdown.blocks import BlockKind, MarkdownBlock, scan_blocks
from pecia.kernel.text.markdown.frontmatter import find_body_start
from pecia.kernel.text.markdown.heading import Heading, read_heading
from pecia.kernel.text.slug import SlugCounter, github_slug, name_slug
from pecia.kernel.text.span import Span


@dataclass(frozen=True, slots=True)
class SectionRules:
    """Whether underlined (setext) headings start a section, and how anchors are made of words."""

    underlined: bool = True
    slug: Callable[[str], str] = github_slug


@dataclass(frozen=True, slots=True)
class MarkdownSection:
    """A heading and what follows it up to the next one; text before the first has no heading.

    `key` is the explicit anchor in lower case, else the words in lower case; `slug` is made of the
    words alone. No two sections of a document share either. `path` holds the headings that this
    one stands under, and itself last.
    """

    heading: Heading | None
    key: str
    slug: str
    path: tuple[str, ...]
    span: Span
    body: Span

    @property
    def anchor(self) -> str:
        """What a link to this section carries after the hash."""
        return (self.heading and self.heading.anchor) or self.slug


@dataclass(frozen=True, slots=True)
class MarkdownOutline:
    """`head` is the byte order mark and the frontmatter; the sections follow without a gap."""

    head: Span
    sections: tuple[MarkdownSection, ...]

    def find(self, anchor: str) -> MarkdownSection | None:
        """The section that `#anchor` means: an explicit anchor, else a slug, else the words."""
        wanted = anchor.strip().lower()
        tests: tuple[Callable[[MarkdownSection], bool], ...] = (
            lambda it: it.anchor.lower() == wanted,
            lambda it: it.key == " ".join(wanted.split()),
            lambda it: it.slug == wanted,
            lambda it: name_slug(it.slug) == name_slug(wanted),
        )
        headed = [it for it in self.sections if it.heading]
        return next((it for test in tests for it in headed if test(it)), None)


DEFAULT_RULES = SectionRules()


def read_outline(text: str, rules: SectionRules = DEFAULT_RULES) -> MarkdownOutline:
    """The outline of a document, frontmatter apart."""
    start = find_body_start(text)
    return outline_blocks(text, scan_blocks(text, start), rules)


def outline_blocks(
    text: str, blocks: Sequence[MarkdownBlock], rules: SectionRules = DEFAULT_RULES
) -> MarkdownOutline:
    """The outline of blocks scanned before, which run to the end of the text."""
    start = blocks[0].span.start if blocks else len(text)
    cuts = [it for it in blocks if _starts_section(it, rules)]
    first = cuts[0].span.start if cuts else len(text)
    maker = _SectionMaker(text, rules)
    sections = [maker.make(None, Span(start, first))] if first > start else []
    ends = [it.span.start for it in cuts[1:]] + [len(text)]
    for cut, end in zip(cuts, ends, strict=False):
        sections.append(maker.make(cut, Span(cut.span.start, end)))
    return MarkdownOutline(Span(0, start), tuple(sections))


class _SectionMaker:
    def __init__(self, text: str, rules: SectionRules) -> None:
        self.text = text
        self.rules = rules
        self.keys = SlugCounter()
        # Text before the first heading has no words, and a heading without words is not that.
        self.keys.deduplicate("")
        self.slugs = SlugCounter()
        self.above: list[tuple[int, str]] = []

    def make(self, block: MarkdownBlock | None, span: Span) -> MarkdownSection:
        if block is None:
            return MarkdownSection(None, "", "", (), span, span)
        source = block.span.of(self.text)
        heading = read_heading(source, block.level, underlined=block.underlined)
        while self.above and self.above[-1][0] >= heading.level:
            self.above.pop()
        self.above.append((heading.level, heading.plain))
        return MarkdownSection(
            heading,
            self.keys.deduplicate(_key(heading)),
            self.slugs.deduplicate(self.rules.slug(heading.plain)),
            tuple(words for _, words in self.above),
            span,
            Span(block.span.end, span.end),
        )


def _starts_section(block: MarkdownBlock, rules: SectionRules) -> bool:
    return block.kind is BlockKind.HEADING and (rules.underlined or not block.underlined)


def _key(heading: Heading) -> str:
    return " ".join((heading.anchor or heading.text).lower().split())
