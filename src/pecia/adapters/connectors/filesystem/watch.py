"""Watches a folder for changes.

Nothing is missed for good: watching starts before the first scan, and a full scan follows whenever
folders come or go, and periodically. It never reads a file's content.
"""

import stat
from collections.abc import AsyncGenerator, Collection, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Literal, TypeAlias

import anyio
from anyio.to_thread import run_sync

from pecia.adapters.connectors.filesystem.notify import (
    ChangedPaths,
    FolderIdentity,
    KernelNotifier,
    PollingNotifier,
    WatchTiming,
    parent_modes,
    stat_folder,
)
from pecia.adapters.connectors.filesystem.scan import (
    FileSelection,
    FolderSnapshot,
    StatStamp,
    SymlinkPolicy,
    scan,
)
from pecia.kernel.logs import Log

_log = Log(__name__)


class FileChangeKind(StrEnum):
    ADDED = "added"
    CHANGED = "changed"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """One file. A move is a removal and an addition; a change may turn out to be none."""

    kind: FileChangeKind
    path: str


@dataclass(frozen=True, slots=True)
class FolderChangeBatch:
    """What changed within a short while: each path once, in order of path."""

    changes: tuple[ChangedFile, ...]


@dataclass(frozen=True, slots=True)
class Rescan:
    """Scan the whole folder now. Always the first event of an existing folder."""

    reason: Literal["started", "overflow", "returned", "rights"]


@dataclass(frozen=True, slots=True)
class FolderGone:
    """The folder is gone, perhaps with its disk: its files are out of sight, not removed."""


WatchEvent: TypeAlias = FolderChangeBatch | Rescan | FolderGone


async def watch_folder(
    root: Path, selection: FileSelection | None = None, pace: WatchTiming | None = None
) -> AsyncGenerator[WatchEvent]:
    """Events until closed or cancelled, which also stops the thread behind."""
    folder = _FolderWatch(root, selection or FileSelection(), pace or WatchTiming())
    reason: Literal["started", "returned"] = "started"
    while True:
        identity = await run_sync(stat_folder, root)
        if identity is None:
            yield FolderGone()
            identity = await folder.wait_for_folder()
            reason = "returned"
        async with aclosing(folder.events(identity, reason)) as events:
            async for event in events:
                yield event
        reason = "returned"


def diff_stamps(
    before: Mapping[str, StatStamp], now: Mapping[str, StatStamp], *, doubted: Collection[str] = ()
) -> tuple[ChangedFile, ...]:
    """What turns one state into the other, in order of path.

    A doubted path whose old state was too young to be sure of counts as changed.
    """
    changes = [ChangedFile(FileChangeKind.REMOVED, path) for path in before.keys() - now.keys()]
    for path, stamp in now.items():
        if path not in before:
            changes.append(ChangedFile(FileChangeKind.ADDED, path))
        elif before[path] != stamp or (not before[path].settled and path in doubted):
            changes.append(ChangedFile(FileChangeKind.CHANGED, path))
    return tuple(sorted(changes, key=lambda change: change.path))


@dataclass
class _FolderWatch:
    """One folder for as long as it is the same one."""

    root: Path
    selection: FileSelection
    pace: WatchTiming

    async def wait_for_folder(self) -> FolderIdentity:
        """Wait until there is a folder again."""
        while True:
            identity = await run_sync(stat_folder, self.root)
            if identity is not None:
                return identity
            await anyio.sleep(self.pace.check_interval_s)

    async def events(
        self, identity: FolderIdentity, reason: Literal["started", "returned"]
    ) -> AsyncGenerator[WatchEvent]:
        self._known = await self._scan()
        eye = await self._open_notifier()
        try:
            # Changes before watching started are in this scan, and in the one we request.
            self._above = await run_sync(parent_modes, self.root)
            self._known = await self._scan()
            yield Rescan(reason)
            while True:
                if eye.covers(self._known.folders):
                    seen = await eye.wait()
                else:
                    eye.stop()
                    eye, seen = await self._open_notifier(), None
                event = await self._event(seen, doubtful=isinstance(eye, PollingNotifier))
                # Checked last: a scan of a folder that is gone by now is not valid.
                if await run_sync(stat_folder, self.root) != identity:
                    return
                if event is not None:
                    yield event
        finally:
            eye.stop()

    async def _event(self, seen: ChangedPaths, *, doubtful: bool) -> WatchEvent | None:
        if seen is not None and len(seen) > self.pace.overflow:
            self._known = await self._scan()
            return Rescan("overflow")
        changes = None if seen is None else await run_sync(self._diff_paths, seen)
        if changes is None:
            known, self._known = self._known, await self._scan()
            if await self._have_rights_changed(known):
                return Rescan("rights")
            before, now = known.files, self._known.files
            # Without notifications, a file is checked once more when it has settled.
            aged = {path for path, stamp in now.items() if stamp.settled} if doubtful else ()
            changes = diff_stamps(before, now, doubted=seen or aged)
        return FolderChangeBatch(changes) if changes else None

    async def _have_rights_changed(self, known: FolderSnapshot) -> bool:
        """Whether somebody opened or closed a folder, here or above: who may enter it may see, or
        see no more, all that lies below."""
        above, self._above = self._above, await run_sync(parent_modes, self.root)
        now = self._known.rights
        return above != self._above or any(
            now.get(folder, rights) != rights for folder, rights in known.rights.items()
        )

    def _diff_paths(self, seen: frozenset[str]) -> tuple[ChangedFile, ...] | None:
        """The changes of these paths alone, or None where only a full scan can tell."""
        known = self._known
        if known.links or not seen.isdisjoint(known.folders):
            return None
        now: dict[str, StatStamp] = {}
        for path in seen:
            try:
                found = (self.root / path).lstat()
            except OSError:
                continue
            if self._needs_full_scan(path, found.st_mode):
                return None
            if stat.S_ISREG(found.st_mode) and self.selection.admits(path):
                now[path] = StatStamp.of(found)
        before = {path: known.files.pop(path) for path in seen & known.files.keys()}
        known.files.update(now)
        return diff_stamps(before, now, doubted=seen)

    def _needs_full_scan(self, path: str, mode: int) -> bool:
        if stat.S_ISLNK(mode):
            return self.selection.links is SymlinkPolicy.INSIDE
        return stat.S_ISDIR(mode) and self.selection.may_enter(path)

    async def _scan(self) -> FolderSnapshot:
        return await run_sync(scan, self.root, self.selection)

    async def _open_notifier(self) -> KernelNotifier | PollingNotifier:
        if self.pace.poll_interval_s is not None:
            return PollingNotifier(self.pace.poll_interval_s)
        folders = self._known.folders
        while True:
            try:
                return await run_sync(KernelNotifier, self.root, folders, self.pace)
            except FileNotFoundError:
                # A folder went between the scan and now.
                folders = (await self._scan()).folders
            except OSError as error:
                _log.warning("watch.no_notifications", folder=str(self.root), reason=str(error))
                return PollingNotifier(self.pace.fallback_poll_interval_s)
