"""One question to everything a caller may see: by words and by meaning, made one list, read back.

What the indexes say are hints: every hit is read under the caller's rights before it is shown, and
what they may not see changes nothing in the answer but the weight of a word.
"""

from collections.abc import (
    Awaitable,
    Callable,
    Collection,
    Coroutine,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

import anyio

from pecia.kernel.corpus import catalog, vectors, windows
from pecia.kernel.corpus.embedder import Embedder
from pecia.kernel.corpus.index.keyword import Hit as Word
from pecia.kernel.corpus.index.query import NO_FILTER, Filter, Query
from pecia.kernel.corpus.index.shelf import Shelf
from pecia.kernel.corpus.question import Answer, Ask, Hit, Mode, narrowed, read_query
from pecia.kernel.corpus.rank.diversify import diversify
from pecia.kernel.corpus.rank.evidence import Reading
from pecia.kernel.corpus.rank.explain import explain
from pecia.kernel.corpus.rank.fuse import Fused, fuse, meaning_weight
from pecia.kernel.corpus.rank.rerank import DEPTH, Ranked, rerank, unranked
from pecia.kernel.corpus.rank.snippet import snippet
from pecia.kernel.corpus.vectors import Share
from pecia.kernel.corpus.windows import Passage
from pecia.kernel.errors import Json, PeciaError
from pecia.kernel.identity.caller import Caller
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.store import Store
from pecia.kernel.store.transaction import Transaction
from pecia.kernel.text.span import Span
from pecia.kernel.text.window import window_around

if TYPE_CHECKING:
    from pecia.kernel.corpus.embedder import Vectors

__all__ = ["Answer", "Ask", "Corpus", "Hit", "Mode"]

SQL = load_queries("pecia.kernel.corpus", "search.sql")

# Candidates that are ranked against each other; what comes after them follows by words alone.
POOL = 100
NEAREST = 60
# A caller who sees at least this share is searched without a filter, which the engine does faster.
BROAD = 0.5
EMBED_S = 2.0

Seen: TypeAlias = Callable[[list[int]], Awaitable[Collection[int]]]
"""Which of these chunks the caller may see."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """Everything that can be searched, for whoever asks."""

    store: Store
    shelf: Shelf
    embedder: Embedder | None = None

    async def search(self, caller: Caller, ask: Ask) -> Answer:
        """The answer, as the caller may see it at this moment."""
        async with self.store.reading(caller) as tx:
            return await self.search_in(tx, caller, ask)

    async def search_in(self, tx: Transaction, caller: Caller, ask: Ask) -> Answer:
        """The same, in a transaction of that caller."""
        read = read_query(ask.query)
        within, query = narrowed(ask, read.within), replace(read, within=NO_FILTER)
        return await _Search(self, tx, caller, ask, query, within).run()


@dataclass(slots=True)
class _Search:
    """One question on its way."""

    corpus: Corpus
    tx: Transaction
    caller: Caller
    ask: Ask
    query: Query
    within: Filter
    degraded: list[str] = field(default_factory=list[str])
    vector: "Vectors | None" = None
    embedded: anyio.Event = field(default_factory=anyio.Event)
    nearest: dict[int, float] = field(default_factory=dict[int, float])
    compared: dict[int, float | None] = field(default_factory=dict[int, float | None])
    weight: float = 0.0
    passages: dict[int, Passage] = field(default_factory=dict[int, Passage])

    async def run(self) -> Answer:
        # A source that is not there, or not to be seen, is an error and not an empty answer.
        for source in sorted(self.within.sources or ()):
            await catalog.get_source(self.tx, source)
        share = await vectors.share_of(self.tx, self.within)
        await self._wait_for_own_writes(share.own)
        embedder = self._embedder(share)
        order = await (self._by_both(embedder, share) if embedder else self._by_words(share))
        end = self.ask.offset + self.ask.limit
        hits = await self._hits([*_placed(order)][self.ask.offset : end])
        return Answer(tuple(hits), len(order) > end, tuple(self.degraded))

    async def _wait_for_own_writes(self, own: int) -> None:
        if own and not await self.corpus.shelf.wait_for(self.caller.tenant_id, own):
            self.degraded.append("your last writes are not indexed yet: search again shortly")

    def _embedder(self, share: Share) -> Embedder | None:
        """Who finds by meaning; None when this search goes by words alone, which is told."""
        if self.ask.mode is Mode.LEXICAL or not self.query.asks:
            return None
        if share.has_vectors and self.corpus.embedder is not None:
            return self.corpus.embedder
        why = "no embedder is configured" if share.has_vectors else vectors.NO_VECTORS
        self.degraded.append(f"by words alone: {why}")
        return None

    async def _by_words(self, share: Share) -> list[Ranked]:
        """The pool, read and made diverse at its top; then the rest."""
        need = max(DEPTH, self.ask.offset + self.ask.limit + 1)
        # Few are read at once, which says whether they may be seen as well.
        seen = self._visible if need > POOL else self._hydrated
        found = await self._find_words(share, need, seen)
        fused = fuse({it.id: it.score for it in found[:DEPTH]}, {}, weight=0.0)
        ranked = await self._looked_at(fused, is_hybrid=False)
        return [*ranked, *_following(found[DEPTH:], ranked)]

    async def _by_both(self, embedder: Embedder, share: Share) -> list[Ranked]:
        """Candidates of both arms, ranked against each other; then the rest, by words."""
        found: list[Word] = []
        need = max(POOL, self.ask.offset + self.ask.limit + 1)

        async def compared(ids: list[int]) -> Collection[int]:
            return await self._compared(embedder, ids)

        async def find() -> None:
            found.extend(await self._find_words(share, need, compared))

        async def find_near() -> None:
            await self._embed(embedder)
            await self._find_nearest(embedder, share)

        await _together(find, find_near)
        pool = {it.id: it.score for it in found[:POOL]}
        cosines = self._cosines(pool)
        self.weight = meaning_weight(self.ask.query, embedder.language) if cosines else 0.0
        ranked = await self._looked_at(
            fuse(pool, cosines, weight=self.weight), is_hybrid=bool(cosines)
        )
        return [*ranked, *_following(found[POOL:], ranked)]

    async def _embed(self, embedder: Embedder) -> None:
        try:
            with anyio.fail_after(EMBED_S):
                self.vector = (await embedder.embed([self.ask.query]))[0]
        except TimeoutError:
            self.degraded.append(f"by words alone: the embedder took longer than {EMBED_S:g} s")
        except PeciaError as error:
            self.degraded.append(f"by words alone: {error}")
        finally:
            self.embedded.set()

    async def _find_nearest(self, embedder: Embedder, share: Share) -> None:
        # What must be there word for word is for the keyword arm to find.
        if self.vector is not None and not self.query.phrases and not self.query.titles:
            asked = (self.vector, embedder.name, NEAREST, self.within)
            self.nearest = dict(await vectors.nearest(self.tx, *asked, share))

    async def _compared(self, embedder: Embedder, ids: list[int]) -> Collection[int]:
        """Which of these the caller may see; how near they are is noted."""
        await self.embedded.wait()
        if self.vector is None:
            return await self._visible(ids)
        self.compared = await vectors.cosines(self.tx, ids, self.vector, embedder.name)
        return self.compared.keys()

    def _cosines(self, pool: Iterable[int]) -> dict[int, float]:
        """How near the candidates of both arms are. One that waits for its vector is not there."""
        known = ((it, self.compared.get(it)) for it in pool)
        return {id_: cosine for id_, cosine in known if cosine is not None} | self.nearest

    async def _find_words(self, share: Share, need: int, seen: Seen) -> list[Word]:
        """The best chunks by words that the caller may see, true to the last of them."""
        if not share.chunks:
            return []
        is_broad = share.chunks >= BROAD * share.of_chunks
        narrow = frozenset(share.classes)
        asked = self.within if is_broad else replace(self.within, classes=narrow)
        take = need
        while True:
            found = await self._ask_index(asked, take)
            visible = await seen([it.id for it in found])
            kept = [it for it in found if it.id in visible]
            if len(kept) >= need or len(found) < take:
                return kept[:need]
            take *= 2

    async def _ask_index(self, asked: Filter, take: int) -> list[Word]:
        return await self.corpus.shelf.ask(
            self.caller.tenant_id, lambda index: index.search(self.query, asked, take)
        )

    async def _visible(self, ids: list[int]) -> Collection[int]:
        rows = await self.tx.all(SQL["visible"], ids=vectors.as_array(ids))
        return {row["id"] for row in rows}

    async def _hydrated(self, ids: list[int]) -> Collection[int]:
        await self._hydrate(ids)
        return self.passages.keys()

    async def _looked_at(self, fused: list[Fused], *, is_hybrid: bool) -> list[Ranked]:
        await self._hydrate([it.id for it in fused[:DEPTH]])
        first = [it for it in fused[:DEPTH] if it.id in self.passages]
        readings = {it.id: _reading(self.passages[it.id]) for it in first}
        if is_hybrid and self.ask.rerank:
            looked = rerank(first, readings, self.query, weight=self.weight)
        else:
            looked = unranked(first, readings)
        return [*diversify(looked, readings), *_unread(fused[DEPTH:], looked)]

    async def _hits(self, page: Sequence[tuple[Ranked, float]]) -> list[Hit]:
        ids = [it.id for it, _ in page]
        await self._hydrate(ids)
        around = await windows.neighbours(self.tx, ids)
        fields = await self._fields(ids)
        return [
            self._hit(it, rank, around[it.id], fields.get(it.id, {}))
            for it, rank in page
            if it.id in self.passages and it.id in around
        ]

    async def _hydrate(self, ids: Sequence[int]) -> None:
        missing = [it for it in ids if it not in self.passages]
        if missing:
            self.passages |= {it.id: it for it in await windows.hydrate(self.tx, missing)}

    async def _fields(self, ids: list[int]) -> dict[int, dict[str, float]]:
        if not self.ask.explain or not ids:
            return {}
        return await self.corpus.shelf.ask(
            self.caller.tenant_id, lambda index: index.explain(self.query, ids)
        )

    def _hit(
        self,
        ranked: Ranked,
        rank: float,
        around: Sequence[windows.Neighbour],
        fields: Mapping[str, float],
    ) -> Hit:
        passage = self.passages[ranked.id]
        shown = snippet(passage.text, self.query, passage.language)
        focus = Span(passage.start + shown.start, passage.start + shown.end)
        return Hit(
            passage,
            window=window_around(around, passage.seq, focus=focus),
            snippet=shown.html,
            rank=rank,
            why=_why(ranked, fields, self.weight) if self.ask.explain else None,
        )


async def _together(*arms: Callable[[], Coroutine[None, None, None]]) -> None:
    """Both at once. What fails in one is raised as it is, for the store and the doors know it."""
    try:
        async with anyio.create_task_group() as tasks:
            for arm in arms:
                tasks.start_soon(arm)
    except ExceptionGroup as failed:
        raise failed.exceptions[0] from failed


def _reading(it: Passage) -> Reading:
    return Reading(it.file_id, it.prefix + it.text, it.title, " ".join(it.headings), it.language)


def _unread(fused: Sequence[Fused], above: Sequence[Ranked]) -> Iterator[Ranked]:
    """Candidates that were not looked at, below those that were."""
    lowest = above[-1].score if above else 1.0
    for it in fused:
        yield Ranked(it.id, None, min(lowest, it.score), it)


def _following(words: Sequence[Word], above: Sequence[Ranked]) -> Iterator[Ranked]:
    lowest = above[-1].score if above else 1.0
    placed = {it.id for it in above}
    best = words[0].score if words else 1.0
    for it in words:
        if it.id not in placed:
            score = lowest * it.score / best if best else 0.0
            yield Ranked(it.id, it.group, score, Fused(it.id, score, it.score))


def _placed(order: Sequence[Ranked]) -> Iterator[tuple[Ranked, float]]:
    """Each with its rank: 1 for the best, and never more than the one above has."""
    best = order[0].score if order else 0.0
    rank = 1.0
    for it in order:
        rank = min(rank, it.score / best if best > 0 else 0.0)
        yield it, rank


def _why(it: Ranked, fields: Mapping[str, float], weight: float) -> dict[str, Json]:
    why = explain(it, fields, weight=weight)
    return {
        "score": why.score,
        "parts": dict(why.parts),
        "found_by_words": why.found_by_words,
        "cosine": why.cosine,
        "trust": why.trust,
        "evidence": asdict(why.evidence),
    }
