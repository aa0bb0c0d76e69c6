"""Metadata of a document: title, description, tags, aliases, links. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from pecia.kernel.errors import BadArgument, Json
from pecia.kernel.text.links.extract import find_block_links
from pecia.kernel.text.links.link import Link
from pecia.kernel.text.markdown.blocks import BlockKind, MarkdownBlock, scan_blocks
from pecia.kernel.text.markdown.frontmatter import find_body_start, read_frontmatter
from pecia.kernel.text.markdown.heading import read_heading

SNIPPET_CONTEXT_CHARS = 60


@dataclass(frozen=True, slots=True)
class LinkMention:
    """A link with its position and its sentence."""

    link: Link
    snippet: str


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
    embeds: tuple[Link, ...] = ()
    """Images, and `![[files]]`."""

    def display_title(self, name: str) -> str:
        """The title, else the name."""
        return self.title or self.heading or name

    @property
    def labels(self) -> tuple[str, ...]:
        """What a link may call it, beside its name."""
        named = (self.title or self.heading, *self.aliases)
        return tuple(it for it in named if it)


def parse_metadata(text: str) -> DocumentMetadata:
    """Parse the metadata. Invalid YAML frontmatter is ignored, with the reason in `problem`."""
    values, problem = _frontmatter(text)
    blocks = scan_blocks(text, find_body_start(text))
    every = find_block_links(text, blocks)
    links = [it for it in every if not it.embed]
    return DocumentMetadata(
        title=_text(values.get("title")),
        heading=_first_heading(text, blocks),
        description=_text(values.get("description")),
        tags=_texts(values.get("tags")),
        aliases=_texts(values.get("aliases")),
        frontmatter=values,
        problem=problem,
        links=tuple(
            LinkMention(it, extract_snippet(text, it.span.start, it.span.end)) for it in links
        ),
        embeds=tuple(it for it in every if it.embed),
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


_SENTENCE_END = re.compile(r"[.?!](?=\s|$)|[\r\n]")
