"""One question to everything a caller may see: by words and by meaning, made one list, read back.

What the indexes say are hints: every hit is read under the caller's rights before it is shown, and
what they may not see changes nothing in the answer but the weight of a word.
"""

from collections.abc import (
    Callable,
    Coroutine,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

import anyio
from anyio.lowlevel import checkpoint_if_cancelled

from pecia.kernel.corpus import catalog, vectors, windows
from pecia.kernel.corpus.embedder import Embedder
from pecia.kernel.corpus.index.keyword import Hit as Word
from pecia.kernel.corpus.index.keyword import KeywordIndex
from pecia.kernel.corpus.index.query import NO_FILTER, Filter, Query
from pecia.kernel.corpus.index.shelf import Shelf
from pecia.kernel.corpus.question import Answer, Ask, Hit, Mode, narrowed, read_query
from pecia.kernel.corpus.rank.diversify import diversify
from pecia.kernel.corpus.rank.evidence import Reading
from pecia.kernel.corpus.rank.explain import explain
from pecia.kernel.corpus.rank.fuse import Fused, fuse, meaning_weight
from pecia.kernel.corpus.rank.inside import HITS_A_FILE, LONG_FILE, Candidate, named_files
from pecia.kernel.corpus.rank.rerank import DEPTH, Ranked, rerank, unranked
from pecia.kernel.corpus.rank.snippet import snippet
from pecia.kernel.corpus.vectors import Share
from pecia.kernel.corpus.windows import Passage
from pecia.kernel.errors import Json, PeciaError
from pecia.kernel.identity.caller import Caller
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.store import Store
from pecia.kernel.store.transaction import Row, Transaction
from pecia.kernel.text.span import Span
from pecia.kernel.text.window import window_around

if TYPE_CHECKING:
    from pecia.kernel.corpus.embedder import Vectors

__all__ = ["Answer", "Ask", "Corpus", "Hit", "Mode"]

SQL = load_queries("pecia.kernel.corpus", "search.sql")

# Candidates that are ranked against each other; what comes after them follows by words alone.
POOL = 100
# As many as are looked at: one that is not found by words, and has so many nearer ones before it,
# does not come among them.
NEAREST = DEPTH
# A caller who sees at least this share is searched without a filter, which the engine does faster.
BROAD = 0.5
EMBED_S = 2.0


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
    nearest: dict[int, float] = field(default_factory=dict[int, float])
    weight: float = 0.0
    has_index: bool = True
    files: dict[int, Row] = field(default_factory=dict[int, Row])
    passages: dict[int, Passage] = field(default_factory=dict[int, Passage])

    async def run(self) -> Answer:
        # A source that is not there, or not to be seen, is an error and not an empty answer.
        for source in sorted(self.within.sources or ()):
            await catalog.get_source(self.tx, source)
        share = await vectors.share_of(self.tx, self.within)
        await self._wait_for_own_writes(share.own)
        embedder = self._embedder(share)
        order = await (self._by_both(embedder, share) if embedder else self._by_words(share))
        hits = await self._hits([*_placed(order[: self.end])][self.ask.offset :])
        return Answer(tuple(hits), len(order) > self.end, tuple(self.degraded))

    @property
    def end(self) -> int:
        """How many places are asked for, with those that are passed over."""
        return self.ask.offset + self.ask.limit

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
        found = await self._find_words(share, may_be_few=True)
        pool = await self._pool(found)
        fused = fuse(pool.scores, {}, weight=0.0, by_file=pool.by_file)
        ranked = await self._looked_at(fused, pool, is_hybrid=False)
        return self._with_rest(ranked, lambda: _following(found, ranked))

    async def _by_both(self, embedder: Embedder, share: Share) -> list[Ranked]:
        """Candidates of both arms, ranked against each other; then the rest, by words."""
        found: list[Word] = []
        pool = _Pool({})

        async def find() -> None:
            nonlocal pool
            found.extend(await self._find_words(share))
            pool = await self._pool(found)

        async def find_near() -> None:
            await self._embed(embedder)
            await self._find_nearest(embedder, share)

        await _together(find, find_near)
        cosines = await self._cosines(embedder, pool)
        self.weight = meaning_weight(self.ask.query, embedder.language) if cosines else 0.0
        fused = fuse(pool.scores, cosines, weight=self.weight, by_file=pool.by_file)
        ranked = await self._looked_at(fused, pool, is_hybrid=bool(cosines))
        return self._with_rest(ranked, lambda: _following(found, ranked))

    async def _embed(self, embedder: Embedder) -> None:
        try:
            with anyio.fail_after(EMBED_S):
                self.vector = (await embedder.embed([self.ask.query]))[0]
        except TimeoutError:
            self.degraded.append(f"by words alone: the embedder took longer than {EMBED_S:g} s")
        except PeciaError as error:
            self.degraded.append(f"by words alone: {error}")

    async def _find_nearest(self, embedder: Embedder, share: Share) -> None:
        # What must be there word for word is for the keyword arm to find.
        if self.vector is not None and not self.query.phrases and not self.query.titles:
            asked = (self.vector, embedder.name, NEAREST, self.within)
            self.nearest = dict(await vectors.nearest(self.tx, *asked, share))

    async def _cosines(self, embedder: Embedder, pool: "_Pool") -> dict[int, float]:
        if self.vector is None:
            return {}
        found = await vectors.cosines(self.tx, [*pool.scores], self.vector, embedder.name)
        return found | self.nearest

    async def _find_words(self, share: Share, *, may_be_few: bool = False) -> list[Word]:
        """The best chunks by words that the caller may see, true to the last of them."""
        if not share.chunks:
            return []
        is_broad = share.chunks >= BROAD * share.of_chunks
        narrow = frozenset(share.classes)
        asked = self.within if is_broad else replace(self.within, classes=narrow)
        take = need = max(POOL, self.end + 1)
        while True:
            found = await self._ask_index(partial(self._searched, asked, take))
            if not self.has_index:
                self.degraded.append("the keyword index is being built: search again shortly")
                return []
            if may_be_few and await self._are_enough(found[:DEPTH]):
                return found[:DEPTH]
            await self._see_files({it.group for it in found})
            kept = [it for it in found if it.group in self.files]
            if len(kept) >= need or len(found) < take:
                return kept[:need]
            take *= 2

    async def _are_enough(self, first: Sequence[Word]) -> bool:
        """Whether these are all that is asked for, all to be seen, and of files without pages to
        look for: then no other file has to be looked at.
        """
        if self.end >= DEPTH:
            return False
        await self._hydrate([it.id for it in first])
        read = (self.passages.get(it.id) for it in first)
        return all(it is not None and it.chunk_count < LONG_FILE for it in read)

    def _searched(self, asked: Filter, take: int, index: KeywordIndex) -> list[Word]:
        # One that is not there, or that another version made, has come nowhere.
        self.has_index = index.cursor() is not None
        return index.search(self.query, asked, take) if self.has_index else []

    async def _see_files(self, ids: Iterable[int]) -> None:
        rows = await self.tx.all(SQL["files"], ids=vectors.as_array(ids))
        self.files |= {row["id"]: row for row in rows}

    async def _pool(self, found: Sequence[Word]) -> "_Pool":
        """What is ranked: the best by words or, where files are named, the best inside those."""
        best = {it.group: it.score for it in reversed(found[:POOL])} if self.files else {}
        files = [Candidate(**self.files[it], best=score) for it, score in best.items()]
        named = named_files(self.ask.query, self.query, files) if self.query.asks else None
        if named is None:
            return _Pool({it.id: it.score for it in found[:POOL]})
        groups = [*named.files]
        most = HITS_A_FILE * len(groups)
        inside = await self._ask_index(lambda index: index.inside(named.query, groups, most))
        by_file = {it.id: named.files[it.group] for it in inside}
        return _Pool({it.id: it.score for it in inside}, by_file, named.close)

    async def _ask_index(self, question: Callable[[KeywordIndex], list[Word]]) -> list[Word]:
        return await self.corpus.shelf.ask(self.caller.tenant_id, question)

    async def _looked_at(
        self, fused: list[Fused], pool: "_Pool", *, is_hybrid: bool
    ) -> list[Ranked]:
        await self._hydrate([it.id for it in fused[:DEPTH]])
        first = [it for it in fused[:DEPTH] if it.id in self.passages]
        readings = {it.id: _reading(self.passages[it.id]) for it in first}
        if is_hybrid and self.ask.rerank:
            looked = rerank(first, readings, self.query, weight=self.weight)
        else:
            looked = unranked(first, readings)
        spread = diversify(looked, readings, pool.close, self.end)
        return self._with_rest(spread, lambda: _unread(fused[DEPTH:], looked))

    def _with_rest(
        self, ranked: list[Ranked], rest: Callable[[], Iterator[Ranked]]
    ) -> list[Ranked]:
        """All of them. Beyond one more than is asked for, nobody looks: it stays unmade."""
        return ranked if len(ranked) > self.end else [*ranked, *rest()]

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


@dataclass(frozen=True, slots=True)
class _Pool:
    """Chunks with their scores by words, what the file of each adds, and files asked for alike."""

    scores: Mapping[int, float]
    by_file: Mapping[int, float] = field(default_factory=dict[int, float])
    close: tuple[int, ...] = ()


async def _together(*arms: Callable[[], Coroutine[None, None, None]]) -> None:
    """Both at once. What fails in one is raised as it is, for the store and the doors know it."""
    try:
        async with anyio.create_task_group() as tasks:
            for arm in arms:
                tasks.start_soon(arm)
    except ExceptionGroup as failed:
        # Of one who went away, the arms fail because their line is cut.
        await checkpoint_if_cancelled()
        raise failed.exceptions[0] from failed


def _reading(it: Passage) -> Reading:
    headings = " ".join(it.headings)
    return Reading(
        it.file_id, it.prefix + it.text, it.title, headings, it.language, page=it.page_no
    )


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
