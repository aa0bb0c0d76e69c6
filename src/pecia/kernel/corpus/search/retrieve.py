"""What both indexes say to a question. Hints: nothing of it is shown before it is read.

For one who asked before, both are asked at once, while it is read what that one may see now: the
keyword index even before there is a transaction. What was found with a share that is no longer
theirs is not used.
"""

import math
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import anyio
from anyio.lowlevel import checkpoint_if_cancelled

from pecia.kernel.corpus.keyword.idf import Visible
from pecia.kernel.corpus.keyword.index import NO_HITS, KeywordIndex
from pecia.kernel.corpus.keyword.index import KeywordHit as Word
from pecia.kernel.corpus.keyword.query.parser import Filter, Query
from pecia.kernel.corpus.keyword.reader_cache import ReaderCache
from pecia.kernel.corpus.search.named_files import LONG_FILE_CHUNKS
from pecia.kernel.corpus.vectors import knn
from pecia.kernel.corpus.vectors.embedder import Embedder
from pecia.kernel.corpus.vectors.knn import VisibleSet
from pecia.kernel.corpus.visibility import VisibilityCache, VisibilityKey
from pecia.kernel.errors import PeciaError
from pecia.kernel.identity.caller import Caller
from pecia.kernel.store.transaction import Transaction

if TYPE_CHECKING:
    from pecia.kernel.corpus.vectors.embedder import Vectors

# A caller who sees at least this share is searched without a filter, which the engine does faster.
BROAD_VISIBILITY = 0.5
EMBED_TIMEOUT_S = 2.0
# How far what may be seen comes in crowds, as copies of a text do. Of callers who see half, with 10
# of it 2 in 100 searches ask the index again; with 3, 17.
HIDDEN_CLUSTER_FACTOR = 10


class Asked(NamedTuple):
    """Where is looked, and among what words weigh."""

    within: Filter
    visible: Visible | None


@dataclass(frozen=True, slots=True)
class KeywordHits:
    """What the keyword index found, as it was asked. `cursor` is how far it had come; None: no
    index is there, or another version made it. `is_all` says that no more can be found,
    `is_theirs` that nothing hidden is among it, `long` which files may have pages to look for.
    `is_now` says that the index knows just what the database does: then both are facts.
    """

    search_filter: Asked
    limit: int
    found: list[Word]
    cursor: int | None
    is_complete: bool
    is_theirs: bool
    long: frozenset[int]
    is_now: bool = False


@dataclass(frozen=True, slots=True)
class SearchPlan:
    """What is looked for: so many by words and, if it goes by meaning too, so many nearest.

    `few` are enough by words alone where no file has pages to look for.
    """

    text: str
    query: Query
    within: Filter
    is_semantic: bool
    max_hits: int
    few_hits: int
    max_nearest: int


@dataclass(frozen=True, slots=True)
class Prefetch:
    """What the keyword index will say to who last saw that share."""

    visible: VisibleSet
    hits: Awaitable[KeywordHits]


@dataclass(frozen=True, slots=True)
class SearchIndexes:
    """Where is looked, and what was seen by whom."""

    reader_cache: ReaderCache
    visibility_cache: VisibilityCache
    embedder: Embedder | None

    def prefetch(self, caller: Caller, wanted: SearchPlan) -> Prefetch | None:
        """Begin to look by words; None for one who is not known yet."""
        seen = self.visibility_cache.get(_visibility_key(caller, wanted))
        if seen is None:
            return None
        share, few_do = seen.visible, seen.few_suffice and not wanted.is_semantic
        take = overfetch(share, wanted.few_hits) if few_do else _keyword_limit(wanted, share)
        return Prefetch(
            share, self.submit_keyword_query(caller, wanted, _asked(wanted, share), take)
        )

    def query_keywords(
        self, caller: Caller, wanted: SearchPlan, share: VisibleSet
    ) -> Awaitable[KeywordHits]:
        return self.submit_keyword_query(
            caller, wanted, _asked(wanted, share), _keyword_limit(wanted, share)
        )

    def submit_keyword_query(
        self, caller: Caller, wanted: SearchPlan, asked: Asked, take: int
    ) -> Awaitable[KeywordHits]:
        def question(index: KeywordIndex) -> KeywordHits:
            cursor = index.cursor()
            least = min(take, wanted.max_hits if wanted.is_semantic else wanted.few_hits)
            within, visible = asked
            found = (
                NO_HITS if cursor is None else index.top(wanted.query, within, take, least, visible)
            )
            long = index.long_groups({it.group for it in found.hits}, LONG_FILE_CHUNKS)
            is_theirs = within.classes is not None
            return KeywordHits(asked, take, found.hits, cursor, found.is_all, is_theirs, long)

        return self.reader_cache.submit(caller.tenant_id, question)


