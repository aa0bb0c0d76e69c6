"""Metadata of a document: title, description, tags, aliases, links. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from pecia.kernel.errors import BadArgument, Json
from pecia.kernel.text.links.extract import (
    find_block_links,
    find_frontmatter_links,
    find_unused_definitions,
)
from pecia.kernel.text.links.html import find_html_links
from pecia.kernel.text.links.link import Link, LinkKind, LinkTarget
from pecia.kernel.text.markdown.blocks import BlockKind, MarkdownBlock, scan_blocks
from pecia.kernel.text.markdown.frontmatter import find_body_start, read_frontmatter
from pecia.kernel.text.markdown.heading import read_heading
from pecia.kernel.text.markdown.sections import outline_blocks
from pecia.kernel.text.slug import name_slug
from pecia.kernel.text.span import Span

SNIPPET_CONTEXT_CHARS = 60
MAX_LINE_CHARS = 200

KnownLinks: TypeAlias = dict[tuple[str | bool | None, ...], Link]


@dataclass(frozen=True, slots=True)
class LinkMention:
    """A link with its sentence and its text. `link` has neither places nor text: a document may
    have a hundred thousand, to few targets, and equal ones are one object.

    `relation` is what the link means: `- works_at [[MIT]]`, or the key in the frontmatter.
    """

    link: Link
    snippet: str
    text: str
    relation: str | None = None

    def __reduce__(self) -> tuple[type["LinkMention"], tuple[Link, str, str, str | None]]:
        # Compute workers send them; a frozen dataclass alone takes four times as long.
        return LinkMention, (self.link, self.snippet, self.text, self.relation)


@dataclass(frozen=True, slots=True)
class DocumentMetadata:
    """A document without its text. `problem` says why the frontmatter is invalid."""

    title: str | None = None
    heading: str | None = None
    description: str | None = None
    tags: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    frontmatter: Mapping[str, Json] = field(default_factory=dict[str, Json])
    problem: str = ""
    links: tuple[LinkMention, ...] = ()
    embeds: tuple[LinkMention, ...] = ()
    """Images, and `![[files]]`."""
    anchors: frozenset[str] = frozenset()
    """What a link may name behind `#`: slugs of headings, and block ids with their `^`."""
    unused_definitions: tuple[Link, ...] = ()
    """Reference definitions that no link uses."""

    def find_title(self, default: str | None = None) -> str | None:
        """The title in the frontmatter, else `default`, which a folder rule gives, else the first
        heading: the one rule for all tools, pages and the index."""
        return self.title or default or self.heading

    def display_title(self, name: str) -> str:
        """The title, else the name."""
        return self.find_title() or name

    @property
    def labels(self) -> tuple[str, ...]:
        """What a link may call it, beside its name."""
        named = (self.find_title(), *self.aliases)
        return tuple(it for it in named if it)


def parse_metadata(text: str) -> DocumentMetadata:
    """Parse the metadata. Invalid YAML frontmatter is ignored, with the reason in `problem`."""
    values, problem = _frontmatter(text)
    blocks = scan_blocks(text, find_body_start(text))
    written = find_block_links(text, blocks)
    every = [*written, *find_html_links(text, blocks)]
    known: KnownLinks = {}
    ahead = [_mention_ahead(text, it, known) for it in find_frontmatter_links(text)]
    return DocumentMetadata(
        title=_text(values.get("title")),
        heading=_first_heading(text, blocks),
        description=_text(values.get("description")),
        tags=_texts(values.get("tags")),
        aliases=_texts(values.get("aliases")),
        frontmatter=values,
        problem=problem,
        links=(*ahead, *(_mention(text, it, known) for it in every if not it.embed)),
        embeds=tuple(_mention(text, it, known) for it in every if it.embed),
        anchors=_anchors(text, blocks),
        unused_definitions=tuple(
            _target_alone(it, known) for it in find_unused_definitions(text, blocks, written)
        ),
    )


def extract_snippet(text: str, start: int, end: int) -> str:
    """The sentence around these characters; a long one is truncated with an ellipsis."""
    low, high = max(0, start - SNIPPET_CONTEXT_CHARS), min(len(text), end + SNIPPET_CONTEXT_CHARS)
    before = [it.end() for it in _SENTENCE_END.finditer(text, low, start)]
    after = _SENTENCE_END.search(text, end, high)
    left = before[-1] if before else low
    right = after.start() + (after[0] in ".?!") if after else high
    cut = text[left:right].strip()
    head = "…" if not before and low > 0 else ""
    tail = "…" if not after and high < len(text) else ""
    return f"{head}{cut}{tail}"


def anchor_key(anchor: str) -> str:
    """How an anchor is compared: the last of several, without case and punctuation."""
    last = anchor.rpartition("#")[2].strip()
    return last.lower() if last.startswith("^") else name_slug(last)


def _target_alone(link: Link, known: KnownLinks) -> Link:
    """The link without its places and its text."""
    to = link.target
    key = (link.kind, link.embed, to.path, to.anchor, to.tail)
    if (kept := known.get(key)) is None:
        target = LinkTarget(to.path, to.anchor, _NOWHERE, _NOWHERE, to.tail)
        kept = known[key] = Link(link.kind, link.embed, _NOWHERE, target, "")
    return kept


def _mention(text: str, link: Link, known: KnownLinks) -> LinkMention:
    start, end = link.span.start, link.span.end
    snippet, relation = extract_snippet(text, start, end), None
    if link.kind is LinkKind.WIKI and not link.embed:
        found = _RELATION.fullmatch(text[text.rfind("\n", 0, start) + 1 : start])
        relation = found[1] if found else None
    return LinkMention(_target_alone(link, known), snippet, link.text, relation)


def _mention_ahead(text: str, link: Link, known: KnownLinks) -> LinkMention:
    """A link in the frontmatter with its line, and the key that it stands under."""
    start = text.rfind("\n", 0, link.span.start) + 1
    end = text.find("\n", link.span.end)
    keys = _KEY.findall(text[: link.span.start])
    snippet, relation = text[start:end].strip()[:MAX_LINE_CHARS], keys[-1] if keys else None
    return LinkMention(_target_alone(link, known), snippet, link.text, relation)


def _anchors(text: str, blocks: list[MarkdownBlock]) -> frozenset[str]:
    sections = outline_blocks(text, blocks).sections
    headings = {key for it in sections if it.heading for key in (it.anchor, it.slug, it.key)}
    ids = {f"^{it.lower()}" for it in _BLOCK_ID.findall(text)} if "^" in text else set[str]()
    return frozenset({*map(name_slug, headings), *ids})


def _frontmatter(text: str) -> tuple[dict[str, Json], str]:
    try:
        return read_frontmatter(text).values, ""
    except BadArgument as error:
        return {}, error.message


def _first_heading(text: str, blocks: list[MarkdownBlock]) -> str | None:
    for block in blocks:
        if block.kind is BlockKind.HEADING and block.level == 1:
            source = block.span.of(text)
            return read_heading(source, 1, underlined=block.underlined).plain or None
    return None


def _text(value: Json) -> str | None:
    return value.strip() or None if isinstance(value, str) else None


def _texts(value: Json) -> tuple[str, ...]:
    """A list of strings, or a single string."""
    values = value if isinstance(value, list) else [value]
    found = [str(it).strip() for it in values if isinstance(it, str | int | float)]
    return tuple(dict.fromkeys(it for it in found if it))


_NOWHERE = Span(0, 0)
_RELATION = re.compile(r"[ \t]*[-*+][ \t]+([^\W\d_][\w-]{0,60})[ \t]+")
_KEY = re.compile(r"(?m)^([^\s#:'\"\[{-][^:\r\n]{0,100}):(?=[ \t\r\n])")
_BLOCK_ID = re.compile(r"(?m)(?:^|[ \t])\^([A-Za-z0-9-]{1,100})[ \t]*$")
_SENTENCE_END = re.compile(r"[.?!](?=\s|$)|[\r\n]")
