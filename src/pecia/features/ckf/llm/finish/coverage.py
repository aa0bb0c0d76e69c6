"""Adds passages that the model skipped, verbatim from the source. Pure."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from enum import StrEnum

from pecia.features.ckf.heuristic.cues.kind import CueKind
from pecia.features.ckf.heuristic.extract.passages import split_span
from pecia.features.ckf.heuristic.extract.rules import make_short_name
from pecia.features.ckf.heuristic.parse.blocks import BlockShape
from pecia.features.ckf.heuristic.parse.text import ParsedText, Sentence
from pecia.features.ckf.llm.item import ExtractedItem
from pecia.features.ckf.llm.prepare.segment import SourceSegments, SourceSpan
from pecia.features.ckf.package.checks.source import extract_numbers
from pecia.features.ckf.package.model import Item, text_of
from pecia.features.ckf.package.similarity import normalize_words
from pecia.kernel.errors import Json
from pecia.kernel.text.span import Span

CHUNK_CHARS = 1200
MAX_QUOTE_CHARS = 240
MIN_SPAN_CHARS = 80
MIN_CHUNK_SHARE = 0.6
MAX_NUMBERS, MAX_DUTIES = 8, 6
MAX_LISTED = 50


class CoverageMode(StrEnum):
    SUMMARY = "summary"
    BALANCED = "balanced"
    COMPLETE = "complete"


@dataclass(slots=True)
class CoverageResult:
    mode: CoverageMode
    total: int
    inserted: list[ExtractedItem] = field(default_factory=list[ExtractedItem])
    uncovered: list[str] = field(default_factory=list[str])

    def to_json(self) -> Item:
        added = Counter(it.section for it in self.inserted)
        covered = self.total - len(self.uncovered)
        return {
            "mode": self.mode.value,
            "inserted_retrieval_chunks": added["retrieval_chunks"],
            "inserted_qa_pairs": added["qa_pairs"],
            "inserted_atomic_units": added["atomic_units"],
            "spans_total": self.total,
            "spans_covered": covered,
            "uncovered_spans": list[Json](self.uncovered[:MAX_LISTED]),
            "source_record_coverage": round(covered / self.total, 2) if self.total else 1.0,
        }


def fill_coverage(
    mode: CoverageMode,
    items: list[ExtractedItem],
    reading: ParsedText,
    segments: SourceSegments,
    answers: list[ExtractedItem],
) -> CoverageResult:
    """The items to add in this mode. `answers` are Q&A pairs of the source itself."""
    done = CoverageResult(mode, len(segments.parts))
    if mode is not CoverageMode.SUMMARY:
        done.inserted += _chunks(mode, items, segments)
        done.inserted += _numbers(items, reading, segments)
    if mode is CoverageMode.COMPLETE:
        done.inserted += _duties([*items, *done.inserted], reading, segments)
        asked = {normalize_words(text_of(it.fields, "question")) for it in items}
        done.inserted += [
            it for it in answers if normalize_words(text_of(it.fields, "question")) not in asked
        ]
    done.uncovered = [it.ref for it in _find_uncovered([*items, *done.inserted], segments)]
    return done


def _find_uncovered(items: list[ExtractedItem], segments: SourceSegments) -> list[SourceSpan]:
    covered = {
        segments.part_at(quote.start).ref
        for it in items
        if it.section == "retrieval_chunks"
        for quote in it.quotes
    }
    return [it for it in segments.parts if it.ref not in covered]


def _chunks(
    mode: CoverageMode, items: list[ExtractedItem], segments: SourceSegments
) -> list[ExtractedItem]:
    missing = _find_uncovered(items, segments)
    if mode is CoverageMode.BALANCED:
        held = sum(it.section == "retrieval_chunks" for it in items)
        if held >= MIN_CHUNK_SHARE * len(segments.parts):
            return []
        missing = [it for it in missing if it.span.size >= MIN_SPAN_CHARS]
    return [made for part in missing for made in _passages(part, segments.text)]


def _passages(part: SourceSpan, text: str) -> list[ExtractedItem]:
    found: list[ExtractedItem] = []
    for span in split_span(text, part.span, CHUNK_CHARS):
        words = span.of(text)
        title = part.title or make_short_name(words) or part.ref
        fields: Item = {"title": title, "compressed_knowledge": words}
        found.append(_verbatim_item("retrieval_chunks", fields, span, text))
    return found


def _numbers(
    items: list[ExtractedItem], reading: ParsedText, segments: SourceSegments
) -> list[ExtractedItem]:
    """Sentences with numbers that no item contains."""
    known = {number for it in items for number in extract_numbers(_text_of_value(it.fields))}
    count: defaultdict[str, int] = defaultdict(int)
    found: list[ExtractedItem] = []
    for line in reading.lines:
        missing = set(extract_numbers(line.text)) - known
        ref = segments.part_at(line.span.start).ref
        if not missing or line.title or count[ref] >= MAX_NUMBERS:
            continue
        count[ref] += 1
        known |= missing
        found.append(_unit(line, "numeric_fact", reading.text))
    return found


def _duties(
    items: list[ExtractedItem], reading: ParsedText, segments: SourceSegments
) -> list[ExtractedItem]:
    """Sentences that oblige, forbid or except, where no item quotes them."""
    stated = {text_of(it.fields, "statement") for it in items}
    quoted = [quote for it in items if it.section != "retrieval_chunks" for quote in it.quotes]
    count: defaultdict[str, int] = defaultdict(int)
    found: list[ExtractedItem] = []
    for line in reading.lines:
        kind = _duty(line)
        ref = segments.part_at(line.span.start).ref
        if not kind or line.text in stated or count[ref] >= MAX_DUTIES:
            continue
        if any(_overlap(line.span, it) for it in quoted):
            continue
        count[ref] += 1
        found.append(_unit(line, kind, reading.text))
    return found


def _duty(line: Sentence) -> str:
    if not line.is_statement:
        return ""
    return next((name for kind, name in _DUTIES if kind in line.own), "")


def _overlap(first: Span, second: Span) -> bool:
    return first.start < second.end and second.start < first.end


def _unit(line: Sentence, kind: str, text: str) -> ExtractedItem:
    tags: list[Json] = ["table"] if line.block.shape is BlockShape.ROW else []
    fields: Item = {"statement": line.text, "type": kind, **({"tags": tags} if tags else {})}
    return _verbatim_item("atomic_units", fields, line.span, text)


def _verbatim_item(section: str, fields: Item, span: Span, text: str) -> ExtractedItem:
    """An item that is a piece of the source, quoted by its beginning."""
    end = span.end
    if span.size > MAX_QUOTE_CHARS:
        cut = text.rfind(" ", span.start + MAX_QUOTE_CHARS // 2, span.start + MAX_QUOTE_CHARS)
        end = cut if cut > 0 else span.start + MAX_QUOTE_CHARS
    return ExtractedItem(section, fields, (Span(span.start, end),), origin="coverage")


def _text_of_value(value: Json) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return " ".join(_text_of_value(it) for it in value.values())
    return " ".join(_text_of_value(it) for it in value) if isinstance(value, list) else ""


_DUTIES = (
    (CueKind.EXCEPTION, "exception"),
    (CueKind.OVERRIDE, "exception"),
    (CueKind.PROHIBITION, "prohibition"),
    (CueKind.OBLIGATION, "obligation"),
)
