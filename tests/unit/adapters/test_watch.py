"""Watching real folders: every test acts on the disk and waits for the event."""

import shutil
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import anyio
import pytest

from pecia.adapters.connectors.filesystem.notify import WatchTiming
from pecia.adapters.connectors.filesystem.scan import FileSelection, StatStamp, SymlinkPolicy
from pecia.adapters.connectors.filesystem.watch import (
    ChangedFile,
    FileChangeKind,
    FolderChangeBatch,
    FolderGone,
    Rescan,
    WatchEvent,
    diff_stamps,
    watch_folder,
)

pytestmark = pytest.mark.anyio

QUICK = WatchTiming(debounce_ms=10, max_delay_ms=200, check_interval_s=0.05)
POLLING = WatchTiming(poll_interval_s=0.05, check_interval_s=0.05)


@pytest.fixture(params=[QUICK, POLLING], ids=["notices", "polling"])
def pace(request: pytest.FixtureRequest) -> WatchTiming:
    return request.param


@asynccontextmanager
async def watching(
    root: Path, pace: WatchTiming = QUICK, selection: FileSelection | None = None
) -> AsyncGenerator[AsyncGenerator[WatchEvent]]:
    """Events of a folder whose first one, the call for a scan, has been taken."""
    with anyio.fail_after(10):
        async with aclosing(watch_folder(root, selection, pace)) as events:
            assert await anext(events) == Rescan("started")
            yield events


async def seen_until(events: AsyncGenerator[WatchEvent], path: str) -> dict[str, FileChangeKind]:
    """The last change of every path, up to the batch that has this one."""
    last: dict[str, FileChangeKind] = {}
    async for event in events:
        assert isinstance(event, FolderChangeBatch)
        last |= {change.path: change.kind for change in event.changes}
        if path in last:
            return last
    raise AssertionError


async def test_a_new_a_changed_and_a_removed_file_are_told_apart(
    tmp_path: Path, pace: WatchTiming
) -> None:
    (tmp_path / "old.md").write_text("old")
    (tmp_path / "gone.md").write_text("gone")
    async with watching(tmp_path, pace) as events:
        (tmp_path / "new.md").write_text("new")
        assert await seen_until(events, "new.md") == {"new.md": FileChangeKind.ADDED}
        (tmp_path / "old.md").write_text("older")
        assert (await seen_until(events, "old.md"))["old.md"] is FileChangeKind.CHANGED
        (tmp_path / "gone.md").unlink()
        assert (await seen_until(events, "gone.md"))["gone.md"] is FileChangeKind.REMOVED


async def test_a_file_replaced_by_a_rename_is_changed(tmp_path: Path, pace: WatchTiming) -> None:
    (tmp_path / "a.md").write_text("one")
    async with watching(tmp_path, pace, FileSelection(exclude=("*.tmp",))) as events:
        (tmp_path / "a.tmp").write_text("two")
        (tmp_path / "a.tmp").replace(tmp_path / "a.md")
        assert await seen_until(events, "a.md") == {"a.md": FileChangeKind.CHANGED}


async def test_files_of_a_folder_that_moves_in_are_added_and_out_removed(
    tmp_path: Path, pace: WatchTiming
) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    (outside / "deep").mkdir(parents=True)
    (outside / "deep/a.md").write_text("a")
    async with watching(root, pace) as events:
        outside.rename(root / "moved")
        assert await seen_until(events, "moved/deep/a.md") == {
            "moved/deep/a.md": FileChangeKind.ADDED
        }
        (root / "moved/deep/b.md").write_text("b")
        assert (await seen_until(events, "moved/deep/b.md"))[
            "moved/deep/b.md"
        ] is FileChangeKind.ADDED
        (root / "moved").rename(outside)
        gone = await seen_until(events, "moved/deep/b.md")
        assert gone["moved/deep/a.md"] is gone["moved/deep/b.md"] is FileChangeKind.REMOVED


async def test_what_is_left_out_is_not_reported(tmp_path: Path, pace: WatchTiming) -> None:
    (tmp_path / "cache").mkdir()
    selection = FileSelection(include=("**/*.md",), exclude=("cache/**",))
    async with watching(tmp_path, pace, selection) as events:
        (tmp_path / "cache/a.md").write_text("a")
        (tmp_path / "a.txt").write_text("a")
        (tmp_path / "a.md").write_text("a")
        assert await seen_until(events, "a.md") == {"a.md": FileChangeKind.ADDED}


async def test_a_change_made_while_the_scan_is_asked_for_is_not_missed(tmp_path: Path) -> None:
    with anyio.fail_after(10):
        async with aclosing(watch_folder(tmp_path, pace=QUICK)) as events:
            await anext(events)
            # Between the first event and the next the consumer scans; nobody waits for notices.
            for number in range(50):
                (tmp_path / f"{number:02}.md").write_text("x")
            last = await seen_until(events, "49.md")
            while len(last) < 50:
                event = await anext(events)
                assert isinstance(event, FolderChangeBatch)
                last |= {change.path: change.kind for change in event.changes}


async def test_a_folder_made_between_the_first_scan_and_the_arming_is_watched(
    tmp_path: Path,
) -> None:
    (tmp_path / "a.md").write_text("a")

    class Meddling(FileSelection):
        """Makes a folder in the middle of the first scan, after its parent was listed."""

        def matches(self, path: str) -> bool:
            (tmp_path / "late").mkdir(exist_ok=True)
            return super().matches(path)

    async with watching(tmp_path, selection=Meddling()) as events:
        (tmp_path / "late/b.md").write_text("b")
        assert await seen_until(events, "late/b.md") == {"late/b.md": FileChangeKind.ADDED}


