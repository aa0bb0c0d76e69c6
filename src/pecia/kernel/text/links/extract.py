"""Every link of a document, with exact places. Finds them, never follows or changes them.

Code and comments hold no links; those of the frontmatter and of HTML tags are found apart. Bare
addresses are text, as in CommonMark.
"""

import re
from collections.abc import Iterable

from pecia.kernel.text.links.destination import match_definition
from pecia.kernel.text.links.inline import find_inline_links, find_wiki_links
from pecia.kernel.text.links.link import Link, LinkDefinition, LinkKind
from pecia.kernel.text.markdown.blocks import BlockKind, MarkdownBlock, scan_blocks
from pecia.kernel.text.markdown.frontmatter import find_body_start
from pecia.kernel.text.span import Span, split_lines


def find_links(text: str) -> list[Link]:
    """The document's links, in the order in which they start."""
    if "[" not in text and "<" not in text:
        return []
    return find_block_links(text, scan_blocks(text, find_body_start(text)))


def find_frontmatter_links(text: str) -> list[Link]:
    """The wiki links in the values of the frontmatter, comments left out."""
    end = find_body_start(text)
    if end == 0 or "[[" not in text[:end]:
        return []
    found: list[Link] = []
    at = 0
    for line in split_lines(text[:end]):
        if not line.lstrip().startswith("#"):
            found += find_wiki_links(text, Span(at, at + len(line)))
        at += len(line)
    return found


def find_block_definitions(text: str, blocks: list[MarkdownBlock]) -> list[LinkDefinition]:
    """The reference definitions of blocks scanned before, used or not. Footnotes are none."""
    if "]:" not in text:
        return []
    found: list[LinkDefinition] = []
    for block in blocks:
        if block.kind is BlockKind.TEXT:
            _after_definitions(text, block, found)
    return [it for it in found if not it.label.startswith("^")]


def find_unused_definitions(
    text: str, blocks: list[MarkdownBlock], links: Iterable[Link]
) -> list[Link]:
    """Definitions that none of these links of the document uses, as links."""
    used = {it.target.path_span.start for it in links}
    return [
        Link(LinkKind.REFERENCE, embed=False, span=it.span, target=it.target, text=it.label)
        for it in find_block_definitions(text, blocks)
        if it.target.path_span.start not in used
    ]


def find_block_links(text: str, blocks: list[MarkdownBlock]) -> list[Link]:
    """The links of blocks scanned before. A definition serves the whole document, the first of a
    label."""
    defined: list[LinkDefinition] = []
    may_define = "]:" in text
    paragraphs: list[Span] = []
    for block in blocks:
        if block.kind is BlockKind.TABLE:
            paragraphs += _rows(text, block.span)
        elif block.kind is BlockKind.TEXT and may_define:
            paragraphs.append(_after_definitions(text, block, defined))
        elif block.kind in (BlockKind.TEXT, BlockKind.HEADING, BlockKind.HTML):
            paragraphs.append(block.span)
    definitions = {it.label: it for it in reversed(defined)}
    return [link for it in paragraphs for link in find_inline_links(text, it, definitions)]


def _after_definitions(text: str, block: MarkdownBlock, found_so_far: list[LinkDefinition]) -> Span:
    """The rest of a paragraph behind the definitions that it begins with."""
    start, end = block.span.start, block.span.end
    while True:
        mark = _BEFORE_LABEL.match(text, start, end)
        found = match_definition(text, mark.end(), end) if mark else None
        if not found:
            return Span(start, end)
        found_so_far.append(found)
        start = found.span.end


def _rows(text: str, table: Span) -> list[Span]:
    rows: list[Span] = []
    at = table.start
    for line in split_lines(table.of(text)):
        rows.append(Span(at, at + len(line)))
        at += len(line)
    return rows


# Marks of the quotes and list items that the paragraph is in.
_BEFORE_LABEL = re.compile(r"(?:[ \t>]|[-+*][ \t]|[0-9]{1,9}[.)][ \t])*+(?=\[)")
