"""One question to everything a caller may see: by words and by meaning, made one list, read back.

What the indexes say are hints: every hit is read under the caller's rights before it is shown, and
no word that they may not see changes anything in the answer.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import NamedTuple

from pecia.kernel.corpus import catalog, vectors, windows
from pecia.kernel.corpus.changes import EMBEDDING
from pecia.kernel.corpus.embedder import Embedder, Vectors
from pecia.kernel.corpus.index.keyword import Hit as Word
from pecia.kernel.corpus.index.lag import IndexLag
from pecia.kernel.corpus.index.query import NO_FILTER, Query
from pecia.kernel.corpus.index.shelf import Shelf
from pecia.kernel.corpus.looking import Ahead, Indexes, Look, Wanted, Words, among
from pecia.kernel.corpus.question import Answer, Ask, Hit, Mode, narrowed, read_query
from pecia.kernel.corpus.rank.diversify import diversify, diversify_first
from pecia.kernel.corpus.rank.evidence import Reading
from pecia.kernel.corpus.rank.explain import explain
from pecia.kernel.corpus.rank.fuse import Fused, fuse, meaning_weight
from pecia.kernel.corpus.rank.inside import HITS_A_FILE, Candidate, named_files
from pecia.kernel.corpus.rank.order import following, placed, unread
from pecia.kernel.corpus.rank.pool import Pool, joined_pool, pool_of
from pecia.kernel.corpus.rank.rerank import DEPTH, Ranked, rerank, unranked
from pecia.kernel.corpus.rank.snippet import Snippet, snippet
from pecia.kernel.corpus.recent import Recent
from pecia.kernel.corpus.windows import Passage
from pecia.kernel.errors import Json
from pecia.kernel.identity.caller import Caller
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.store import Store
from pecia.kernel.store.transaction import Transaction, as_array
from pecia.kernel.text.span import Span
from pecia.kernel.text.window import Slice, window_around

__all__ = ["Answer", "Ask", "Corpus", "Hit", "Mode"]

SQL = load_queries("pecia.kernel.corpus", "search.sql")

# Candidates that are ranked against each other; what comes after them follows by words alone.
POOL = 100
# A page of them. On every set, more never came among the first ten; where a tenth may be seen, 30
# took 2 ms longer.
NEAREST = 20
# So many more than are shown are read first: mostly they tell that no other comes among them.
SPARE = 4


class File(NamedTuple):
    """A file that the caller may see, as the statement `files` reads it."""

    id: int
    key: str
    title: str
    chunks: int


class Found(NamedTuple):
    """The best by words that the caller may see, and their files if one may be asked for by name:
    all of them, or none.
    """

    words: list[Word]
    files: Mapping[int, File]


NOTHING = Found([], {})


@dataclass(frozen=True, slots=True)
class Corpus:
    """Everything that can be searched, for whoever asks."""

    store: Store
    shelf: Shelf
    embedder: Embedder | None = None
    recent: Recent = field(default_factory=Recent)
    lag: IndexLag | None = None

    async def search(self, caller: Caller, ask: Ask) -> Answer:
        """The answer, as the caller may see it at this moment."""
        ahead = self.ahead(caller, ask)
        async with self.store.reading(caller) as tx:
            return await self.search_in(tx, caller, ask, ahead)

    def ahead(self, caller: Caller, ask: Ask) -> Ahead | None:
        """Begin with what needs no transaction, for one who is about to open one."""
        return self._indexes.ahead(caller, _wanted(ask))

    async def search_in(
        self, tx: Transaction, caller: Caller, ask: Ask, ahead: Ahead | None = None
    ) -> Answer:
        """The same, in a transaction of that caller."""
        look = Look(self._indexes, tx, caller, _wanted(ask), ahead)
        if self.lag is not None and (warning := self.lag.warning(caller.tenant_id)):
            look.degraded.append(warning)
        return await _Search(self.shelf, tx, caller, ask, look.wanted.query, look).run()

    @property
    def _indexes(self) -> Indexes:
        return Indexes(self.shelf, self.recent, self.embedder)


def _wanted(ask: Ask) -> Wanted:
    read = read_query(ask.query)
    within, query = narrowed(ask, read.within), replace(read, within=NO_FILTER)
    by_meaning = ask.mode is Mode.HYBRID and query.asks
    most = max(POOL, ask.offset + ask.limit + 1)
    few = DEPTH if ask.offset + ask.limit < DEPTH else most
    return Wanted(ask.query, query, within, by_meaning, most, few, NEAREST)


@dataclass(slots=True)
class _Search:
    """One question on its way."""

    shelf: Shelf
    tx: Transaction
    caller: Caller
    ask: Ask
    query: Query
    look: Look
    weight: float = 0.0
    embedded: frozenset[int] = frozenset()
    cosines: dict[int, float] = field(default_factory=dict[int, float])
    passages: dict[int, Passage] = field(default_factory=dict[int, Passage])

    async def run(self) -> Answer:
        # A source that is not there, not to be seen or off is an error and not an empty answer.
        for source in sorted(self.look.wanted.within.sources or ()):
            await catalog.get_enabled_source(self.tx, source)
        await self.look.begin()
        order = await (self._by_words() if self.look.vector is None else self._by_both())
        hits = await self._hits([*placed(order[: self.end])][self.ask.offset :])
        await self._note_unembedded(hits)
        return Answer(tuple(hits), len(order) > self.end, tuple(self.look.degraded))

    async def _note_unembedded(self, hits: Sequence[Hit]) -> None:
        """Say where hits were ranked without a vector, or might be missing for want of one."""
        embedder = self.look.indexes.embedder
        if self.look.vector is None or embedder is None or not self.look.share.chunks:
            return
        lacking = [it.passage for it in hits if it.passage.id not in self.embedded]
        if lacking:
            is_short = await vectors.are_embedded(self.tx, {it.source_id for it in lacking})
            where = f"for {len(lacking)} of {len(hits)} hits"
        else:
            node = f"{EMBEDDING}{embedder.name}"
            is_short = not hits and await vectors.newest_lack(self.tx, node, embedder.name)
            where = "in what is new"
        if is_short:
            self.look.degraded.append(
                f"by words alone {where}: embeddings are still being made; search again shortly"
            )

    @property
    def end(self) -> int:
        """How many places are asked for, with those that are passed over."""
        return self.ask.offset + self.ask.limit

    async def _by_words(self) -> list[Ranked]:
        """The pool, read and made diverse at its top; then the rest."""
        found = await self._find_words(may_be_few=True)
        pool = await self._pool(found)
        fused = fuse(pool.scores, {}, weight=0.0, by_file=pool.by_file)
        first = await self._first_looked_at(fused, pool)
        ranked = first or await self._looked_at(fused, pool, is_hybrid=False)
        return self._with_rest(ranked, lambda: following(found.words, ranked))

    async def _by_both(self) -> list[Ranked]:
        """Candidates of both arms, ranked against each other; then the rest, by words."""
        found = await self._find_words()
        pool = await self._pool(found)
        cosines = await self._cosines(pool)
        language = self.look.indexes.embedder.language if self.look.indexes.embedder else ""
        self.embedded = frozenset(cosines)
        self.weight = meaning_weight(self.ask.query, language) if cosines else 0.0
        fused = fuse(pool.scores, cosines, weight=self.weight, by_file=pool.by_file)
        ranked = await self._looked_at(fused, pool, is_hybrid=bool(cosines))
        return self._with_rest(ranked, lambda: following(found.words, ranked))

    async def _cosines(self, pool: Pool) -> dict[int, float]:
        """Of all candidates. Those of the pool are known, unless they come out of named files."""
        known = self.cosines
        if pool.by_file and (asked := self._asked()) is not None:
            known = await vectors.cosines(self.tx, [*pool.scores], *asked)
        return {it: known[it] for it in pool.scores if it in known} | self.look.nearest

    async def _find_words(self, *, may_be_few: bool = False) -> Found:
        """The best chunks by words that the caller may see, true to the last of them."""
        if not self.look.share.chunks:
            return NOTHING
        words = await self.look.by_words()
        if may_be_few:
            first = await self._first(words)
            self.look.note_few(did=first is not None)
            if first is not None:
                return Found(first, {})
        most = reach = self.look.wanted.most
        while words.cursor is not None:
            found = words.found[:reach] if words.is_theirs else words.found
            seen = await self._seen(words, found)
            if len(seen.words) >= most or (words.is_all and len(found) == len(words.found)):
                return Found(seen.words[:most], seen.files)
            reach *= 2
            words = await self.look.more_by_words()
        self.look.degraded.append("the keyword index is being built: search again shortly")
        return NOTHING

    async def _first(self, words: Words) -> list[Word] | None:
        """Those that are looked at, if no more are asked for and none is of a file with pages to
        look for: then no other file has to be looked at. None where that is not so.
        """
        if self.end >= DEPTH or words.cursor is None:
            return None
        likely = words.found[: DEPTH if words.is_theirs else among(self.look.share, DEPTH)]
        seen = likely if words.is_now else await self._readable(likely)
        if len(seen) < DEPTH and not (words.is_all and len(likely) == len(words.found)):
            return None
        return None if any(it.group in words.long for it in seen) else seen

    async def _readable(self, found: Sequence[Word]) -> list[Word]:
        await self._hydrate([it.id for it in found])
        return [it for it in found if it.id in self.passages][:DEPTH]

    async def _seen(self, words: Words, found: list[Word]) -> Found:
        """Those of them that the caller may see, each with how near it is, if meaning counts."""
        if words.is_now and not any(it.group in words.long for it in found):
            await self._see_cosines(found)
            return Found(found, {})
        files = await self._see(found)
        return Found([it for it in found if it.group in files], files)

    async def _see_cosines(self, found: Sequence[Word]) -> None:
        if (asked := self._asked()) is not None:
            self.cosines |= await vectors.cosines(self.tx, [it.id for it in found], *asked)

    def _asked(self) -> "tuple[Vectors, str] | None":
        """What is asked by meaning, and whose numbers it is in."""
        embedder = self.look.indexes.embedder
        if self.look.vector is None or embedder is None:
            return None
        return self.look.vector, embedder.name

    async def _see(self, found: Sequence[Word]) -> dict[int, File]:
        """Those of their files that may be seen; where meaning counts, also how near they are."""
        if (asked := self._asked()) is None:
            groups = as_array({it.group for it in found})
            return {it.id: it for it in await self.tx.made(File._make, SQL["files"], ids=groups)}
        pairs = [(it.id, it.group) for it in found]
        near = await vectors.candidates(self.tx, pairs, *asked)
        self.cosines |= {it.chunk_id: it.cosine for it in near if it.cosine is not None}
        return {it.file_id: File(it.file_id, it.key, it.title, it.chunks) for it in near}

    async def _pool(self, found: Found) -> Pool:
        """What is ranked: the best by words and, where files are named, the best inside those."""
        words = found.words[:POOL]
        best = {it.group: it.score for it in reversed(words)} if found.files else {}
        files = [Candidate(*found.files[it], best=score) for it, score in best.items()]
        named = named_files(self.ask.query, self.query, files) if self.query.asks else None
        if named is None:
            return pool_of(words)
        groups = [*named.files]
        most = HITS_A_FILE * len(groups)
        visible = self.look.share.visible
        inside = await self.shelf.ask(
            self.caller.tenant_id, lambda index: index.inside(named.query, groups, most, visible)
        )
        return joined_pool(words, inside, named)

    async def _looked_at(self, fused: list[Fused], pool: Pool, *, is_hybrid: bool) -> list[Ranked]:
        chosen = pool.first(fused, DEPTH)
        await self._hydrate([it.id for it in chosen])
        first = [it for it in chosen if it.id in self.passages]
        readings = {it.id: _reading(self.passages[it.id]) for it in first}
        if is_hybrid and self.ask.rerank:
            looked = rerank(first, readings, self.query, weight=self.weight)
        else:
            looked = unranked(first, readings)
        spread = diversify(looked, readings, pool.close, self.end)
        below = {it.id for it in fused} - {it.id for it in chosen}
        return self._with_rest(
            spread, lambda: unread([it for it in fused if it.id in below], looked)
        )

    async def _first_looked_at(self, fused: list[Fused], pool: Pool) -> list[Ranked] | None:
        """The same by words alone, if the first of them tell which are shown; else None."""
        first, rest = fused[: self.end + SPARE], fused[self.end + SPARE : DEPTH]
        if pool.close or not rest:
            return None
        await self._hydrate([it.id for it in first])
        readings = {it.id: _reading(self.passages[it.id]) for it in first if it.id in self.passages}
        read = unranked(first, readings)
        return diversify_first([*read, *unread(rest, read)], readings, self.end)

    def _with_rest(
        self, ranked: list[Ranked], rest: Callable[[], Iterator[Ranked]]
    ) -> list[Ranked]:
        """All of them. Beyond one more than is asked for, nobody looks: it stays unmade."""
        return ranked if len(ranked) > self.end else [*ranked, *rest()]

    async def _hits(self, page: Sequence[tuple[Ranked, float]]) -> list[Hit]:
        ids = [it.id for it, _ in page]
        await self._hydrate(ids)
        hits = [self.passages[it] for it in ids if it in self.passages]
        around = await windows.neighbours(self.tx, hits)
        shown = {it.id: snippet(it.text, self.query, it.language) for it in hits}
        fields = await self._fields(ids)
        return [
            self._hit(it, rank, shown[it.id], around[it.id], fields.get(it.id, {}))
            for it, rank in page
            if it.id in shown
        ]

    async def _hydrate(self, ids: Sequence[int]) -> None:
        missing = [it for it in ids if it not in self.passages]
        if missing:
            self.passages |= {it.id: it for it in await windows.hydrate(self.tx, missing)}

    async def _fields(self, ids: list[int]) -> dict[int, dict[str, float]]:
        if not self.ask.explain or not ids:
            return {}
        visible = self.look.share.visible
        return await self.shelf.ask(
            self.caller.tenant_id, lambda index: index.explain(self.query, ids, visible)
        )

    def _hit(
        self,
        ranked: Ranked,
        rank: float,
        shown: Snippet,
        around: Sequence[Slice],
        fields: Mapping[str, float],
    ) -> Hit:
        passage = self.passages[ranked.id]
        focus = Span(passage.start + shown.start, passage.start + shown.end)
        return Hit(
            passage,
            window=window_around(around, passage.seq, focus=focus),
            snippet=shown.html,
            rank=rank,
            why=_why(ranked, fields, self.weight) if self.ask.explain else None,
        )


def _reading(it: Passage) -> Reading:
    headings = " ".join(it.headings)
    return Reading(
        it.file_id, it.prefix + it.text, it.title, headings, it.language, page=it.page_no
    )


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