async def test_files_written_into_new_folders_at_once_are_all_found(tmp_path: Path) -> None:
    wanted = {f"d{number}/e/{name}.md" for number in range(20) for name in "abc"}
    async with watching(tmp_path) as events:
        for path in sorted(wanted):
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(path)
        found: set[str] = set()
        while found != wanted:
            event = await anext(events)
            assert isinstance(event, FolderChangeBatch)
            found |= {change.path for change in event.changes}


async def test_too_much_at_once_asks_for_a_rescan(tmp_path: Path) -> None:
    async with watching(tmp_path, WatchTiming(debounce_ms=50, overflow=20)) as events:
        for number in range(200):
            (tmp_path / f"{number}.md").write_text("x")
        async for event in events:
            if event == Rescan("overflow"):
                return


async def test_what_the_kernel_kept_to_itself_is_found_by_the_audit(tmp_path: Path) -> None:
    (tmp_path / "unwatched").mkdir()
    (tmp_path / "unwatched/a.md").write_text("a")
    # A hard link is another name of the same file: writing to that one raises no notice here.
    other = tmp_path.parent / f"{tmp_path.name}-other-name"
    other.hardlink_to(tmp_path / "unwatched/a.md")
    async with watching(
        tmp_path, WatchTiming(debounce_ms=10, check_interval_s=0.05, rescan_interval_s=0.2)
    ) as events:
        other.write_text("changed behind its back")
        assert await seen_until(events, "unwatched/a.md") == {
            "unwatched/a.md": FileChangeKind.CHANGED
        }
    other.unlink()


async def test_a_folder_that_vanishes_and_returns_is_scanned_again(
    tmp_path: Path, pace: WatchTiming
) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "a.md").write_text("a")
    async with watching(root, pace) as events:
        root.rename(tmp_path / "away")
        assert await anext(events) == FolderGone()
        (tmp_path / "away").rename(root)
        assert await anext(events) == Rescan("returned")
        (root / "b.md").write_text("b")
        assert await seen_until(events, "b.md") == {"b.md": FileChangeKind.ADDED}


async def test_files_of_a_vanished_folder_are_not_reported_as_removed(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    for number in range(20):
        (root / f"{number}.md").write_text("x")
    async with watching(root) as events:
        root.rename(tmp_path / "unmounted")
        assert await anext(events) == FolderGone()


async def test_another_folder_in_the_same_place_is_scanned_again(tmp_path: Path) -> None:
    root, other = tmp_path / "root", tmp_path / "other"
    root.mkdir()
    other.mkdir()
    async with watching(root) as events:
        shutil.rmtree(root)
        other.rename(root)
        event = await anext(events)
        if event == FolderGone():
            event = await anext(events)
        assert event == Rescan("returned")


async def test_a_folder_that_is_not_there_yet_is_waited_for(
    tmp_path: Path, pace: WatchTiming
) -> None:
    root = tmp_path / "later"
    with anyio.fail_after(10):
        async with aclosing(watch_folder(root, pace=pace)) as events:
            assert await anext(events) == FolderGone()
            root.mkdir()
            assert await anext(events) == Rescan("returned")


async def test_a_name_that_is_not_utf8_does_not_blind_the_watcher(tmp_path: Path) -> None:
    async with watching(tmp_path) as events:
        (tmp_path / b"x\xe9".decode(errors="surrogateescape")).touch()
        (tmp_path / "a.md").write_text("a")
        assert await seen_until(events, "a.md") == {"a.md": FileChangeKind.ADDED}
        (tmp_path / "b.md").write_text("b")
        assert "b.md" in await seen_until(events, "b.md")


async def test_a_link_is_not_followed_out_of_the_folder(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (root / "door").symlink_to(outside)
    async with watching(root) as events:
        (outside / "secret.md").write_text("s")
        (root / "late").symlink_to(outside)
        (root / "a.md").write_text("a")
        assert await seen_until(events, "a.md") == {"a.md": FileChangeKind.ADDED}


async def test_a_followed_link_changes_with_its_target(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real/a.md").write_text("a")
    (tmp_path / "alias").symlink_to("real")
    async with watching(tmp_path, selection=FileSelection(links=SymlinkPolicy.INSIDE)) as events:
        (tmp_path / "real/a.md").write_text("changed")
        assert await seen_until(events, "real/a.md") == {
            "alias/a.md": FileChangeKind.CHANGED,
            "real/a.md": FileChangeKind.CHANGED,
        }


async def test_more_folders_can_be_watched_than_there_are_shared_threads(tmp_path: Path) -> None:
    limiter = anyio.to_thread.current_default_thread_limiter()
    before, limiter.total_tokens = limiter.total_tokens, 2
    try:
        async with watching(tmp_path), watching(tmp_path), watching(tmp_path) as events:
            (tmp_path / "a.md").write_text("a")
            assert "a.md" in await seen_until(events, "a.md")
    finally:
        limiter.total_tokens = before


async def test_cancelling_ends_the_wait_at_once(tmp_path: Path) -> None:
    async with watching(tmp_path) as events:
        with anyio.move_on_after(0.1) as scope:
            await anext(events)
        assert scope.cancelled_caught


def test_a_young_file_that_was_doubted_counts_as_changed() -> None:
    young, old = StatStamp(1, 1, 1, settled=False), StatStamp(1, 1, 1, settled=True)
    changed = (ChangedFile(FileChangeKind.CHANGED, "a"),)
    assert diff_stamps({"a": young}, {"a": young}, doubted={"a"}) == changed
    assert diff_stamps({"a": young}, {"a": young}) == ()
    assert diff_stamps({"a": old}, {"a": old}, doubted={"a"}) == ()
