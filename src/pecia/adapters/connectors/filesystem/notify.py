"""Waits for changes in a folder: kernel notifications, or polling. It says where, never what."""

import stat
import sys
import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import anyio
from anyio.to_thread import run_sync

# The public face of watchfiles arms itself only once it is waiting, which is too late for a scan.
from watchfiles import _rust_notify as rust  # pyright: ignore[reportPrivateUsage]

from pecia.adapters.connectors.filesystem.scan import ModeAndOwner, mode_and_owner, resolve_path

# The device and number of a folder: another disk mounted in its place has others.
FolderIdentity: TypeAlias = tuple[int, int]

# Relative paths that changed, or None for a full scan.
ChangedPaths: TypeAlias = frozenset[str] | None


@dataclass(frozen=True, slots=True)
class WatchTiming:
    """Changes are debounced by `quiet_ms`, at most `most_ms`.

    A full scan runs every `audit_s`, because the kernel drops notifications under load and does
    not say so. More than `overflow` paths at once are not listed. With `poll_s` the kernel is
    not asked at all: it says nothing of what other machines do on a network share. `fallback_s` is
    the same interval for when the kernel has no more watches to give.
    """

    debounce_ms: int = 50
    max_delay_ms: int = 1_600
    check_interval_s: float = 1
    rescan_interval_s: float = 300
    overflow: int = 5_000
    poll_interval_s: float | None = None
    fallback_poll_interval_s: float = 5


def stat_folder(root: Path) -> FolderIdentity | None:
    """Which folder this is, or None where there is none."""
    try:
        found = root.stat()
    except OSError:
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISDIR(found.st_mode) else None


def parent_modes(root: Path) -> tuple[ModeAndOwner | None, ...]:
    """Those of the folders on the way to this one, which nobody sends notices of."""
    return tuple(_rights(it) for it in resolve_path(root).parents)


def _rights(folder: Path) -> ModeAndOwner | None:
    try:
        return mode_and_owner(folder.stat())
    except OSError:
        return None


class PollingNotifier:
    """Polling: a full scan after each interval."""

    def __init__(self, every_s: float) -> None:
        self._every_s = every_s

    def covers(self, folders: Collection[str]) -> bool:
        return True

    async def wait(self) -> ChangedPaths:
        await anyio.sleep(self._every_s)
        return None

    def stop(self) -> None:
        return


class KernelNotifier:
    """The kernel's notifications for these folders; watches once constructed.

    The folders are named one by one. Left to walk the tree itself, the library follows links out
    of the folder, and watches the folders that are left out.
    """

    def __init__(self, root: Path, folders: Collection[str], pace: WatchTiming) -> None:
        # FSEvents sees whole trees, follows no link, and starts anew for each folder it is given.
        self._whole = sys.platform == "darwin"
        self._folders = frozenset(folders)
        self._root = resolve_path(root)
        self._pace = pace
        self._wake = _StopCheck(root, pace)
        self._broken = False
        paths = [str(self._root / folder) for folder in ({""} if self._whole else folders)]
        try:
            # The last argument would pass over a full table of watches as well, in silence.
            self._rust = rust.RustNotify(paths, False, False, 0, self._whole, False)
        except rust.WatchfilesRustInternalError as error:
            raise OSError(str(error)) from None
        # A thread of its own: the shared ones are few, and this one waits for ever.
        self._thread = anyio.CapacityLimiter(1)

    def covers(self, folders: Collection[str]) -> bool:
        return not self._broken and (self._whole or self._folders == folders)

    async def wait(self) -> ChangedPaths:
        # A timeout would drop notifications that arrive as it expires. So may `_Wake`, but it
        # triggers a full scan.
        waiting = (self._pace.max_delay_ms, self._pace.debounce_ms, 0, self._wake)
        try:
            news = await run_sync(
                self._rust.watch, *waiting, abandon_on_cancel=True, limiter=self._thread
            )
        except rust.WatchfilesRustInternalError:
            # A name that is not UTF-8 is enough, and the watcher is of no use after that.
            self._broken = True
            return None
        self._wake.renew()
        if isinstance(news, str):
            return None
        inside = len(str(self._root)) + 1
        return frozenset(path[inside:] for _, path in news)

    def stop(self) -> None:
        """Release the waiting thread."""
        self._wake.stopped = True


class _StopCheck:
    """Polled by the waiting thread at every step: whether to stop."""

    def __init__(self, root: Path, pace: WatchTiming) -> None:
        self.stopped = False
        self._root = root
        self._identity = stat_folder(root)
        self._above = parent_modes(root)
        self._pace = pace
        self._audit_at = time.monotonic() + pace.rescan_interval_s
        self._check_at = 0.0

    def renew(self) -> None:
        if time.monotonic() >= self._audit_at:
            self._audit_at = time.monotonic() + self._pace.rescan_interval_s

    def is_set(self) -> bool:
        now = time.monotonic()
        if now >= self._check_at:
            self._check_at = now + self._pace.check_interval_s
            if stat_folder(self._root) != self._identity:
                return True
            above, self._above = self._above, parent_modes(self._root)
            if above != self._above:
                return True
        return self.stopped or now >= self._audit_at
