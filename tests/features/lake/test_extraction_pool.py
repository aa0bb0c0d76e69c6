"""The children that read files: started once for several jobs, and never left behind."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from pecia.features.lake.crawl.file_reader import Extractor, ExtractorResult, PageProgress
from pecia.features.lake.crawl.shared_extractor import SharedExtractor

pytestmark = pytest.mark.anyio


class CountingExtraction:
    """An extraction that counts how often it was opened, and how many are open now."""

    def __init__(self) -> None:
        self.opened = 0
        self.open = 0

    @asynccontextmanager
    async def __call__(self) -> AsyncGenerator[Extractor]:
        self.opened += 1
        self.open += 1
        yield self
        self.open -= 1

    async def extract(
        self,
        source: Path | bytes,
        *,
        name: str = "",
        content_type: str = "",
        on_page: PageProgress | None = None,
    ) -> ExtractorResult:
        raise AssertionError("these tests open readers and read nothing")

    async def extract_together(
        self, files: Sequence[tuple[str, str, bytes]]
    ) -> list[ExtractorResult]:
        raise AssertionError("these tests open readers and read nothing")


async def test_jobs_at_one_time_share_them_and_the_last_one_ends_them() -> None:
    counted = CountingExtraction()
    readers = SharedExtractor(counted)
    async with readers.acquire() as one, readers.acquire() as other:
        assert one is other
    assert (counted.opened, counted.open) == (1, 0)
    async with readers.acquire():
        assert counted.opened == 2


async def test_where_they_are_kept_they_outlive_a_job_and_end_with_the_keeping() -> None:
    counted = CountingExtraction()
    readers = SharedExtractor(counted)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(readers.keep_warm)
        await anyio.wait_all_tasks_blocked()
        for _ in range(3):
            async with readers.acquire():
                pass
        assert (counted.opened, counted.open) == (1, 1)
        tasks.cancel_scope.cancel()
    assert counted.open == 0
