"""What the model passed over, put back from the source in its own words. Pure."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from enum import StrEnum

from pecia.kernel.errors import Json
from pecia.kernel.text.span import Span
from pecia.rooms.ckf.heuristic.blocks import Shape
from pecia.rooms.ckf.heuristic.cues.kind import Kind
from pecia.rooms.ckf.heuristic.passages import pieces
from pecia.rooms.ckf.heuristic.reading import Line, Reading
from pecia.rooms.ckf.heuristic.rules import short_name
from pecia.rooms.ckf.llm.found import Found
from pecia.rooms.ckf.llm.segment import Part, Segments
from pecia.rooms.ckf.package.alike import plain_text
from pecia.rooms.ckf.package.check_source import number_tokens
from pecia.rooms.ckf.package.model import Item, text_of

CHUNK = 1200
LONGEST_QUOTE = 240
SHORTEST_SPAN = 80
ENOUGH_CHUNKS = 0.6
MOST_NUMBERS, MOST_DUTIES = 8, 6
MOST_LISTED = 50


class Mode(StrEnum):
    SUMMARY = "summary"
    BALANCED = "balanced"
    COMPLETE = "complete"


@dataclass(slots=True)
class Coverage:
    mode: Mode
    total: int
    inserted: list[Found] = field(default_factory=list[Found])
    uncovered: list[str] = field(default_factory=list[str])

    def report(self) -> Item:
        added = Counter(it.section for it in self.inserted)
        covered = self.total - len(self.uncovered)
        return {
            "mode": self.mode.value,
            "inserted_retrieval_chunks": added["retrieval_chunks"],
            "inserted_qa_pairs": added["qa_pairs"],
            "inserted_atomic_units": added["atomic_units"],
            "spans_total": self.total,
            "spans_covered": covered,
            "uncovered_spans": list[Json](self.uncovered[:MOST_LISTED]),
            "source_record_coverage": round(covered / self.total, 2) if self.total else 1.0,
        }


def cover(
    mode: Mode, items: list[Found], reading: Reading, segments: Segments, answers: list[Found]
) -> Coverage:
    """What to add in this mode. `answers` are the questions that the source itself answers."""
    done = Coverage(mode, len(segments.parts))
    if mode is not Mode.SUMMARY:
        done.inserted += _chunks(mode, items, segments)
        done.inserted += _numbers(items, reading, segments)
    if mode is Mode.COMPLETE:
        done.inserted += _duties([*items, *done.inserted], reading, segments)
        asked = {plain_text(text_of(it.fields, "question")) for it in items}
        done.inserted += [
            it for it in answers if plain_text(text_of(it.fields, "question")) not in asked
        ]
    done.uncovered = [it.ref for it in _uncovered([*items, *done.inserted], segments)]
    return done


def _uncovered(items: list[Found], segments: Segments) -> list[Part]:
    covered = {
        segments.part_at(quote.start).ref
        for it in items
        if it.section == "retrieval_chunks"
        for quote in it.quotes
    }
    return [it for it in segments.parts if it.ref not in covered]


def _chunks(mode: Mode, items: list[Found], segments: Segments) -> list[Found]:
    missing = _uncovered(items, segments)
    if mode is Mode.BALANCED:
        held = sum(it.section == "retrieval_chunks" for it in items)
        if held >= ENOUGH_CHUNKS * len(segments.parts):
            return []
        missing = [it for it in missing if it.span.size >= SHORTEST_SPAN]
    return [made for part in missing for made in _passages(part, segments.text)]


def _passages(part: Part, text: str) -> list[Found]:
    found: list[Found] = []
    for span in pieces(text, part.span, CHUNK):
        words = span.of(text)
        title = part.title or short_name(words) or part.ref
        fields: Item = {"title": title, "compressed_knowledge": words}
        found.append(_said("retrieval_chunks", fields, span, text))
    return found


def _numbers(items: list[Found], reading: Reading, segments: Segments) -> list[Found]:
    """Sentences with numbers that no item has."""
    known = {number for it in items for number in number_tokens(_spoken(it.fields))}
    count: defaultdict[str, int] = defaultdict(int)
    found: list[Found] = []
    for line in reading.lines:
        missing = set(number_tokens(line.text)) - known
        ref = segments.part_at(line.span.start).ref
        if not missing or line.title or count[ref] >= MOST_NUMBERS:
            continue
        count[ref] += 1
        known |= missing
        found.append(_unit(line, "numeric_fact", reading.text))
    return found


def _duties(items: list[Found], reading: Reading, segments: Segments) -> list[Found]:
    """Sentences that oblige, forbid or except, where no item quotes them."""
    stated = {text_of(it.fields, "statement") for it in items}
    quoted = [quote for it in items if it.section != "retrieval_chunks" for quote in it.quotes]
    count: defaultdict[str, int] = defaultdict(int)
    found: list[Found] = []
    for line in reading.lines:
        kind = _duty(line)
        ref = segments.part_at(line.span.start).ref
        if not kind or line.text in stated or count[ref] >= MOST_DUTIES:
            continue
        if any(_overlap(line.span, it) for it in quoted):
            continue
        count[ref] += 1
        found.append(_unit(line, kind, reading.text))
    return found


def _duty(line: Line) -> str:
    if not line.tells:
        return ""
    return next((name for kind, name in _DUTIES if kind in line.own), "")


def _overlap(first: Span, second: Span) -> bool:
    return first.start < second.end and second.start < first.end


def _unit(line: Line, kind: str, text: str) -> Found:
    tags: list[Json] = ["table"] if line.block.shape is Shape.ROW else []
    fields: Item = {"statement": line.text, "type": kind, **({"tags": tags} if tags else {})}
    return _said("atomic_units", fields, line.span, text)


def _said(section: str, fields: Item, span: Span, text: str) -> Found:
    """An item that is a piece of the source, quoted by its beginning."""
    end = span.end
    if span.size > LONGEST_QUOTE:
        cut = text.rfind(" ", span.start + LONGEST_QUOTE // 2, span.start + LONGEST_QUOTE)
        end = cut if cut > 0 else span.start + LONGEST_QUOTE
    return Found(section, fields, (Span(span.start, end),), origin="coverage")


def _spoken(value: Json) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return " ".join(_spoken(it) for it in value.values())
    return " ".join(_spoken(it) for it in value) if isinstance(value, list) else ""


_DUTIES = (
    (Kind.EXCEPTION, "exception"),
    (Kind.OVERRIDE, "exception"),
    (Kind.PROHIBITION, "prohibition"),
    (Kind.OBLIGATION, "obligation"),
)
