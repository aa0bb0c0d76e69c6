"""A house with a folder that is a source of it, crawled and indexed when a test says so."""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from pecia.app.app import index_root
from pecia.kernel.corpus.keyword.writer import IndexWriter
from pecia.kernel.jobs.worker import run_until_idle
from pecia.kernel.store.cluster import Cluster
from tests.conftest import House, open_test_app, with_callers
from tests.database import fresh_database

SOURCE = "docs"


@dataclass(frozen=True, slots=True)
class Lake:
    """`folder` is the source `docs`, which everybody sees unless a test takes that away."""

    house: House
    folder: Path

    def write(self, files: Mapping[str, str | bytes]) -> None:
        for key, body in files.items():
            path = self.folder / key
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(body if isinstance(body, bytes) else body.encode())

    async def crawl(self, source: str = SOURCE) -> dict[str, Any]:
        """Crawl to the end, and index what was found."""
        house = self.house
        await house.call(house.ana, "crawl_source", source_id=source)
        await run_until_idle(house.app.store, house.app.jobs)
        await self.index()
        return await house.call(house.ana, "crawl_status", source_id=source)

    async def index(self) -> None:
        app = self.house.app
        root = index_root(app.settings.kernel)
        keeper = await IndexWriter.acquire(app.store, "test", root, self.house.ana.tenant_id)
        assert keeper is not None
        if await keeper.catch_up() is None:
            await keeper.rebuild()
        await keeper.close()

    async def search(self, query: str, **more: Any) -> dict[str, Any]:
        who = more.pop("who", self.house.ana)
        return await self.house.call(who, "search_content", query=query, **more)


@pytest.fixture
async def lake(house: House, tmp_path: Path) -> Lake:
    return await _add_docs(house, tmp_path)


OpenLake: TypeAlias = Callable[[Path], AbstractAsyncContextManager[Lake]]


@pytest.fixture(scope="module")
def open_lake(cluster: Cluster, template: str) -> OpenLake:
    """Opens one below a folder, for all tests of a file that only search it.

    Such a file has an `anyio_backend` of the module.
    """

    @asynccontextmanager
    async def opened(root: Path) -> AsyncGenerator[Lake]:
        with fresh_database(cluster, template) as database:
            async with with_callers(open_test_app(database, root / "home")) as house:
                yield await _add_docs(house, root)

    return opened


async def _add_docs(house: House, root: Path) -> Lake:
    folder = root / "docs"
    folder.mkdir()
    await house.call(
        house.ana, "add_source", source_id=SOURCE, folder=str(folder), trim_mode="open"
    )
    return Lake(house, folder)
