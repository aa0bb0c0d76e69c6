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

from pecia.kernel.corpus import vectors
from pecia.kernel.corpus.embedder import Embedder
from pecia.kernel.corpus.index.keyword import NONE, KeywordIndex
from pecia.kernel.corpus.index.keyword import Hit as Word
from pecia.kernel.corpus.index.query import Filter, Query
from pecia.kernel.corpus.index.rarity import Visible
from pecia.kernel.corpus.index.shelf import Shelf
from pecia.kernel.corpus.rank.inside import LONG_FILE
from pecia.kernel.corpus.recent import Place, Recent
from pecia.kernel.corpus.vectors import Share
from pecia.kernel.errors import PeciaError
from pecia.kernel.identity.caller import Caller
from pecia.kernel.store.transaction import Transaction

if TYPE_CHECKING:
    from pecia.kernel.corpus.embedder import Vectors

# A caller who sees at least this share is searched without a filter, which the engine does faster.
BROAD = 0.5
EMBED_S = 2.0
# How far what may be seen comes in crowds, as copies of a text do. Of callers who see half, with 10
# of it 2 in 100 searches ask the index again; with 3, 17.
SPREAD = 10


class Asked(NamedTuple):
    """Where is looked, and among what words weigh."""

    within: Filter
    visible: Visible | None