@dataclass(slots=True)
class Retrieval:
    """One question on its way through the indexes. `degraded` says what it had to do without."""

    indexes: SearchIndexes
    tx: Transaction
    caller: Caller
    plan: SearchPlan
    prefetch: Prefetch | None = None
    visible: VisibleSet = field(default_factory=lambda: VisibleSet([], 0, 0))
    hits: KeywordHits | None = None
    vector: "Vectors | None" = None
    nearest: dict[int, float] = field(default_factory=dict[int, float])
    degraded: list[str] = field(default_factory=list[str])

    async def start(self) -> None:
        """Look both ways, and know what the caller sees."""
        ahead = self.prefetch or self.indexes.prefetch(self.caller, self.plan)
        share = ahead.visible if ahead else await knn.load_visible_set(self.tx, self.plan.within)
        words = ahead.hits if ahead else self.indexes.query_keywords(self.caller, self.plan, share)
        embedder = self._choose_embedder(share)

        async def look_near() -> None:
            if embedder is not None:
                await self._embed(embedder)
                await self._find_nearest(embedder, share)

        async def see_again() -> None:
            self.visible = await knn.load_visible_set(self.tx, self.plan.within) if ahead else share

        # By words alone there is one thing to wait for, and a group of tasks takes .1 ms.
        await (run_both(see_again, look_near) if embedder else see_again())
        self.hits = await words
        if embedder is not None and self._may_find_more(share):
            await self._find_nearest(embedder, self.visible)
        await self._wait_for_own_writes()
        self.indexes.visibility_cache.put(_visibility_key(self.caller, self.plan), self.visible)

    async def lexical_hits(self) -> KeywordHits:
        """The best, mostly as many as are wanted."""
        asked = _asked(self.plan, self.visible)
        if self.hits is None or self.hits.search_filter != asked:
            self.hits = await self.indexes.query_keywords(self.caller, self.plan, self.visible)
        return self._drop_hidden(self.hits)

    async def more_lexical_hits(self) -> KeywordHits:
        """Twice as many as the last time, and as many as are wanted."""
        last = await self.lexical_hits()
        take = max(2 * last.limit, _keyword_limit(self.plan, self.visible))
        self.hits = await self.indexes.submit_keyword_query(
            self.caller, self.plan, last.search_filter, take
        )
        return self._drop_hidden(self.hits)

    def record_few(self, *, did: bool) -> None:
        """Whether the first few by words were enough: the next search begins with as many."""
        self.indexes.visibility_cache.record_few(_visibility_key(self.caller, self.plan), did=did)

    def _drop_hidden(self, words: KeywordHits) -> KeywordHits:
        """Without what is hidden, if the index knows just what the database does: its classes are
        those of the files then. Where it lags or is ahead, every file has to be looked at.
        """
        if words.cursor != self.visible.clock:
            return words
        if words.is_theirs:
            return replace(words, is_now=True)
        seen = frozenset(self.visible.classes)
        found = [it for it in words.found if it.acl in seen]
        return replace(words, found=found, is_theirs=True, is_now=True)

    def _choose_embedder(self, share: VisibleSet) -> Embedder | None:
        """Who finds by meaning; None when this search goes by words alone, which is told."""
        if not self.plan.is_semantic:
            return None
        if share.has_vectors and self.indexes.embedder is not None:
            return self.indexes.embedder
        why = "no embedder is configured" if share.has_vectors else knn.NO_VECTOR_EXTENSION
        self.degraded.append(f"by words alone: {why}")
        return None

    async def _wait_for_own_writes(self) -> None:
        own = self.visible.own
        reached = self.hits.cursor if self.hits else None
        if own > (reached or 0):
            self.hits = None
            if not await self.indexes.reader_cache.wait_for_commit(self.caller.tenant_id, own):
                self.degraded.append("your last writes are not indexed yet: search again shortly")

    async def _embed(self, embedder: Embedder) -> None:
        try:
            with anyio.fail_after(EMBED_TIMEOUT_S):
                self.vector = (await embedder.embed([self.plan.text]))[0]
        except TimeoutError:
            self.degraded.append(
                f"by words alone: the embedder took longer than {EMBED_TIMEOUT_S:g} s"
            )
        except PeciaError as error:
            self.degraded.append(f"by words alone: {error}")

    async def _find_nearest(self, embedder: Embedder, share: VisibleSet) -> None:
        # What must be there word for word is for the keyword arm to find.
        query = self.plan.query
        if self.vector is not None and not query.phrases and not query.titles:
            asked = (self.vector, embedder.name, self.plan.max_nearest, self.plan.within)
            self.nearest = dict(await knn.find_nearest(self.tx, *asked, share))

    def _may_find_more(self, began_with: VisibleSet) -> bool:
        """Whether more might be found by meaning with what is known now."""
        now = self.visible
        same = now.chunks <= began_with.chunks and now.classes == began_with.classes
        return not same and len(self.nearest) < min(self.plan.max_nearest, now.chunks)


def _visibility_key(caller: Caller, wanted: SearchPlan) -> VisibilityKey:
    return caller.credential_id, wanted.within.sources


def _asked(wanted: SearchPlan, share: VisibleSet) -> Asked:
    return Asked(_with_acl_filter(wanted, share), share.visible)


def _with_acl_filter(wanted: SearchPlan, share: VisibleSet) -> Filter:
    if _is_broad(share):
        return wanted.within
    return replace(wanted.within, classes=frozenset(share.classes))


def _keyword_limit(wanted: SearchPlan, share: VisibleSet) -> int:
    """By words alone, mostly the first of them are enough."""
    return overfetch(share, wanted.max_hits) if wanted.is_semantic else wanted.max_hits


def overfetch(share: VisibleSet, many: int) -> int:
    """In how many of the best by words so many may be seen: without a filter, some are hidden.

    To ask again takes as long as the first time, and what is asked for too much next to nothing.
    """
    if share.chunks >= share.of_chunks or not _is_broad(share):
        return many
    seen = share.chunks / share.of_chunks
    return math.ceil((many + HIDDEN_CLUSTER_FACTOR * (1 - seen) * math.sqrt(many)) / seen)


def _is_broad(share: VisibleSet) -> bool:
    return share.chunks >= BROAD_VISIBILITY * share.of_chunks


RetrieverTask: TypeAlias = Callable[[], Coroutine[None, None, None]]


async def run_both(first: RetrieverTask, other: RetrieverTask) -> None:
    """Both at once: the other goes on where the first has to wait. What fails in one is raised as
    it is, for the store and the doors know it.
    """
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(other)
            await first()
    except ExceptionGroup as failed:
        # Of one who went away, the arms fail because their line is cut.
        await checkpoint_if_cancelled()
        raise failed.exceptions[0] from failed
