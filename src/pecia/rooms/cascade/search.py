"""Search over the concepts of a view: effective text first, and dissent at a lower weight.

Each view has an index of its own, so that no word of a layer can be found by who may not read it.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

import anyio
from anyio.to_thread import run_sync

from pecia.kernel.corpus.index.analyse import DEFAULT_LANGUAGE
from pecia.kernel.corpus.index.keyword import Entry, Hit, KeywordIndex, Query, parse_query
from pecia.kernel.corpus.index.words import STOP_WORDS, language_of
from pecia.kernel.errors import InvalidInput, Json
from pecia.rooms.cascade.layers.reading import Report, quiet
from pecia.rooms.cascade.model import Effective
from pecia.rooms.cascade.view import View
from pecia.rooms.cascade.words import plain_text, read_words

DISSENT = 0.3
"""What a hit in overruled text counts, beside one in the text that holds."""

SNIPPET, BEFORE = 240, 80
BATCH = 500

WRITER_BYTES = 60_000_000
"""Room for the engine while it reads a whole cascade: with less it writes pieces to merge them."""

SAMPLE, SURE = 400, 3
"""How much of a text is looked at, and how many of its function words say the language is known."""


@dataclass(slots=True)
class ConceptIndex:
    """The words of one view."""

    words: KeywordIndex = field(default_factory=lambda: KeywordIndex.in_memory(WRITER_BYTES))
    numbers: dict[str, int] = field(default_factory=dict[str, int])
    ids: list[str] = field(default_factory=list[str])
    language: str = DEFAULT_LANGUAGE

    def update(self, view: View, concepts: Iterable[str], report: Report = quiet) -> None:
        """Take these concepts as they are now. Blocking.

        The engine works beside us on what it was given, so it is made to finish once, at the end.
        """
        waiting = sorted(concepts)
        for start in range(0, len(waiting), BATCH):
            batch = waiting[start : start + BATCH]
            gone = [self._number(it) for it in batch if not view.has(it)]
            come = [it for it in batch if view.has(it)]
            self.words.stage(gone, (entry for it in come for entry in self._entries(view, it)))
            report(start, len(waiting))
        self.words.commit()
        report(len(waiting), len(waiting))

    def best(self, query: Query, limit: int) -> list[tuple[str, float]]:
        """Concepts by score, then by id. Blocking."""
        hits = self.words.search(query, limit=limit * 2 + 20)
        scores: dict[int, float] = {}
        for it in hits:
            scores[it.group] = scores.get(it.group, 0.0) + _weighed(it)
        ranked = sorted((-score, self.ids[group]) for group, score in scores.items())
        return [(concept, -score) for score, concept in ranked[:limit]]

    def _entries(self, view: View, concept: str) -> Sequence[Entry]:
        number = self._number(concept)
        said = read_words(view, concept)
        frontmatter = said.frontmatter
        first = Entry(
            2 * number,
            number,
            key=concept,
            content_type=plain_text(frontmatter.get("type")),
            language=plain_text(frontmatter.get("language")) or self._language(said.body),
            title=plain_text(frontmatter.get("title")),
            headings=said.headings,
            body="\n".join([*said.about(), said.body]),
        )
        if not said.overruled:
            return (first,)
        return first, Entry(2 * number + 1, number, language=first.language, body=said.overruled)

    def _language(self, text: str) -> str:
        """Most texts are in the language of the one before, and asking anew costs more than all."""
        known = STOP_WORDS.get(self.language, frozenset())
        if len(known.intersection(text[:SAMPLE].lower().split())) < SURE:
            self.language = language_of(text) or DEFAULT_LANGUAGE
        return self.language

    def _number(self, concept: str) -> int:
        if concept not in self.numbers:
            self.numbers[concept] = len(self.ids)
            self.ids.append(concept)
        return self.numbers[concept]


@dataclass(slots=True)
class _Kept:
    """The index of a view, and who is at work on it."""

    index: ConceptIndex | None = None
    lock: anyio.Lock = field(default_factory=anyio.Lock)


@dataclass(slots=True)
class Searcher:
    """The indexes of all views that were searched; one goes with its view."""

    _kept: "WeakKeyDictionary[View, _Kept]" = field(
        default_factory=lambda: WeakKeyDictionary[View, _Kept]()
    )

    async def ready(self, view: View, report: Report = quiet) -> ConceptIndex:
        """The index of a view, up to date with it. No view waits for another's."""
        kept = self._kept.setdefault(view, _Kept())
        async with kept.lock:
            if kept.index is None:
                kept.index = await _made(view, report)
            if changed := view.take_changes():
                await run_sync(kept.index.update, view, changed)
            return kept.index

    async def search(self, view: View, text: str, limit: int) -> list[dict[str, Json]]:
        """One result a concept, the best first."""
        query = parse_query(text)
        if not query.asks:
            raise InvalidInput(
                "search query must contain at least one searchable token", field="query"
            )
        index = await self.ready(view)
        found = await run_sync(index.best, query, limit)
        return [
            _result(view, concept, score, query) for concept, score in found if view.has(concept)
        ]


async def _made(view: View, report: Report) -> ConceptIndex:
    """A new index. Who asked may lose patience; the next one should find it done."""
    index = ConceptIndex()
    with anyio.CancelScope(shield=True):
        view.take_changes()
        await run_sync(index.update, view, view.ids, report)
    return index


def snippet(text: str, words: Sequence[str]) -> str:
    """Some of the text around the first word that was asked for, else its beginning."""
    at = _first(text, words)
    start = max(0, at - BEFORE) if at >= 0 else 0
    end = start + SNIPPET
    lead, tail = "..." if start else "", "..." if end < len(text) else ""
    return f"{lead}{text[start:end]}{tail}"


def _first(text: str, words: Sequence[str]) -> int:
    """Where the first of these words stands; where none does, one that begins alike."""
    for wanted in (words, [it[: max(4, len(it) - 3)] for it in words]):
        either = "|".join(re.escape(it) for it in wanted)
        if either and (found := re.search(rf"(?i)(?<!\w)(?:{either})", text)):
            return found.start()
    return -1


def _result(view: View, concept: str, score: float, query: Query) -> dict[str, Json]:
    effective = view.effective(concept)
    words = (*query.words, *query.phrases, *query.titles)
    body = _text_of(effective)
    if _first(body, words) < 0:
        dissent = [it.content for section in effective.sections for it in section.conflicts]
        body = next((it for it in dissent if _first(it, words) >= 0), body)
    title = effective.frontmatter.get("title")
    return {
        "id": concept,
        "title": title if isinstance(title, str) else None,
        "score": round(score, 4),
        "layers": [*effective.layers],
        "snippet": snippet(body, words),
    }


def _weighed(hit: Hit) -> float:
    return hit.score * (DISSENT if hit.id % 2 else 1.0)


def _text_of(it: Effective) -> str:
    return "\n\n".join(section.content for section in it.sections if section.content)
