"""A file that takes long says how far it is; a crawl that cannot go on says that too."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import anyio
import pytest

from pecia.adapters.connectors.filesystem.scan import FileSelection
from pecia.adapters.connectors.folder import FolderConnector
from pecia.adapters.extraction.extractor import open_extractor
from pecia.adapters.extraction.model import ExtractionLimits
from pecia.features.lake.crawl.crawler import MAX_ATTEMPTS, IngestArguments
from pecia.features.lake.crawl.file_reader import Extractor, ExtractorResult, PageProgress
from pecia.features.lake.crawl.ingest import Ingester
from pecia.features.lake.model import SourceConfig
from pecia.kernel.jobs import Job, JobCall
from pecia.kernel.jobs.worker import run_until_idle
from tests.features.lake.conftest import Lake

pytestmark = pytest.mark.anyio


@dataclass(slots=True)
class Paused:
    """Reads like any other, but halts after these pages until it may go on."""

    extractor: Extractor
    pages: tuple[int, int] = (3, 10)
    go_on: anyio.Event = field(default_factory=anyio.Event)

    async def extract(
        self,
        source: Path | bytes,
        *,
        name: str = "",
        content_type: str = "",
        on_page: PageProgress | None = None,
    ) -> ExtractorResult:
        if on_page is not None:
            on_page(*self.pages)
            await self.go_on.wait()
        return await self.extractor.extract(source, name=name, content_type=content_type)

    async def extract_together(
        self, files: Sequence[tuple[str, str, bytes]]
    ) -> Sequence[ExtractorResult]:
        return await self.extractor.extract_together(files)


def reading_with(lake: Lake, extractor: Extractor) -> list[Job]:
    """The house's jobs, where that extractor reads."""

    @asynccontextmanager
    async def extraction() -> AsyncGenerator[Extractor]:
        yield extractor

    @asynccontextmanager
    async def connect(
        tenant_id: UUID, source_id: str, config: SourceConfig
    ) -> AsyncGenerator[FolderConnector]:
        yield FolderConnector(lake.folder, FileSelection())

    read_shard = Ingester(connect, extraction).ingest_shard
    return [
        replace(it, run=read_shard) if it.full_name == "lake.read" else it
        for it in lake.house.app.jobs
    ]


async def test_the_pages_of_a_long_file_are_told_while_it_is_read(lake: Lake) -> None:
    house = lake.house
    # Larger than what is read in handfuls: such a file is opened by itself.
    lake.write({"long.txt": "reeds by the water\n" * 5_000, "short.md": "a note"})
    await house.call(house.ana, "crawl_source", source_id="docs")
    async with open_extractor(ExtractionLimits(children=1)) as extractor:
        paused = Paused(extractor)
        with anyio.fail_after(50):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(run_until_idle, house.app.store, reading_with(lake, paused))
                # The short one is not kept waiting.
                status: dict[str, Any] = {"underway": [], "read": 0}
                while not status["underway"] or status["read"] != 1:
                    await anyio.sleep(0.05)
                    status = await house.call(house.ana, "crawl_status", source_id="docs")
                assert read_progress(status) == [("long.txt", 3, 10)]
                paused.go_on.set()
    status = await house.call(house.ana, "crawl_status", source_id="docs")
    assert (status["state"], status["read"], status["underway"]) == ("done", 2, [])


async def test_long_files_in_deep_folders_are_told_of_and_read_like_others(lake: Lake) -> None:
    house = lake.house
    deep = "/".join(["a folder with a name of some length"] * 12)
    keys = [f"{deep}/{number}.txt" for number in range(24)]
    lake.write(dict.fromkeys(keys, "reeds by the water\n" * 5000))
    await house.call(house.ana, "crawl_source", source_id="docs")
    async with open_extractor(ExtractionLimits(children=1)) as extractor:
        paused = Paused(extractor)
        with anyio.fail_after(50):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(run_until_idle, house.app.store, reading_with(lake, paused))
                status: dict[str, Any] = {"underway": [], "state": "waiting"}
                while len(status["underway"]) < 2 and status["state"] != "failed":
                    await anyio.sleep(0.05)
                    status = await house.call(house.ana, "crawl_status", source_id="docs")
                paused.go_on.set()
    status = await house.call(house.ana, "crawl_status", source_id="docs")
    assert (status["state"], status["problem"], status["read"]) == ("done", "", 24)


async def test_while_a_long_file_is_stored_the_worker_says_that_it_is_at_it(lake: Lake) -> None:
    house = lake.house
    lake.write({"long.txt": "reeds by the water\n" * 5_000})
    await house.call(house.ana, "crawl_source", source_id="docs")
    async with open_extractor(ExtractionLimits(children=1)) as extractor:
        paused = Paused(extractor, pages=(10, 10))
        with anyio.fail_after(50):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(run_until_idle, house.app.store, reading_with(lake, paused))
                async with house.app.store.system() as holding:
                    # Whoever stores the file waits for who holds what is to be done.
                    held: list[dict[str, Any]] = []
                    while not held:
                        await anyio.sleep(0.02)
                        held = await holding.fetch_all("SELECT 1 FROM lake.todo FOR UPDATE")
                    paused.go_on.set()
                    moments: set[datetime] = set()
                    while len(moments) < 3:
                        await anyio.sleep(0.05)
                        status = await house.call(house.ana, "crawl_status", source_id="docs")
                        assert status["read"] == 0
                        assert read_progress(status) in ([], [("long.txt", 10, 10)])
                        moments |= {it["reported_at"] for it in status["underway"]}
    status = await house.call(house.ana, "crawl_status", source_id="docs")
    assert (status["state"], status["read"], status["underway"]) == ("done", 1, [])


def read_progress(status: dict[str, Any]) -> list[tuple[str, int, int]]:
    return [(it["key"], it["pages_read"], it["pages"]) for it in status["underway"]]


@dataclass(frozen=True, slots=True)
class Broken:
    """Cannot read anything, for a reason that nobody thought of."""

    async def extract(self, source: Path | bytes, **_: Any) -> ExtractorResult:
        raise RuntimeError("the reader is broken")

    async def extract_together(
        self, files: Sequence[tuple[str, str, bytes]]
    ) -> Sequence[ExtractorResult]:
        raise RuntimeError("the reader is broken")


@pytest.mark.parametrize(("attempt", "state"), [(1, "reading"), (MAX_ATTEMPTS, "failed")])
async def test_a_crawl_that_nobody_will_go_on_with_says_that_it_failed(
    lake: Lake, attempt: int, state: str
) -> None:
    house = lake.house
    lake.write({"a.md": "a note"})
    await house.call(house.ana, "crawl_source", source_id="docs")

    async def read_again(call: JobCall, ask: IngestArguments) -> None:
        await reading.run(replace(call, attempt=attempt), ask)

    jobs = reading_with(lake, Broken())
    reading = next(it for it in jobs if it.full_name == "lake.read")
    others = [it for it in jobs if it is not reading]
    await run_until_idle(house.app.store, [*others, replace(reading, run=read_again)])
    status = await house.call(house.ana, "crawl_status", source_id="docs")
    assert status["state"] == state
    assert status["problem"] == ("unexpected RuntimeError" if state == "failed" else "")
