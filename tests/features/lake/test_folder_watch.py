"""A watched folder: a change is read by itself; only what is in doubt lists everything again."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, LiteralString

import anyio
import pytest

from pecia.adapters.connectors.filesystem.scan import FileSelection
from pecia.adapters.connectors.folder import FolderConnector
from pecia.app.composition.lake import build_source_connectors
from pecia.app.connectors import CONNECTORS
from pecia.features.lake.crawl.file_reader import FileReader
from pecia.features.lake.crawl.watcher import SourceWatcher
from pecia.features.lake.credentials import SourceCredentials
from pecia.kernel.corpus.catalog import texts
from pecia.kernel.jobs import Job
from pecia.kernel.jobs.worker import run_until_idle
from tests.features.lake.conftest import Lake

pytestmark = pytest.mark.anyio


def job(lake: Lake, name: str) -> Job:
    return next(it for it in lake.house.app.jobs if it.full_name == name)


async def status(lake: Lake) -> dict[str, Any]:
    house = lake.house
    return await house.call(house.ana, "crawl_status", source_id="docs")


async def work(lake: Lake) -> None:
    """Run what waits, and let the index follow."""
    await run_until_idle(lake.house.app.store, lake.house.app.jobs)
    await lake.index()


async def wait_for(holds: Callable[[], Awaitable[bool]]) -> None:
    with anyio.fail_after(20):
        while True:
            if await holds():
                return
            await anyio.sleep(0.02)


async def until(lake: Lake, holds: Callable[[], Awaitable[bool]]) -> None:
    async def holds_after_work() -> bool:
        await work(lake)
        return await holds()

    await wait_for(holds_after_work)


async def found(lake: Lake, query: str) -> list[str]:
    return [it["key"] for it in (await lake.search(query, mode="lexical"))["hits"]]


@asynccontextmanager
async def watched(lake: Lake) -> AsyncGenerator[None]:
    """The folder as it is now is known, and followed from here on."""
    app, store = lake.house.app, lake.house.app.store
    await lake.crawl()
    before = (await status(lake))["listed_at"]
    credentials = SourceCredentials(store, app.keyring)
    watch = build_source_connectors(app.settings, store, credentials, CONNECTORS)
    watcher = SourceWatcher(store, job(lake, "lake.crawl"), job(lake, "lake.read"), watch)

    async def listed_again() -> bool:
        return (await status(lake))["listed_at"] not in (None, before)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watcher.run)
        await until(lake, listed_again)
        yield
        tasks.cancel_scope.cancel()


async def test_a_new_a_changed_and_a_removed_file_are_followed_without_listing_the_rest(
    lake: Lake,
) -> None:
    lake.write({f"{it}.md": f"file {it}" for it in range(20)})
    async with watched(lake):
        listed = (await status(lake))["listed_at"]
        lake.write({"deep.md": "a heron"})
        await until(lake, lambda: equal(found(lake, "heron"), ["deep.md"]))
        lake.write({"deep.md": "an otter instead"})
        await until(lake, lambda: equal(found(lake, "otter"), ["deep.md"]))
        (lake.folder / "deep.md").unlink()
        await until(lake, lambda: equal(found(lake, "otter"), []))
        now = await status(lake)
        assert now["listed_at"] == listed
        counts = {it: now[it] for it in ("state", "seen", "added", "gone", "failed")}
        assert counts == {"state": "done", "seen": 20, "added": 1, "gone": 1, "failed": 0}
        assert now["changed"] >= 1


@pytest.mark.parametrize(("owner", "step"), [(FileReader, "read_many"), (texts, "put_many")])
async def test_a_file_removed_while_it_is_read_or_stored_does_not_come_back(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, owner: Any, step: str
) -> None:
    lake.write({"a.md": "one"})
    store, path = lake.house.app.store, anyio.Path(lake.folder, "deep.md")
    original = getattr(owner, step)

    async def is_dropped() -> bool:
        async with store.system() as tx:
            return not await tx.fetch_all("SELECT FROM lake.todo WHERE key = 'deep.md'")

    async def is_removed() -> bool:
        return not await path.exists()

    async def remove_meanwhile(*args: Any, **named: Any) -> Any:
        found = await original(*args, **named)
        await path.unlink(missing_ok=True)
        await wait_for(is_dropped)
        return found

    async with watched(lake):
        monkeypatch.setattr(owner, step, remove_meanwhile)
        lake.write({"deep.md": "a heron"})
        await until(lake, is_removed)
        assert await found(lake, "heron") == []
        listed = await lake.house.call(lake.house.ana, "list_files", source_id="docs")
        assert [it["key"] for it in listed["files"]] == ["a.md"]


async def test_a_removal_and_a_read_of_the_same_file_that_block_each_other_are_repeated(
    lake: Lake,
) -> None:
    """The one has the crawl's row and waits for the file's, the other has it the other way."""
    store, path = lake.house.app.store, anyio.Path(lake.folder, "a.md")

    async def rows(sql: LiteralString) -> int:
        async with store.system() as tx:
            return len(await tx.fetch_all(sql))

    async def blocked(at_least: int) -> bool:
        return await rows("SELECT FROM pg_locks WHERE NOT granted") >= at_least

    async def is_queued() -> bool:
        return await rows("SELECT FROM lake.todo WHERE key = 'a.md'") == 1

    async def is_removed() -> bool:
        return await rows("SELECT FROM kernel.file WHERE key = 'a.md'") == 0

    lake.write({"a.md": "one", "b.md": "two"})
    async with watched(lake):
        await work(lake)
        lake.write({"a.md": "a heron"})
        await wait_for(is_queued)
        async with anyio.create_task_group() as tasks, store.system() as tx:
            await tx.execute("SELECT FROM lake.crawl FOR UPDATE")
            await path.unlink()
            await wait_for(lambda: blocked(1))
            tasks.start_soon(run_until_idle, store, lake.house.app.jobs)
            await wait_for(lambda: blocked(2))
        await wait_for(is_removed)
        unfinished = "status <> 'succeeded' AND task_name LIKE 'lake.%%'"
        assert await rows(f"SELECT FROM jobs.procrastinate_jobs WHERE {unfinished}") == 0


async def test_a_file_that_is_back_before_its_row_is_removed_keeps_it(lake: Lake) -> None:
    """A tool of the wiki puts a row with the file: suggestions and rights hang on it."""
    store, path = lake.house.app.store, anyio.Path(lake.folder, "a.md")

    async def rows(sql: LiteralString) -> list[int]:
        async with store.system() as tx:
            return [it["id"] for it in await tx.fetch_all(sql)]

    async def is_blocked() -> bool:
        return bool(await rows("SELECT pid AS id FROM pg_locks WHERE NOT granted"))

    async def is_queued() -> bool:
        return bool(await rows("SELECT 1 AS id FROM lake.todo WHERE key = 'a.md'"))

    lake.write({"a.md": "one"})
    async with watched(lake):
        await work(lake)
        before = await rows("SELECT id FROM kernel.file WHERE key = 'a.md'")
        async with store.system() as tx:
            await tx.execute("SELECT FROM lake.crawl FOR UPDATE")
            await path.unlink()
            await wait_for(is_blocked)
            lake.write({"a.md": "a heron"})
        await wait_for(is_queued)
        assert await rows("SELECT id FROM kernel.file WHERE key = 'a.md'") == before != []


async def test_while_a_crawl_was_stopped_a_change_lists_the_whole_folder(lake: Lake) -> None:
    lake.write({"a.md": "one"})
    async with watched(lake):
        listed = (await status(lake))["listed_at"]
        house = lake.house
        await house.call(house.ana, "crawl_source", source_id="docs")
        await house.call(house.ana, "stop_crawl", source_id="docs")
        lake.write({"b.md": "a heron"})
        await until(lake, lambda: equal(found(lake, "heron"), ["b.md"]))
        assert (await status(lake))["listed_at"] != listed


async def equal(asked: Awaitable[list[str]], expected: list[str]) -> bool:
    return await asked == expected


async def test_a_glance_sees_plain_files_that_count_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("a")
    (tmp_path / "b.txt").write_text("b")
    (tmp_path / "folder.md").mkdir()
    (tmp_path / "link.md").symlink_to(tmp_path / "a.md")
    folder = FolderConnector(tmp_path, FileSelection(include=("*.md",)))
    asked = ["a.md", "b.txt", "folder.md", "gone.md", "link.md"]
    seen = await folder.stat_many(asked)
    assert [it.key for it in seen] == ["a.md"]
    assert seen == [it async for it in folder.listing()]
