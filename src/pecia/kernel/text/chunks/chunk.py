"""A canonical text cut into chunks that are searched, embedded and cited. Pure.

Chunks are slices that follow each other without a gap: joined, they are the text. None holds words
of two pages, slides, sheets or cues. They are 700 to 1,000 characters long where the text allows,
and end before a heading, a paragraph or a sentence, in this order of preference. A table stays
whole up to 4,000 characters; the later chunks of a longer one carry its caption and header as a
`prefix`, apart from their slice of the text.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise

from pecia.kernel.text.canonical import Unit, UnitKind, unit_at
from pecia.kernel.text.chunks.pack import ChunkSize, pack_passages
from pecia.kernel.text.chunks.page_titles import find_page_titles
from pecia.kernel.text.chunks.passages import (
    BreakQuality,
    ChunkPassage,
    PassageSize,
    split_markdown_passages,
    split_plain_passages,
)
from pecia.kernel.text.markdown.blocks import BlockKind, MarkdownBlock, scan_blocks
from pecia.kernel.text.markdown.frontmatter import find_body_start
from pecia.kernel.text.markdown.heading import read_heading
from pecia.kernel.text.span import Span


class TextMarkup(StrEnum):
    MARKDOWN = "markdown"
    PLAIN = "plain"


@dataclass(frozen=True, slots=True)
class OutlineEntry:
    """A heading that starts, as a line, at `start`. Level 0 ends all headings above it."""

    start: int
    level: int
    title: str


@dataclass(frozen=True, slots=True)
class ChunkSource:
    """What is cut. `outline` adds headings that the markup does not show, such as a PDF's."""

    text: str
    units: tuple[Unit, ...] = ()
    markup: TextMarkup = TextMarkup.MARKDOWN
    outline: Sequence[OutlineEntry] = ()


@dataclass(frozen=True, slots=True)
class Chunk:
    """`text` is exactly the slice; heading path and unit are those of its first body text.

    What stands above a page of plain text ends the heading path of all its chunks.
    """

    seq: int
    start: int
    end: int
    text: str
    prefix: str
    heading_path: tuple[str, ...]
    unit: Unit | None

    @property
    def readable(self) -> str:
        """The text with the header of the table that it continues, as it is indexed and shown."""
        return self.prefix + self.text


DEFAULT_CHUNK_SIZE = ChunkSize()
MAX_HEADING_CHARS = 300
"""Of a heading in a path, which every chunk beneath it repeats; its own chunk has it whole."""


def chunk_text(source: ChunkSource, size: ChunkSize = DEFAULT_CHUNK_SIZE) -> list[Chunk]:
    """The chunks, in order; none for an empty text."""
    reader = _Reader(source, PassageSize(size.high, size.table))
    runs = [
        run for region in _regions(source) for run in pack_passages(reader.passages(region), size)
    ]
    headings = _HeadingPath(reader.headings(), _heads(source))
    return [
        _chunk(source, seq, run, headings)
        for seq, run in enumerate(_without_blank_runs(source.text, runs, size))
    ]


def _chunk(
    source: ChunkSource, seq: int, run: list[ChunkPassage], headings: "_HeadingPath"
) -> Chunk:
    start, end = run[0].start, run[-1].end
    text = source.text[start:end]
    body = _first_body(source.text, run)
    unit = unit_at(source.units, body)
    return Chunk(seq, start, end, text, run[0].prefix, headings.at(body, unit), unit)


def _heads(source: ChunkSource) -> dict[int, tuple[str, ...]]:
    """Markup says itself what its headings are; in plain text, the top of a page may."""
    return find_page_titles(source.text, source.units) if source.markup is TextMarkup.PLAIN else {}


def _regions(source: ChunkSource) -> Iterator[list[Span]]:
    """The units, each with the joint after it, in groups that a chunk may not leave."""
    if not source.text:
        return
    starts = [0, *(it.span.start for it in source.units[1:]), len(source.text)]
    group: list[Span] = []
    for number, (start, end) in enumerate(pairwise(starts)):
        unit = source.units[number] if source.units else None
        before = source.units[number - 1] if number else None
        if group and ((unit and unit.is_locator) or (before and before.is_locator)):
            yield group
            group = []
        group.append(Span(start, end))
    yield group


