"""Search over the concepts of a view: effective text first, and dissent at a lower weight.

Each view has an index of its own, so that no word of a layer can be found by who may not read it.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

import anyio
from anyio.to_thread import run_sync

from pecia.kernel.corpus.index.analyse import DEFAULT_LANGUAGE
from pecia.kernel.corpus.index.keyword import Entry, Hit, KeywordIndex, Query, parse_query
from pecia.kernel.corpus.index.words import STOP_WORDS, language_of
from pecia.kernel.errors import InvalidInput, Json
from pecia.kernel.text.frontmatter import body_start
from pecia.rooms.cascade.model import Effective
from pecia.rooms.cascade.view import View

DISSENT = 0.3
"""What a hit in overruled text counts, beside one in the text that holds."""

SNIPPET, BEFORE = 240, 80
BATCH = 5_000

SAMPLE, SURE = 1_000, 3
"""How much of a text is looked at, and how many of its function words say the language is known."""


@dataclass(slots=True)
class ConceptIndex:
    """The words of one view."""

    words: KeywordIndex = field(default_factory=KeywordIndex.in_memory)
    numbers: dict[str, int] = field(default_factory=dict[str, int])
    ids: list[str] = field(default_factory=list[str])
    language: str = DEFAULT_LANGUAGE

    def update(self, view: View, concepts: Iterable[str]) -> None:
        """Take these concepts as they are now. Blocking."""
        waiting = sorted(concepts)
        for start in range(0, len(waiting), BATCH):
            batch = waiting[start : start + BATCH]
            gone = [self._number(it) for it in batch if not view.has(it)]
            come = [it for it in batch if view.has(it)]
            self.words.apply(gone, (entry for it in come for entry in self._entries(view, it)))

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
            content_type=_text(frontmatter.get("type")),
            language=_text(frontmatter.get("language")) or self._language(said.body),
            title=_text(frontmatter.get("title")),
            headings=said.headings,
            body="\n".join([*_about(frontmatter), said.body]),
        )
        if not said.overruled:
            return (first,)
        return first, Entry(2 * number + 1, number, language=first.language, body=said.overruled)

    def _language(self, text: str) -> str:
        """Most texts are in the language of the one before, and asking anew costs more than all."""
        words = set(text[:SAMPLE].lower().split())
        if len(words & STOP_WORDS.get(self.language, frozenset())) < SURE:
            self.language = language_of(text) or DEFAULT_LANGUAGE
        return self.language

    def _number(self, concept: str) -> int:
        if concept not in self.numbers:
            self.numbers[concept] = len(self.ids)
            self.ids.append(concept)
        return self.numbers[concept]


@dataclass(slots=True)
class Searcher:
    """The indexes of all views that were searched; one goes with its view."""

    _indexes: "WeakKeyDictionary[View, ConceptIndex]" = field(
        default_factory=lambda: WeakKeyDictionary[View, ConceptIndex]()
    )
    _lock: anyio.Lock = field(default_factory=anyio.Lock)

    async def ready(self, view: View) -> ConceptIndex:
        """The index of a view, up to date with it."""
        async with self._lock:
            index = self._indexes.get(view)
            if index is None:
                index = await self._made(view)
            if changed := view.take_changes():
                await run_sync(index.update, view, changed)
        return index

    async def _made(self, view: View) -> ConceptIndex:
        """A new index. Who asked may lose patience; the next one should find it done."""
        index = ConceptIndex()
        with anyio.CancelScope(shield=True):
            view.take_changes()
            await run_sync(index.update, view, view.ids)
            self._indexes[view] = index
        return index

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


@dataclass(frozen=True, slots=True)
class Words:
    """What a concept is found by."""

    frontmatter: Mapping[str, Json]
    headings: str
    body: str
    overruled: str = ""


def read_words(view: View, concept: str) -> Words:
    """The words of a concept. Where one layer alone speaks, there is nothing to merge."""
    found = view.contributions(concept)
    document = found[0].document
    if len(found) == 1 and document.ready is None and "override=" not in document.text:
        body = document.text[body_start(document.text) :]
        headings = "\n".join(_HEADING.findall(body))
        return Words(document.frontmatter, _MARKS.sub(" ", headings), body)
    effective = view.effective(concept)
    shown = [it for it in effective.sections if not it.suppressed]
    # A hidden section is found by its heading: that it is hidden may be the answer.
    headings = "\n".join(it.section.clean or "" for it in effective.sections)
    body = "\n\n".join(f"{it.section.heading or ''}\n\n{it.content}" for it in shown)
    overruled = "\n\n".join(it.content for section in shown for it in section.conflicts)
    return Words(effective.frontmatter, _MARKS.sub(" ", headings), body, overruled)


def _about(frontmatter: Mapping[str, Json]) -> Iterator[str]:
    yield _text(frontmatter.get("description"))
    tags = frontmatter.get("tags")
    yield " ".join(_text(it) for it in tags) if isinstance(tags, list) else _text(tags)


def _text_of(it: Effective) -> str:
    return "\n\n".join(section.content for section in it.sections if section.content)


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""


_MARKS = re.compile(r"(?m)^#+|\{[^{}\n]*\}")
_HEADING = re.compile(r"(?m)^#{1,6}[ \t].*$")
