"""The kernel's own way to fill a source keeps the promises of every source."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest

from pecia.kernel.corpus import texts
from pecia.kernel.corpus.catalog import FileFacts
from pecia.kernel.corpus.index.follow import Follower, Pace
from pecia.kernel.corpus.index.shelf import Shelf
from pecia.kernel.corpus.question import Ask, Mode
from pecia.kernel.corpus.search import Corpus
from pecia.kernel.corpus.windows import Passage, Window, read_window
from pecia.kernel.identity.caller import Caller
from pecia.kernel.text.canonical import RawUnit, UnitKind, canonical_text
from tests.contract.sources import Kit, SourceContract
from tests.unit.kernel.corpus.ground import SOURCE, Ground

pytestmark = pytest.mark.anyio


@dataclass(frozen=True, slots=True)
class KernelKit:
    ground: Ground
    corpus: Corpus

    @property
    def ana(self) -> Caller:
        return self.ground.ana

    @property
    def bo(self) -> Caller:
        return self.ground.bo

    async def put(self, key: str, text: str) -> None:
        read = texts.Text(canonical_text([RawUnit(1, UnitKind.SECTION, text)]))
        async with self.ground.writing(self.ana) as tx:
            await texts.put(tx, FileFacts(SOURCE, key), read)

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

    async def search(self, who: Caller, words: str) -> list[Passage]:
        async with self.ground.store.reading(self.ana) as tx:
            n = await tx.value("SELECT kernel.clock()")
        assert await self.corpus.shelf.wait_for(who.tenant_id, n, 10)
        answer = await self.corpus.search(who, Ask(words, mode=Mode.LEXICAL))
        return [it.passage for it in answer.hits]

    async def window(self, who: Caller, key: str, start: int, size: int) -> Window:
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
    async def kit(self, ground: Ground, tmp_path: Path) -> AsyncGenerator[Kit]:
        async with anyio.create_task_group() as group:
            group.start_soon(Follower(ground.store, tmp_path / "index", Pace(poll_s=0.05)).run)
            yield KernelKit(ground, Corpus(ground.store, Shelf(tmp_path / "index")))
            group.cancel_scope.cancel()
