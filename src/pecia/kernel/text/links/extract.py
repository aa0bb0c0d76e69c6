"""Every link of a document, with exact places. Finds them, never follows or changes them.

Frontmatter, code, comments and raw HTML hold no links. Bare addresses are text, as in CommonMark.
"""

import re

from pecia.kernel.text.links.destination import match_definition
from pecia.kernel.text.links.inline import find_inline_links
from pecia.kernel.text.links.link import Link, LinkDefinition
from pecia.kernel.text.markdown.blocks import BlockKind, MarkdownBlock, scan_blocks
from pecia.kernel.text.markdown.frontmatter import find_body_start
from pecia.kernel.text.span import Span, split_lines


def find_links(text: str) -> list[Link]:
    """The document's links, in the order in which they start."""
    if "[" not in text and "<" not in text:
        return []
    return find_block_links(text, scan_blocks(text, find_body_start(text)))


def find_block_links(text: str, blocks: list[MarkdownBlock]) -> list[Link]:
    """The links of blocks scanned before. A definition serves the whole document."""
    definitions: dict[str, LinkDefinition] = {}
    may_define = "]:" in text
    paragraphs: list[Span] = []
    for block in blocks:
        if block.kind is BlockKind.TABLE:
            paragraphs += _rows(text, block.span)
        elif block.kind is BlockKind.TEXT and may_define:
            paragraphs.append(_after_definitions(text, block, definitions))
        elif block.kind in (BlockKind.TEXT, BlockKind.HEADING, BlockKind.HTML):
            paragraphs.append(block.span)
    return [link for it in paragraphs for link in find_inline_links(text, it, definitions)]


def _after_definitions(
    text: str, block: MarkdownBlock, definitions: dict[str, LinkDefinition]
) -> Span:
    start, end = block.span.start, block.span.end
    while True:
        mark = _BEFORE_LABEL.match(text, start, end)
        found = match_definition(text, mark.end(), end) if mark else None
        if not found:
            return Span(start, end)
        definitions.setdefault(found.label, found)
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
