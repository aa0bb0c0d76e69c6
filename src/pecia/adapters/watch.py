"""What happens in a folder, as it happens.

Nothing is missed for good: the eye is open before the first scan, everything is looked at again
whenever folders come or go, and once in a while for no reason. It never reads a file's content.
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

from pecia.adapters.notices import (
    Identity,
    Notices,
    Pace,
    Rounds,
    Seen,
    identity_of,
    rights_above,
)
from pecia.adapters.scan import Links, Selection, Snapshot, Stamp, scan
from pecia.kernel.logs import Log

_log = Log(__name__)


class Kind(StrEnum):
    ADDED = "added"
    CHANGED = "changed"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class Change:
    """One file. A move is a removal and an addition; a change may turn out to be none."""

    kind: Kind
    path: str


@dataclass(frozen=True, slots=True)
class Batch:
    """What changed within a short while: each path once, in order of path."""

    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class Rescan:
    """Look at the whole folder now. Always the first event of a folder that is there."""

    reason: Literal["started", "overflow", "returned", "rights"]


@dataclass(frozen=True, slots=True)
class Vanished:
    """The folder is gone, perhaps with its disk: its files are out of sight, not removed."""


Event: TypeAlias = Batch | Rescan | Vanished


async def watch(
    root: Path, selection: Selection | None = None, pace: Pace | None = None
) -> AsyncGenerator[Event]:
    """Events for as long as they are asked for. Close it, or cancel, to stop the thread behind."""
    folder = _Folder(root, selection or Selection(), pace or Pace())
    reason: Literal["started", "returned"] = "started"
    while True:
        identity = await run_sync(identity_of, root)
        if identity is None:
            yield Vanished()
            identity = await folder.returned()
            reason = "returned"
        async with aclosing(folder.events(identity, reason)) as events:
            async for event in events:
                yield event
        reason = "returned"


def difference(
    before: Mapping[str, Stamp], now: Mapping[str, Stamp], *, doubted: Collection[str] = ()
) -> tuple[Change, ...]:
    """What turns one state into the other, in order of path.

    A doubted path whose old state was too young to be sure of counts as changed.
    """
    changes = [Change(Kind.REMOVED, path) for path in before.keys() - now.keys()]
    for path, stamp in now.items():
        if path not in before:
            changes.append(Change(Kind.ADDED, path))
        elif before[path] != stamp or (not before[path].settled and path in doubted):
            changes.append(Change(Kind.CHANGED, path))
    return tuple(sorted(changes, key=lambda change: change.path))


@dataclass
class _Folder:
    """One folder for as long as it is the same one."""

    root: Path
    selection: Selection
    pace: Pace

    async def returned(self) -> Identity:
        """Wait until there is a folder again."""
        while True:
            identity = await run_sync(identity_of, self.root)
            if identity is not None:
                return identity
            await anyio.sleep(self.pace.check_s)

    async def events(
        self, identity: Identity, reason: Literal["started", "returned"]
    ) -> AsyncGenerator[Event]:
        self._known = await self._scan()
        eye = await self._open_eye()
        try:
            # What changed before the eye was open is in this scan, and in the one we ask for.
            self._above = await run_sync(rights_above, self.root)
            self._known = await self._scan()
            yield Rescan(reason)
            while True:
                if eye.covers(self._known.folders):
                    seen = await eye.wait()
                else:
                    eye.stop()
                    eye, seen = await self._open_eye(), None
                event = await self._event(seen, doubtful=isinstance(eye, Rounds))
                # Asked last: what was seen of a folder that has gone since is not to be believed.
                if await run_sync(identity_of, self.root) != identity:
                    return
                if event is not None:
                    yield event
        finally:
            eye.stop()

    async def _event(self, seen: Seen, *, doubtful: bool) -> Event | None:
        if seen is not None and len(seen) > self.pace.overflow:
            self._known = await self._scan()
            return Rescan("overflow")
        changes = None if seen is None else await run_sync(self._patched, seen)
        if changes is None:
            known, self._known = self._known, await self._scan()
            if await self._have_rights_changed(known):
                return Rescan("rights")
            before, now = known.files, self._known.files
            # Without notices, a file is looked at once more when it has settled.
            aged = {path for path, stamp in now.items() if stamp.settled} if doubtful else ()
            changes = difference(before, now, doubted=seen or aged)
        return Batch(changes) if changes else None

    async def _have_rights_changed(self, known: Snapshot) -> bool:
        """Whether somebody opened or closed a folder, here or above: who may enter it may see, or
        see no more, all that lies below."""
        above, self._above = self._above, await run_sync(rights_above, self.root)
        now = self._known.rights
        return above != self._above or any(
            now.get(folder, rights) != rights for folder, rights in known.rights.items()
        )

    def _patched(self, seen: frozenset[str]) -> tuple[Change, ...] | None:
        """The changes of these paths alone, or None where only a full scan can tell."""
        known = self._known
        if known.links or not seen.isdisjoint(known.folders):
            return None
        now: dict[str, Stamp] = {}
        for path in seen:
            try:
                found = (self.root / path).lstat()
            except OSError:
                continue
            if self._is_unclear(path, found.st_mode):
                return None
            if stat.S_ISREG(found.st_mode) and self.selection.admits(path):
                now[path] = Stamp.of(found)
        before = {path: known.files.pop(path) for path in seen & known.files.keys()}
        known.files.update(now)
        return difference(before, now, doubted=seen)

    def _is_unclear(self, path: str, mode: int) -> bool:
        if stat.S_ISLNK(mode):
            return self.selection.links is Links.INSIDE
        return stat.S_ISDIR(mode) and self.selection.enters(path)

    async def _scan(self) -> Snapshot:
        return await run_sync(scan, self.root, self.selection)

    async def _open_eye(self) -> Notices | Rounds:
        if self.pace.poll_s is not None:
            return Rounds(self.pace.poll_s)
        folders = self._known.folders
        while True:
            try:
                return await run_sync(Notices, self.root, folders, self.pace)
            except FileNotFoundError:
                # A folder went between the scan and now.
                folders = (await self._scan()).folders
            except OSError as error:
                _log.warning("watch.no_notices", folder=str(self.root), reason=str(error))
                return Rounds(self.pace.fallback_s)
