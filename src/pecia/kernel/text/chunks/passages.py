"""A text cut into the smallest passages that a chunk is built of, each with how well it may start.

Passages are a partition of what they are cut from. A passage is a heading, a sentence, a line of
code, a row of a long table, or a short table as a whole. Pure.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

from pecia.kernel.text.chunks.tables import TextTable, build_markdown_table, find_plain_tables
from pecia.kernel.text.markdown.blocks import BlockKind, MarkdownBlock
from pecia.kernel.text.span import Span, split_lines


class BreakQuality(IntEnum):
    """How good a place the start of a passage is to cut at, worst first."""

    WORD = 0
    LINE = 1
    SENTENCE = 2
    PARAGRAPH = 3
    HEADING = 4


@dataclass(frozen=True, slots=True)
class ChunkPassage:
    """`leads` is a heading or a table's header, which is nothing without what follows it.

    `prefix` is what a reader needs who starts here, inside a table.
    """

    start: int
    end: int
    cut: BreakQuality
    leads: bool = False
    prefix: str = ""


@dataclass(frozen=True, slots=True)
class PassageSize:
    """The longest passage, and the longest table that stays one passage."""

    longest: int = 1000
    table: int = 4000


def split_markdown_passages(
    text: str, blocks: Sequence[MarkdownBlock], size: PassageSize
) -> Iterator[ChunkPassage]:
    for piece in _pieces(text, blocks):
        if piece.table:
            yield from _table_passages(text, piece.table, piece.end, size)
        elif piece.kind is BlockKind.HEADING:
            heading = ChunkPassage(piece.start, piece.end, BreakQuality.HEADING, leads=True)
            yield from _split_long(text, heading, size.longest)
        elif piece.kind in (BlockKind.CODE, BlockKind.RAW):
            yield from _lines(text, Span(piece.start, piece.end), BreakQuality.PARAGRAPH, size)
        else:
            cut = BreakQuality.SENTENCE if piece.depth else BreakQuality.PARAGRAPH
            yield from _sentences(text, Span(piece.start, piece.end), cut, size)


def split_plain_passages(
    text: str, span: Span, headings: frozenset[int], size: PassageSize
) -> Iterator[ChunkPassage]:
    """`headings` are the starts of lines that are known to be headings."""
    at = span.start
    for table in find_plain_tables(text, span):
        yield from _paragraphs(text, Span(at, table.span.start), headings, size)
        yield from _table_passages(text, table, table.span.end, size)
        at = table.span.end
    yield from _paragraphs(text, Span(at, span.end), headings, size)


@dataclass(slots=True)
class _Piece:
    """A block with the blank lines and rules after it, or a table with its caption."""

    kind: BlockKind
    start: int
    end: int
    depth: int
    table: TextTable | None = None


def _pieces(text: str, blocks: Sequence[MarkdownBlock]) -> list[_Piece]:
    pieces: list[_Piece] = []
    for block in blocks:
        piece = _Piece(block.kind, block.span.start, block.span.end, block.depth)
        last = pieces[-1] if pieces else None
        if block.kind in (BlockKind.BLANK, BlockKind.RULE) and last:
            last.end = piece.end
            continue
        if block.kind is BlockKind.TABLE:
            captioned = last and last.kind is BlockKind.TEXT and not last.table
            caption = Span(last.start, last.end) if last and captioned else None
            piece.table = build_markdown_table(text, block.span, caption)
            piece.start = piece.table.span.start
            if last and last.start == piece.start:
                pieces.pop()
        pieces.append(piece)
    return pieces


def _table_passages(
    text: str, table: TextTable, end: int, size: PassageSize
) -> Iterator[ChunkPassage]:
    start = table.span.start
    if table.span.size <= size.table:
        # Many blank lines after a table are not part of it.
        near = end if end - table.span.end < size.longest // 10 else table.span.end
        yield ChunkPassage(start, near, BreakQuality.PARAGRAPH)
        yield from _lines(text, Span(near, end), BreakQuality.LINE, size)
        return
    # A header as long as a chunk would drown the rows: it is not repeated.
    prefix = table.head.of(text) if table.head.size <= size.longest else ""
    if table.head.size:
        head = ChunkPassage(start, table.head.end, BreakQuality.PARAGRAPH, leads=True)
        yield from _split_long(text, head, size.longest)
    for row in _lines(text, Span(table.head.end, end), BreakQuality.LINE, size):
        yield replace(row, prefix=prefix)


def _paragraphs(
    text: str, span: Span, headings: frozenset[int], size: PassageSize
) -> Iterator[ChunkPassage]:
    start = at = span.start
    blank = True
    for line in split_lines(span.of(text)):
        is_blank = not line.strip()
        if (blank and not is_blank) or at in headings:
            yield from _sentences(text, Span(start, at), BreakQuality.PARAGRAPH, size)
            start = at
        at += len(line)
        blank = is_blank
        if at - len(line) in headings:
            heading = ChunkPassage(start, at, BreakQuality.HEADING, leads=True)
            yield from _split_long(text, heading, size.longest)
            start = at
    yield from _sentences(text, Span(start, span.end), BreakQuality.PARAGRAPH, size)


def _sentences(
    text: str, span: Span, first: BreakQuality, size: PassageSize
) -> Iterator[ChunkPassage]:
    start, cut = span.start, first
    for end in _SENTENCE_END.finditer(text, span.start, span.end):
        if end.end() < span.end and end.end() - start >= _MIN_SENTENCE_CHARS:
            yield from _split_long(text, ChunkPassage(start, end.end(), cut), size.longest)
            start, cut = end.end(), BreakQuality.SENTENCE
    if start < span.end:
        yield from _split_long(text, ChunkPassage(start, span.end, cut), size.longest)


def _lines(text: str, span: Span, first: BreakQuality, size: PassageSize) -> Iterator[ChunkPassage]:
    start, cut = span.start, first
    for line in split_lines(span.of(text)):
        yield from _split_long(text, ChunkPassage(start, start + len(line), cut), size.longest)
        start, cut = start + len(line), BreakQuality.LINE


def _split_long(text: str, passage: ChunkPassage, longest: int) -> Iterator[ChunkPassage]:
    """The passage, cut between words where it is too long, and anywhere when it has none."""
    start, cut = passage.start, passage.cut
    while passage.end - start > longest:
        end = _last_gap(text, start, start + longest)
        yield ChunkPassage(start, end, cut)
        start, cut = end, BreakQuality.WORD
    yield passage if start == passage.start else replace(passage, start=start, cut=cut)


def _last_gap(text: str, start: int, limit: int) -> int:
    """After the last white space of the second half, else at the limit, but inside no letter."""
    gaps = [it.end() for it in _GAP.finditer(text, (start + limit) // 2, limit)]
    if gaps:
        return gaps[-1]
    end = limit
    while end > limit - 16 and unicodedata.combining(text[end]):
        end -= 1
    return end


# Initials and numbers end in full stops too.
_MIN_SENTENCE_CHARS = 20
_SENTENCE_END = re.compile(
    r"(?<![.!?…])(?<!\b\w)[.!?…]++[\"'”’»)\]]*+\s++(?![a-z])|[。！？]++[」』”’）]*+\s*+"
)
_GAP = re.compile(r"\s+")
