"""Memories like a text: by meaning, by words, and what was kept a moment ago. It changes nothing.

Indexes give hints; every memory is read under the caller's rights before it is compared.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from anyio.to_thread import run_sync

from pecia.kernel.corpus import vectors
from pecia.kernel.corpus.index.keyword import KeywordIndex
from pecia.kernel.corpus.index.query import Filter, Query
from pecia.kernel.corpus.index.words import content_words
from pecia.kernel.corpus.search import Corpus
from pecia.kernel.corpus.vectors import Share
from pecia.kernel.errors import Unavailable
from pecia.kernel.identity.caller import Caller
from pecia.kernel.store.transaction import Transaction, as_array
from pecia.rooms.memory.keeping import SQL, by_files, within
from pecia.rooms.memory.likeness import Asked
from pecia.rooms.memory.meaning import Meaning
from pecia.rooms.memory.model import Memory
from pecia.rooms.memory.place import SOURCE, Area

# So many of the last writes are looked at where the index does not hold them yet.
NEWEST = 200
HERE = Filter(sources=frozenset({SOURCE}))


@dataclass(frozen=True, slots=True)
class Alike:
    """A memory, and how like the question it is."""

    memory: Memory
    similarity: float
    cosine: float | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """`most` of each way to find are looked at. `everything`: the unlike ones too.

    `patient`: where many writes are not indexed yet, the index is waited for, two seconds at most.
    """

    text: str
    areas: tuple[Area, ...]
    most: int
    everything: bool = False
    patient: bool = True


@dataclass(frozen=True, slots=True)
class Finder:
    """Looks in the parts of the source that it is told to."""

    corpus: Corpus

    async def find(
        self, tx: Transaction, caller: Caller, question: Question, meaning: Meaning
    ) -> list[Alike]:
        """What is like the question, the most alike first."""
        share = await vectors.share_of(tx, HERE)
        if not share.chunks:
            return []
        looking = _Looking(self.corpus, tx, caller, question, share)
        return await looking.run(meaning)


@dataclass(slots=True)
class _Looking:
    """One question on its way."""

    corpus: Corpus
    tx: Transaction
    caller: Caller
    question: Question
    share: Share
    cosines: dict[int, float] = field(default_factory=dict[int, float])
    files: dict[int, int] = field(default_factory=dict[int, int])
    """The file of each chunk that may answer."""

    async def run(self, meaning: Meaning) -> list[Alike]:
        vector = meaning.of(self.question.text) if self.share.has_vectors else None
        if vector is not None:
            await self._near(vector, meaning.model)
        by_words = await self._by_words()
        await self._see([*self.cosines, *by_words])
        if self.question.everything or not await self._is_indexed():
            await self._newest()
        if vector is not None:
            left = [it for it in self.files if it not in self.cosines]
            self.cosines |= await vectors.cosines(self.tx, left, vector, meaning.model)
        return await self._compared()

    async def _near(self, vector: vectors.QueryVector, model: str) -> None:
        for area in self.question.areas:
            asked = (
                vector,
                model,
                self.question.most,
                Filter(HERE.classes, HERE.sources, area.glob),
            )
            self.cosines |= dict(await vectors.nearest(self.tx, *asked, self.share))

    async def _by_words(self) -> list[int]:
        words = Query(words=tuple(content_words(self.question.text)))
        classes = frozenset(self.share.classes)
        found: list[int] = []
        for area in self.question.areas:
            here = Filter(classes, HERE.sources, area.glob)
            found += await self._ask_index(words, here)
        return found

    async def _ask_index(self, words: Query, here: Filter) -> list[int]:
        visible = self.share.visible

        def ask(index: KeywordIndex) -> list[int]:
            if not words.words or index.cursor() is None:
                return []
            return [it.id for it in index.search(words, here, self.question.most, visible)]

        try:
            return await self.corpus.shelf.ask(self.caller.tenant_id, ask)
        except Unavailable:
            # One that cannot be read is built anew by its keeper; the newest are looked at.
            return []

    async def _is_indexed(self) -> bool:
        clock: int = await self.tx.value(SQL["clock"])
        try:
            return await run_sync(self.corpus.shelf.reached, self.caller.tenant_id) >= clock
        except (Unavailable, FileNotFoundError):
            return False

    async def _see(self, chunks: Sequence[int]) -> None:
        rows = await self.tx.all(SQL["files_of"], ids=as_array(dict.fromkeys(chunks)))
        self.files |= {row["id"]: row["file_id"] for row in rows}

    async def _newest(self) -> None:
        """What was written last; where that may not be all of it, the index is waited for."""
        looked_at: set[int] = set()
        for area in self.question.areas:
            rows = await self.tx.all(SQL["newest"], most=NEWEST, **within(area))
            self.files |= {row["id"]: row["file_id"] for row in rows}
            looked_at |= {row["file_id"] for row in rows}
        if self.question.patient and len(looked_at) >= NEWEST and await self._waited():
            await self._see(await self._by_words())

    async def _waited(self) -> bool:
        try:
            return await self.corpus.shelf.wait_for(self.caller.tenant_id, self.share.own)
        except (Unavailable, FileNotFoundError):
            return False

    async def _compared(self) -> list[Alike]:
        best: dict[int, float] = {}
        for chunk, file in self.files.items():
            cosine = self.cosines.get(chunk)
            if cosine is not None:
                best[file] = max(cosine, best.get(file, -1.0))
        memories = await by_files(self.tx, list(dict.fromkeys(self.files.values())))
        asked = Asked(self.question.text)
        found = [
            Alike(it, asked.similarity(it.text, best.get(it.file_id)), best.get(it.file_id))
            for it in memories
            if not it.is_retired
        ]
        return sorted(found, key=lambda it: (-it.similarity, it.memory.id))
