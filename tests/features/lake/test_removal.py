"""A source that is being crawled is removed all the same, and the crawl with it."""

from typing import Any

import anyio
import pytest

from pecia.kernel.errors import Collision, NotFound, PeciaError
from pecia.kernel.jobs.worker import run_until_idle
from tests.features.lake.conftest import Lake

pytestmark = pytest.mark.anyio

COUNT = "UPDATE lake.crawl SET read = read + 1 WHERE source_id = 'docs' AND state = 'reading'"
IS_THERE = "SELECT 1 FROM kernel.source WHERE id = 'docs' FOR KEY SHARE"


async def test_a_source_is_removed_while_a_reader_stores_one_batch_after_the_other(
    lake: Lake,
) -> None:
    """A batch holds rows of the source, and then asks whether the source is there: who removes it
    meanwhile waits for those rows and holds the source. One of the two has to give way."""
    house, store = lake.house, lake.house.app.store
    lake.write({f"{it}.md": f"file {it}" for it in range(20)})
    await lake.crawl()
    async with store.system() as tx:
        await tx.execute("UPDATE lake.crawl SET state = 'reading' WHERE source_id = 'docs'")
    busy = anyio.Event()

    async def read_on() -> None:
        while True:
            try:
                async with store.system() as tx:
                    if not await tx.execute(COUNT):
                        return
                    busy.set()
                    await anyio.sleep(0.1)
                    await tx.fetch_all(IS_THERE)
            except PeciaError:
                continue

    with anyio.fail_after(50):
        async with anyio.create_task_group() as readers:
            for _ in range(2):
                readers.start_soon(read_on)
            await busy.wait()
            await house.call(house.ana, "remove_source", source_id="docs")
            readers.cancel_scope.cancel()
    with pytest.raises(NotFound):
        await house.call(house.ana, "list_files", source_id="docs")


async def test_a_crawl_whose_source_was_removed_ends_and_leaves_nothing(lake: Lake) -> None:
    house = lake.house
    lake.write({f"{it}.md": f"file {it}" for it in range(300)})
    await house.call(house.ana, "crawl_source", source_id="docs")
    with anyio.fail_after(50):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run_until_idle, house.app.store, house.app.jobs)
            status: dict[str, Any] = {"read": 0, "state": "waiting"}
            while not status["read"] and status["state"] != "done":
                await anyio.sleep(0.01)
                status = await house.call(house.ana, "crawl_status", source_id="docs")
            await house.call(house.ana, "remove_source", source_id="docs")
    async with house.app.store.system() as tx:
        left = await tx.fetch_value("SELECT count(*) FROM kernel.file WHERE source_id = 'docs'")
    assert left == 0


def test_who_lost_against_another_writer_is_told_to_try_again() -> None:
    assert Collision("write conflict; try again").payload()["retryable"] is True
