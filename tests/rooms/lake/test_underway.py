"""A file that takes long says how many of its pages are read, while it is read."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from uuid import UUID

import anyio
import pytest

from pecia.adapters.connect.folder import Folder
from pecia.adapters.extract.extractor import open_extractor
from pecia.adapters.extract.model import Limits
from pecia.adapters.scan import Selection
from pecia.kernel.jobs import Job
from pecia.kernel.jobs.worker import run_until_idle
from pecia.rooms.lake.files import Extractor, Read, Told
from pecia.rooms.lake.ingest import Intake
from pecia.rooms.lake.origin import SourceConfig
from tests.rooms.lake.conftest import Lake

pytestmark = pytest.mark.anyio


@dataclass(slots=True)
class Paused:
    """Reads like any other, but halts at the third of ten pages until it may go on."""

    extractor: Extractor
    go_on: anyio.Event = field(default_factory=anyio.Event)

    async def extract(
        self,
        source: Path | bytes,
        *,
        name: str = "",
        content_type: str = "",
        told: Told | None = None,
    ) -> Read:
        if told is not None:
            told(3, 10)
            await self.go_on.wait()
        return await self.extractor.extract(source, name=name, content_type=content_type)

    async def extract_together(self, files: Sequence[tuple[str, str, bytes]]) -> Sequence[Read]:
        return await self.extractor.extract_together(files)


def reading_with(lake: Lake, paused: Paused) -> list[Job]:
    """The house's jobs, where that extractor reads."""

    @asynccontextmanager
    async def extraction() -> AsyncGenerator[Extractor]:
        yield paused

    @asynccontextmanager
    async def connect(
        tenant_id: UUID, source_id: str, config: SourceConfig
    ) -> AsyncGenerator[Folder]:
        yield Folder(lake.folder, Selection())

    read_shard = Intake(connect, extraction).read_shard
    return [
        replace(it, run=read_shard) if it.full_name == "lake.read" else it
        for it in lake.house.app.jobs
    ]


async def test_the_pages_of_a_long_file_are_told_while_it_is_read(lake: Lake) -> None:
    house = lake.house
    # Larger than what is read in handfuls: such a file is opened by itself.
    lake.write({"long.txt": "reeds by the water\n" * 5_000, "short.md": "a note"})
    await house.call(house.ana, "crawl_source", source_id="docs")
    async with open_extractor(Limits(children=1)) as extractor:
        paused = Paused(extractor)
        with anyio.fail_after(50):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(run_until_idle, house.app.store, reading_with(lake, paused))
                # The short one is not kept waiting.
                status: dict[str, Any] = {"underway": [], "read": 0}
                while not status["underway"] or status["read"] != 1:
                    await anyio.sleep(0.05)
                    status = await house.call(house.ana, "crawl_status", source_id="docs")
                told = {"key": "long.txt", "pages_read": 3, "pages": 10}
                assert status["underway"] == [told]
                paused.go_on.set()
    status = await house.call(house.ana, "crawl_status", source_id="docs")
    assert (status["state"], status["read"], status["underway"]) == ("done", 2, [])
