"""Turns candidates into items with ids, quotations and trace rows. Pure.

Every quotation is the slice of the source at its row's offsets.
"""

import re
from collections.abc import Iterable
from functools import cache

from pecia.features.ckf.heuristic.candidate import ItemCandidate
from pecia.features.ckf.heuristic.level import CompressionProfile
from pecia.features.ckf.heuristic.parse.text import ParsedText, Sentence
from pecia.features.ckf.package.fields import SECTION_BY_KEY
from pecia.features.ckf.package.ids import IdAllocator
from pecia.features.ckf.package.model import Item
from pecia.features.ckf.package.verify import hash_span
from pecia.kernel.errors import Json

MAX_QUOTE_CHARS = 240
SHORT_QUOTE_CHARS = 96
MAX_CONTINUATION_CHARS = 400


def add_items(
    body: Item, candidates: Iterable[ItemCandidate], parsed: ParsedText, level: CompressionProfile
) -> None:
    """Add every candidate to its section with its trace rows, then link the items."""
    writer = _ItemWriter(body, parsed, level)
    for it in candidates:
        writer.add(it)
    writer.link_items()


class _ItemWriter:
    def __init__(self, body: Item, parsed: ParsedText, level: CompressionProfile) -> None:
        self.body = body
        self.parsed = parsed
        self.level = level
        self.longest = SHORT_QUOTE_CHARS if level.spare else MAX_QUOTE_CHARS
        self.namer = IdAllocator()
        self.rows = self._list("source_traceability")
        self.id_of: dict[int, str] = {}
        self.items: list[tuple[ItemCandidate, Item]] = []

    def add(self, candidate: ItemCandidate) -> None:
        item_id = self.namer.allocate(candidate.section, candidate.words)
        self.id_of[id(candidate)] = item_id
        item: Item = {"id": item_id, **candidate.fields}
        if candidate.section not in _VERBATIM:
            item = {key: _on_one_line(it) for key, it in item.items()}
        item["source_basis"] = candidate.basis
        item["confidence"] = candidate.confidence
        lines = candidate.lines[-1:] if self.level.spare else candidate.lines
        quotes = [self._row(item, it) for it in lines]
        if not self.level.spare:
            item["source_refs"] = _distinct([self._ref(it) for it in lines])
            item["source_excerpts"] = _distinct(quotes)
        self.items.append((candidate, item))

    def link_items(self) -> None:
        """Links can point forward, so they are resolved after every id is allocated."""
        for candidate, item in self.items:
            for name, others in candidate.links.items():
                ids: list[Json] = [self.id_of[id(it)] for it in others if id(it) in self.id_of]
                if ids:
                    item[name] = ids
            self._list(candidate.section).append(_in_order(candidate.section, item))

    def _row(self, item: Item, line: Sentence) -> str:
        """Add a trace row for one sentence and return its quotation."""
        start, end = self._quote(line)
        words = self.parsed.text[start:end]
        self.rows.append(
            {
                "extracted_item_id": item["id"],
                "source_location": self._location(line),
                "source_excerpt": words,
                "extraction_type": item["source_basis"],
                "source_char_start": start,
                "source_char_end": end,
                **self._continuation(end, line),
            }
        )
        return words

    def _continuation(self, end: int, line: Sentence) -> Item:
        """Fields that make the rest of a sentence verifiable if the quotation is cut."""
        if line.span.end <= end:
            return {}
        whole = line.span.of(self.parsed.text)
        found: Item = {
            "source_span_end": line.span.end,
            "source_span_sha256": hash_span(whole),
        }
        # A chunk can be pages long, and its item already has the whole text.
        if not self.level.spare and line.span.end - end <= MAX_CONTINUATION_CHARS:
            found["source_continuation"] = self.parsed.text[end : line.span.end]
        return found

    def _location(self, line: Sentence) -> str:
        return f"{self._ref(line)}#L{line.block.first_line}-L{line.block.last_line}"

    def _quote(self, line: Sentence) -> tuple[int, int]:
        """Offsets of the quotation: the sentence, cut at a space if it is too long."""
        start, end = line.span.start, line.span.end
        if end - start <= self.longest:
            return start, end
        cut = self.parsed.text.rfind(" ", start + self.longest // 2, start + self.longest)
        return start, cut if cut > 0 else start + self.longest

    def _ref(self, line: Sentence) -> str:
        return self.parsed.parts[0 if self.level.spare else line.part].ref

    def _list(self, section: str) -> list[Json]:
        found = self.body[section]
        assert isinstance(found, list), f"{section} is not a list"
        return found


def _on_one_line(value: Json) -> Json:
    """A text without the line breaks and indents of its source; the quotation keeps them."""
    if isinstance(value, str):
        has_layout = "\n" in value or "  " in value or "\t" in value
        return (_SPACES.sub(" ", value) if has_layout else value).strip()
    if isinstance(value, list):
        return [_on_one_line(it) for it in value]
    if isinstance(value, dict):
        return {key: _on_one_line(it) for key, it in value.items()}
    return value


_SPACES = re.compile(r"\s*[\n\t]\s*|[^\S\n]{2,}")
# Passages of several paragraphs, read as they stand.
_VERBATIM = frozenset({"retrieval_chunks"})


def _distinct(texts: list[str]) -> list[Json]:
    return [*texts] if len(texts) == 1 else [*dict.fromkeys(texts)]


def _in_order(section: str, item: Item) -> Item:
    return {name: item[name] for name in _names(section) if name in item}


@cache
def _names(section: str) -> tuple[str, ...]:
    return tuple(it.name for it in SECTION_BY_KEY[section].fields)
