"""The kernel's own way to fill a source keeps the promises of every source."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest

from pecia.kernel.corpus.catalog import texts
from pecia.kernel.corpus.catalog.catalog import FileMetadata
from pecia.kernel.corpus.keyword.follower import FollowerIntervals, IndexFollower
from pecia.kernel.corpus.keyword.reader_cache import ReaderCache
from pecia.kernel.corpus.search.hydrate import ChunkWindow, HydratedChunk, read_window
from pecia.kernel.corpus.search.plan import SearchMode, SearchRequest
from pecia.kernel.corpus.search.search import Corpus
from pecia.kernel.identity.caller import Caller
from pecia.kernel.text.canonical import RawUnit, UnitKind, build_canonical_text
from tests.contract.sources import Kit, SourceContract
from tests.unit.kernel.corpus.corpus_fixture import SOURCE, CorpusFixture

pytestmark = pytest.mark.anyio


@dataclass(frozen=True, slots=True)
class KernelKit:
    ground: CorpusFixture
    corpus: Corpus

    @property
    def ana(self) -> Caller:
        return self.ground.ana

    @property
    def bo(self) -> Caller:
        return self.ground.bo

    async def put(self, key: str, text: str) -> None:
        read = texts.ExtractedText(build_canonical_text([RawUnit(1, UnitKind.SECTION, text)]))
        async with self.ground.writing(self.ana) as tx:
            await texts.put(tx, FileMetadata(SOURCE, key), read)

    async def move(self, key: str, to: str) -> None:
        async with self.ground.writing(self.ana) as tx:
            await texts.move(tx, SOURCE, key, to)

    async def remove(self, key: str) -> None:
        async with self.ground.writing(self.ana) as tx:
            await texts.remove(tx, SOURCE, key)

    async def purge(self, key: str) -> None:
        async with self.ground.writing(self.ana) as tx:
            await texts.purge(tx, SOURCE, key)

    async def grant(self, folder: str) -> None:
        await self.ground.ask(
            "INSERT INTO kernel.folder_grant SELECT tenant_id, %s, %s, principal_id, 'reader'"
            " FROM kernel.user_account WHERE id = %s",
            *(SOURCE, folder, self.bo.user_id),
        )

    async def revoke(self, folder: str) -> None:
        await self.ground.ask("DELETE FROM kernel.folder_grant WHERE prefix = %s", folder)

    async def search(self, who: Caller, words: str) -> list[HydratedChunk]:
        async with self.ground.store.reading(self.ana) as tx:
            n = await tx.fetch_value("SELECT kernel.clock()")
        assert await self.corpus.reader_cache.wait_for_commit(who.tenant_id, n, 10)
        answer = await self.corpus.search(who, SearchRequest(words, mode=SearchMode.LEXICAL))
        return [it.passage for it in answer.hits]

    async def window(self, who: Caller, key: str, start: int, size: int) -> ChunkWindow:
        async with self.ground.store.reading(who) as tx:
            return await read_window(tx, SOURCE, key, start, size)

    async def everything(self) -> str:
        tables = await self.ground.ask(
            "SELECT oid::regclass::text FROM pg_class"
            " WHERE relkind = 'r' AND relnamespace::regnamespace::text IN ('kernel', 'jobs')"
            "   AND relname <> 'seal'"
        )
        return "".join(
            [str(await self.ground.ask(f"SELECT t::text FROM {it} t")) for (it,) in tables]
        )


class TestKernelSource(SourceContract):
    @pytest.fixture
    async def kit(self, ground: CorpusFixture, tmp_path: Path) -> AsyncGenerator[Kit]:
        async with anyio.create_task_group() as group:
            group.start_soon(
                IndexFollower(ground.store, tmp_path / "index", FollowerIntervals(poll_s=0.05)).run
            )
            yield KernelKit(ground, Corpus(ground.store, ReaderCache(tmp_path / "index")))
            group.cancel_scope.cancel()
