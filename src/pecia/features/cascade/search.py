"""Search over the concepts of a view: effective text first, and dissent at a lower weight.

Each view has its own index, so that no term of a layer is searchable without the right to read it.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

import anyio
from anyio.to_thread import run_sync

from pecia.features.cascade.core.search_text import extract_concept_text, text_or_empty
from pecia.features.cascade.core.view import CascadeView
from pecia.features.cascade.layers.layer import ReportProgress, no_progress
from pecia.features.cascade.model import EffectiveConcept
from pecia.kernel.corpus.keyword.analysis.token_filters import STOP_WORDS, detect_language
from pecia.kernel.corpus.keyword.analysis.tokenizer import DEFAULT_LANGUAGE
from pecia.kernel.corpus.keyword.index import (
    IndexEntry,
    KeywordHit,
    KeywordIndex,
    Query,
    parse_query,
)
from pecia.kernel.errors import InvalidInput, Json

DISSENT_WEIGHT = 0.3
"""Weight of a hit in dissent, relative to effective text."""

SNIPPET_CHARS, SNIPPET_LEAD_CHARS = 240, 80
BATCH_SIZE = 500

WRITER_BYTES = 60_000_000
"""Writer buffer for indexing a whole cascade: with less, it flushes and merges segments."""

SAMPLE, MIN_KNOWN_WORDS = 400, 3
"""Prefix of a text used for language detection, and stop words needed for a match."""


@dataclass(slots=True)
class ConceptIndex:
    """The keyword index of one view."""

    keywords: KeywordIndex = field(default_factory=lambda: KeywordIndex.in_memory(WRITER_BYTES))
    numbers: dict[str, int] = field(default_factory=dict[str, int])
    ids: list[str] = field(default_factory=list[str])
    language: str = DEFAULT_LANGUAGE

    def update(
        self, view: CascadeView, concepts: Iterable[str], report: ReportProgress = no_progress
    ) -> None:
        """Reindex these concepts. Blocking.

        The engine indexes in the background, so there is one commit, at the end.
        """
        waiting = sorted(concepts)
        for start in range(0, len(waiting), BATCH_SIZE):
            batch = waiting[start : start + BATCH_SIZE]
            gone = [self._number(it) for it in batch if not view.has(it)]
            come = [it for it in batch if view.has(it)]
            self.keywords.stage(gone, (entry for it in come for entry in self._entries(view, it)))
            report(start, len(waiting))
        self.keywords.commit()
        report(len(waiting), len(waiting))

    def search(self, query: Query, limit: int) -> list[tuple[str, float]]:
        """Concepts by score, then by id. Blocking."""
        hits = self.keywords.search(query, limit=limit * 2 + 20)
        scores: dict[int, float] = {}
        for it in hits:
            scores[it.group] = scores.get(it.group, 0.0) + _weighted_score(it)
        ranked = sorted((-score, self.ids[group]) for group, score in scores.items())
        return [(concept, -score) for score, concept in ranked[:limit]]

    def _entries(self, view: CascadeView, concept: str) -> Sequence[IndexEntry]:
        number = self._number(concept)
        text = extract_concept_text(view, concept)
        frontmatter = text.frontmatter
        first = IndexEntry(
            2 * number,
            number,
            key=concept,
            content_type=text_or_empty(frontmatter.get("type")),
            language=text_or_empty(frontmatter.get("language")) or self._language(text.body),
            title=text_or_empty(frontmatter.get("title")),
            headings=text.headings,
            body="\n".join([*text.frontmatter_texts(), text.body]),
        )
        if not text.dissent:
            return (first,)
        return first, IndexEntry(2 * number + 1, number, language=first.language, body=text.dissent)

    def _language(self, text: str) -> str:
        """Try the previous text's language first: detection costs more than all else."""
        known = STOP_WORDS.get(self.language, frozenset())
        if len(known.intersection(text[:SAMPLE].lower().split())) < MIN_KNOWN_WORDS:
            self.language = detect_language(text) or DEFAULT_LANGUAGE
        return self.language

    def _number(self, concept: str) -> int:
        if concept not in self.numbers:
            self.numbers[concept] = len(self.ids)
            self.ids.append(concept)
        return self.numbers[concept]


@dataclass(slots=True)
class _ViewIndex:
    """The index of a view, and its running build."""

    index: ConceptIndex | None = None
    lock: anyio.Lock = field(default_factory=anyio.Lock)


@dataclass(slots=True)
class ConceptSearcher:
    """Indexes of the searched views; dropped with their view."""

    _indexes: "WeakKeyDictionary[CascadeView, _ViewIndex]" = field(
        default_factory=lambda: WeakKeyDictionary[CascadeView, _ViewIndex]()
    )

    async def get_index(
        self, view: CascadeView, report: ReportProgress = no_progress
    ) -> ConceptIndex:
        """The up-to-date index of a view. Views do not wait for each other."""
        kept = self._indexes.setdefault(view, _ViewIndex())
        async with kept.lock:
            if kept.index is None:
                kept.index = await _build_index(view, report)
            if changed := view.take_changes():
                await run_sync(kept.index.update, view, changed)
            return kept.index

    async def search(self, view: CascadeView, text: str, limit: int) -> list[dict[str, Json]]:
        """One result per concept, best first."""
        query = parse_query(text)
        if not query.has_terms:
            raise InvalidInput(
                "search query must contain at least one searchable token", field="query"
            )
        index = await self.get_index(view)
        found = await run_sync(index.search, query, limit)
        return [
            _result(view, concept, score, query) for concept, score in found if view.has(concept)
        ]


async def _build_index(view: CascadeView, report: ReportProgress) -> ConceptIndex:
    """A new index. If the caller gives up, the next one finds it done."""
    index = ConceptIndex()
    with anyio.CancelScope(shield=True):
        view.take_changes()
        await run_sync(index.update, view, view.ids, report)
    return index


def extract_snippet(text: str, words: Sequence[str]) -> str:
    """The text around the first query term, else its beginning."""
    at = _first_match(text, words)
    start = max(0, at - SNIPPET_LEAD_CHARS) if at >= 0 else 0
    end = start + SNIPPET_CHARS
    lead, tail = "..." if start else "", "..." if end < len(text) else ""
    return f"{lead}{text[start:end]}{tail}"


def _first_match(text: str, words: Sequence[str]) -> int:
    """Position of the first of these words, else of one with the same prefix."""
    for wanted in (words, [it[: max(4, len(it) - 3)] for it in words]):
        either = "|".join(re.escape(it) for it in wanted)
        if either and (found := re.search(rf"(?i)(?<!\w)(?:{either})", text)):
            return found.start()
    return -1


def _result(view: CascadeView, concept: str, score: float, query: Query) -> dict[str, Json]:
    effective = view.effective(concept)
    words = (*query.words, *query.phrases, *query.titles)
    body = _snippet_text(effective)
    if _first_match(body, words) < 0:
        dissent = [it.content for section in effective.sections for it in section.conflicts]
        body = next((it for it in dissent if _first_match(it, words) >= 0), body)
    title = effective.frontmatter.get("title")
    return {
        "id": concept,
        "title": title if isinstance(title, str) else None,
        "score": round(score, 4),
        "layers": [*effective.layers],
        "snippet": extract_snippet(body, words),
    }


def _weighted_score(hit: KeywordHit) -> float:
    return hit.score * (DISSENT_WEIGHT if hit.id % 2 else 1.0)


def _snippet_text(it: EffectiveConcept) -> str:
    return "\n\n".join(section.content for section in it.sections if section.content)