@dataclass(frozen=True, slots=True)
class Words:
    """What the keyword index found, as it was asked. `cursor` is how far it had come; None: no
    index is there, or another version made it. `is_all` says that no more can be found,
    `is_theirs` that nothing hidden is among it, `long` which files may have pages to look for.
    `is_now` says that the index knows just what the database does: then both are facts.
    """

    asked: Asked
    take: int
    found: list[Word]
    cursor: int | None
    is_all: bool
    is_theirs: bool
    long: frozenset[int]
    is_now: bool = False


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is looked for: so many by words and, if it goes by meaning too, so many nearest.

    `few` are enough by words alone where no file has pages to look for.
    """

    text: str
    query: Query
    within: Filter
    by_meaning: bool
    most: int
    few: int
    nearest: int


@dataclass(frozen=True, slots=True)
class Ahead:
    """What the keyword index will say to who last saw that share."""

    share: Share
    words: Awaitable[Words]


@dataclass(frozen=True, slots=True)
class Indexes:
    """Where is looked, and what was seen by whom."""

    shelf: Shelf
    recent: Recent
    embedder: Embedder | None

    def ahead(self, caller: Caller, wanted: Wanted) -> Ahead | None:
        """Begin to look by words; None for one who is not known yet."""
        seen = self.recent.last(_place(caller, wanted))
        if seen is None:
            return None
        share, few_do = seen.share, seen.few_do and not wanted.by_meaning
        take = among(share, wanted.few) if few_do else _take(wanted, share)
        return Ahead(share, self.put(caller, wanted, _asked(wanted, share), take))

    def ask(self, caller: Caller, wanted: Wanted, share: Share) -> Awaitable[Words]:
        return self.put(caller, wanted, _asked(wanted, share), _take(wanted, share))

    def put(self, caller: Caller, wanted: Wanted, asked: Asked, take: int) -> Awaitable[Words]:
        def question(index: KeywordIndex) -> Words:
            cursor = index.cursor()
            least = min(take, wanted.most if wanted.by_meaning else wanted.few)
            within, visible = asked
            found = (
                NONE if cursor is None else index.first(wanted.query, within, take, least, visible)
            )
            long = index.long_groups({it.group for it in found.hits}, LONG_FILE)
            is_theirs = within.classes is not None
            return Words(asked, take, found.hits, cursor, found.is_all, is_theirs, long)

        return self.shelf.ask(caller.tenant_id, question)


@dataclass(slots=True)
class Look:
    """One question on its way through the indexes. `degraded` says what it had to do without."""

    indexes: Indexes
    tx: Transaction
    caller: Caller
    wanted: Wanted
    ahead: Ahead | None = None
    share: Share = field(default_factory=lambda: Share([], 0, 0))
    words: Words | None = None
    vector: "Vectors | None" = None
    nearest: dict[int, float] = field(default_factory=dict[int, float])
    degraded: list[str] = field(default_factory=list[str])

    async def begin(self) -> None:
        """Look both ways, and know what the caller sees."""
        ahead = self.ahead or self.indexes.ahead(self.caller, self.wanted)
        share = ahead.share if ahead else await vectors.share_of(self.tx, self.wanted.within)
        words = ahead.words if ahead else self.indexes.ask(self.caller, self.wanted, share)
        embedder = self._finds(share)

        async def look_near() -> None:
            if embedder is not None:
                await self._embed(embedder)
                await self._find_nearest(embedder, share)

        async def see_again() -> None:
            self.share = await vectors.share_of(self.tx, self.wanted.within) if ahead else share

        # By words alone there is one thing to wait for, and a group of tasks takes .1 ms.
        await (together(see_again, look_near) if embedder else see_again())
        self.words = await words
        if embedder is not None and self._is_short(share):
            await self._find_nearest(embedder, self.share)
        await self._wait_for_own_writes()
        self.indexes.recent.note(_place(self.caller, self.wanted), self.share)

    async def by_words(self) -> Words:
        """The best, mostly as many as are wanted."""
        asked = _asked(self.wanted, self.share)
        if self.words is None or self.words.asked != asked:
            self.words = await self.indexes.ask(self.caller, self.wanted, self.share)
        return self._sifted(self.words)

    async def more_by_words(self) -> Words:
        """Twice as many as the last time, and as many as are wanted."""
        last = await self.by_words()
        take = max(2 * last.take, _take(self.wanted, self.share))
        self.words = await self.indexes.put(self.caller, self.wanted, last.asked, take)
        return self._sifted(self.words)

    def note_few(self, *, did: bool) -> None:
        """Whether the first few by words were enough: the next search begins with as many."""
        self.indexes.recent.note_few(_place(self.caller, self.wanted), did=did)

    def _sifted(self, words: Words) -> Words:
        """Without what is hidden, if the index knows just what the database does: its classes are
        those of the files then. Where it lags or is ahead, every file has to be looked at.
        """
        if words.cursor != self.share.clock:
            return words
        if words.is_theirs:
            return replace(words, is_now=True)
        seen = frozenset(self.share.classes)
        found = [it for it in words.found if it.acl in seen]
        return replace(words, found=found, is_theirs=True, is_now=True)

    def _finds(self, share: Share) -> Embedder | None:
        """Who finds by meaning; None when this search goes by words alone, which is told."""
        if not self.wanted.by_meaning:
            return None
        if share.has_vectors and self.indexes.embedder is not None:
            return self.indexes.embedder
        why = "no embedder is configured" if share.has_vectors else vectors.NO_VECTORS
        self.degraded.append(f"by words alone: {why}")
        return None

    async def _wait_for_own_writes(self) -> None:
        own = self.share.own
        reached = self.words.cursor if self.words else None
        if own > (reached or 0):
            self.words = None
            if not await self.indexes.shelf.wait_for(self.caller.tenant_id, own):
                self.degraded.append("your last writes are not indexed yet: search again shortly")

    async def _embed(self, embedder: Embedder) -> None:
        try:
            with anyio.fail_after(EMBED_S):
                self.vector = (await embedder.embed([self.wanted.text]))[0]
        except TimeoutError:
            self.degraded.append(f"by words alone: the embedder took longer than {EMBED_S:g} s")
        except PeciaError as error:
            self.degraded.append(f"by words alone: {error}")

    async def _find_nearest(self, embedder: Embedder, share: Share) -> None:
        # What must be there word for word is for the keyword arm to find.
        query = self.wanted.query
        if self.vector is not None and not query.phrases and not query.titles:
            asked = (self.vector, embedder.name, self.wanted.nearest, self.wanted.within)
            self.nearest = dict(await vectors.nearest(self.tx, *asked, share))

    def _is_short(self, began_with: Share) -> bool:
        """Whether more might be found by meaning with what is known now."""
        now = self.share
        same = now.chunks <= began_with.chunks and now.classes == began_with.classes
        return not same and len(self.nearest) < min(self.wanted.nearest, now.chunks)


def _place(caller: Caller, wanted: Wanted) -> Place:
    return caller.credential_id, wanted.within.sources


def _asked(wanted: Wanted, share: Share) -> Asked:
    return Asked(_narrowed(wanted, share), share.visible)


def _narrowed(wanted: Wanted, share: Share) -> Filter:
    if _is_broad(share):
        return wanted.within
    return replace(wanted.within, classes=frozenset(share.classes))


def _take(wanted: Wanted, share: Share) -> int:
    """By words alone, mostly the first of them are enough."""
    return among(share, wanted.most) if wanted.by_meaning else wanted.most


def among(share: Share, many: int) -> int:
    """In how many of the best by words so many may be seen: without a filter, some are hidden.

    To ask again takes as long as the first time, and what is asked for too much next to nothing.
    """
    if share.chunks >= share.of_chunks or not _is_broad(share):
        return many
    seen = share.chunks / share.of_chunks
    return math.ceil((many + SPREAD * (1 - seen) * math.sqrt(many)) / seen)


def _is_broad(share: Share) -> bool:
    return share.chunks >= BROAD * share.of_chunks


Arm: TypeAlias = Callable[[], Coroutine[None, None, None]]


async def together(first: Arm, other: Arm) -> None:
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