class _Reader:
    """Passages of one region after another, and the headings met on the way."""

    def __init__(self, source: ChunkSource, size: PassageSize) -> None:
        self.source = source
        self.size = size
        self.known = frozenset(it.start for it in source.outline)
        self.found: list[OutlineEntry] = []

    def passages(self, region: list[Span]) -> Iterator[ChunkPassage]:
        for number, span in enumerate(region):
            for place, passage in enumerate(self._unit(span)):
                # A unit that the reader is not sent to is a section all the same.
                starts_unit = number > 0 and place == 0
                yield replace(passage, cut=BreakQuality.HEADING) if starts_unit else passage

    def headings(self) -> list[OutlineEntry]:
        resets = [
            OutlineEntry(it.span.start, 0, "")
            for it in self.source.units
            if it.kind in (UnitKind.SLIDE, UnitKind.SHEET)
        ]
        every = [*self.found, *self.source.outline, *resets]
        return sorted(every, key=lambda it: (it.start, it.level))

    def _unit(self, span: Span) -> Iterator[ChunkPassage]:
        text = self.source.text
        if self.source.markup is TextMarkup.PLAIN:
            return split_plain_passages(text, span, self.known, self.size)
        blocks = _blocks(text, span)
        for block in blocks:
            if block.kind is BlockKind.HEADING:
                self.found.append(_entry(text, block))
        return split_markdown_passages(text, blocks, self.size)


class _HeadingPath:
    """The heading path at ever later places, with what stands above the page, by its start."""

    def __init__(
        self, entries: Sequence[OutlineEntry], heads: Mapping[int, tuple[str, ...]]
    ) -> None:
        self.entries = entries
        self.heads = heads
        self.passed = 0
        self.above: list[OutlineEntry] = []

    def at(self, offset: int, unit: Unit | None) -> tuple[str, ...]:
        while self.passed < len(self.entries) and self.entries[self.passed].start <= offset:
            entry = self.entries[self.passed]
            self.passed += 1
            while self.above and self.above[-1].level >= entry.level:
                self.above.pop()
            if entry.level:
                self.above.append(entry)
        path = [_truncate_heading(it.title) for it in self.above]
        head = self.heads.get(unit.span.start, ()) if unit else ()
        return (*path, *(it for it in head if not _is_said(it, path)))


def _truncate_heading(title: str) -> str:
    return title if len(title) <= MAX_HEADING_CHARS else f"{title[:MAX_HEADING_CHARS]}…"


def _is_said(line: str, path: Sequence[str]) -> bool:
    """Whether the outline has this line already, with or without its number."""
    return any(it.casefold() in line.casefold() for it in path)


def _blocks(text: str, span: Span) -> list[MarkdownBlock]:
    head = find_body_start(text) if span.start == 0 else 0
    if not 0 < head <= span.end:
        return scan_blocks(text, span.start, span.end)
    return [MarkdownBlock(BlockKind.CODE, Span(0, head)), *scan_blocks(text, head, span.end)]


def _entry(text: str, block: MarkdownBlock) -> OutlineEntry:
    heading = read_heading(block.span.of(text), block.level, underlined=block.underlined)
    return OutlineEntry(block.span.start, block.level, heading.plain)


def _first_body(text: str, run: list[ChunkPassage]) -> int:
    """Where the first words are that are no heading, else the last words of all."""
    for passage in run:
        words = text[passage.start : passage.end]
        if not passage.leads and words.strip():
            return passage.start + len(words) - len(words.lstrip())
    start = run[0].start
    return start + max(0, len(text[start : run[-1].end].rstrip()) - 1)


def _without_blank_runs(
    text: str, runs: list[list[ChunkPassage]], size: ChunkSize
) -> list[list[ChunkPassage]]:
    """An empty page is no chunk: its white space goes to the chunk before it, or after.

    White space longer than `size.small` stays, so that no chunk grows without bound.
    """
    kept: list[list[ChunkPassage]] = []
    lead: list[ChunkPassage] = []
    for run in runs:
        start, end = run[0].start, run[-1].end
        is_blank = end - start <= size.small and not text[start:end].strip()
        if is_blank and kept and end - kept[-1][0].start <= size.high + size.table:
            kept[-1] += run
            continue
        lead += run
        if not is_blank or end - lead[0].start > size.small:
            kept.append(lead)
            lead = []
    return [*kept, lead] if lead else kept
