"""The source as numbered spans, which items cite, and as chunks, which a model is shown. Pure.

Spans follow the source's own division; chunks are as many whole spans as fit.
"""

import hashlib
import json
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from pecia.features.ckf.heuristic.long_text import split_at_blocks
from pecia.features.ckf.heuristic.parse.text import ParsedText
from pecia.features.ckf.llm.prepare.preflight import CHUNK_CHARS, SourceProfile
from pecia.features.ckf.model import SourceText
from pecia.features.ckf.package.model import Item
from pecia.kernel.text.span import Span, split_lines

PREVIEW_CHARS = 200


@dataclass(frozen=True, slots=True)
class SourceSpan:
    """One span of the source, under the name that items cite."""

    ref: str
    kind: str
    title: str
    path: str
    span: Span


@dataclass(frozen=True, slots=True)
class SourceChunk:
    """The part of the source for one model call."""

    number: int
    path: str
    span: Span


class SourceSegments:
    """The parts in order, and lookup of part and line by offset."""

    def __init__(self, text: str, parts: list[SourceSpan]) -> None:
        self.text = text
        self.parts = parts
        self._starts = [it.span.start for it in parts]
        self._lines = _line_starts(text)

    def part_at(self, place: int) -> SourceSpan:
        """The part at an offset; a gap between two parts belongs to the first."""
        return self.parts[max(0, bisect_right(self._starts, place) - 1)]

    def line_at(self, place: int) -> int:
        return bisect_right(self._lines, place)

    def chunks(self, size: int = CHUNK_CHARS) -> list[SourceChunk]:
        """Runs of whole parts; a part too long for one chunk is cut at its paragraphs."""
        found: list[SourceChunk] = []
        start = self.parts[0].span.start
        end = start
        for it in self.parts:
            if end > start and it.span.end - start > size:
                found += self._cut(Span(start, end), size, len(found))
                start = it.span.start
            end = it.span.end
        return [*found, *self._cut(Span(start, end), size, len(found))]

    def manifest(self, source: SourceText) -> list[Item]:
        return [self._entry(it, source) for it in self.parts]

    def _cut(self, run: Span, size: int, before: int) -> Iterator[SourceChunk]:
        for number, it in enumerate(split_at_blocks(run.of(self.text), size)):
            span = Span(run.start + it.start, run.start + it.end)
            path = self.part_at(span.start).path
            more = f" · part {number + 1}" if number else ""
            yield SourceChunk(before + number + 1, path + more, span)

    def _entry(self, part: SourceSpan, source: SourceText) -> Item:
        words = part.span.of(self.text)
        entry: Item = {
            "source_id": part.ref,
            "source_type": part.kind,
            "path": source.uri or source.filename or part.path or "text",
            "text_preview": " ".join(words[: 2 * PREVIEW_CHARS].split())[:PREVIEW_CHARS].strip()
            or "-",
            "line_start": self.line_at(part.span.start),
            "line_end": self.line_at(max(part.span.start, part.span.end - 1)),
            "char_start": part.span.start,
            "char_end": part.span.end,
            "text_sha256": hashlib.sha256(words.encode("utf-8", "replace")).hexdigest(),
        }
        for name, value in (
            ("heading", part.path),
            ("uri", source.uri),
            ("revision", source.revision),
        ):
            if value:
                entry[name] = value
        return entry


def segment_source(reading: ParsedText, profile: SourceProfile) -> SourceSegments:
    """By records where the source is a list of them, else by its titles."""
    if profile.has_records:
        lines = profile.format == "jsonl_records"
        places = list(_lines(reading.text) if lines else _elements(reading.text))
        kind = "jsonl_record" if lines else "json_array_record"
        return SourceSegments(
            reading.text,
            [SourceSpan(f"s_{at:03}", kind, "", "", it) for at, it in enumerate(places, start=1)],
        )
    kinds = {"legal_norm": "legal_article", "faq": "faq_pair"}
    titled = kinds.get(profile.format, "markdown_section")
    parts = [
        SourceSpan(it.ref, titled if it.title else "document", it.title, it.path, it.place.span)
        for it in reading.parts
    ]
    whole = SourceSpan("s_001", "document", "", "", Span(0, len(reading.text)))
    return SourceSegments(reading.text, parts or [whole])


def _lines(text: str) -> Iterator[Span]:
    start = 0
    for line in split_lines(text):
        if line.strip():
            yield Span(start, start + len(line.rstrip("\r\n")))
        start += len(line)


def _elements(text: str) -> Iterator[Span]:
    """The objects of a JSON array, which preflight has read whole already."""
    decoder = json.JSONDecoder()
    at = _after(text, text.index("[") + 1)
    while text[at] != "]":
        value, end = decoder.raw_decode(text, at)
        if isinstance(value, dict):
            yield Span(at, end)
        at = _after(text, end)


def _after(text: str, at: int) -> int:
    """The next offset that is neither white space nor a comma."""
    while text[at] in ", \t\r\n":
        at += 1
    return at


def _line_starts(text: str) -> list[int]:
    starts, at = [0], 0
    for line in split_lines(text)[:-1]:
        at += len(line)
        starts.append(at)
    return starts
