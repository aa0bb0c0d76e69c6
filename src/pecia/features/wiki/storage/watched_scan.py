"""The scan of a space, kept current by events: a call looks only at what changed since the last.

Where events cannot be had or relied on (another system, a network file system, no watches left),
every call scans the folder. Blocking; one thread at a time.
"""

import os
import stat
import time
from dataclasses import dataclass, field
from pathlib import Path

from pecia.features.wiki.core.ignore import IGNORE_FILES
from pecia.features.wiki.storage import disk
from pecia.features.wiki.storage.inotify import EventsLost, FolderEvents, is_local
from pecia.features.wiki.storage.scan import (
    SpaceScan,
    classify_file,
    is_included,
    is_text,
    scan_space,
    scan_subfolder,
)
from pecia.kernel.errors import NotFound, PeciaError, Unavailable

MAX_CHANGED = 2000
"""More than these are scanned as a whole: cheaper."""
MAX_LINKED = 200
"""Files with several names can change under another: they are looked at with every call."""
MAX_AGE_S, COST_FACTOR = 600.0, 1000
"""A full scan follows at times all the same: a hard link made elsewhere makes no event here."""


@dataclass(frozen=True, slots=True)
class ScanUpdate:
    """A scan, and the paths that may differ from the one before; None: any may."""

    scan: SpaceScan
    touched: frozenset[str] | None


@dataclass(slots=True)
class WatchedScan:
    """One content folder."""

    root: Path
    _scan: SpaceScan | None = None
    _events: FolderEvents | None = None
    _identity: tuple[int, int] | None = None
    _due: float = 0.0
    _watches: dict[int, str] = field(default_factory=dict[int, str])
    _folders: dict[str, int] = field(default_factory=dict[str, int])

    def refresh(self) -> ScanUpdate:
        """The current state; Unavailable where there is no folder."""
        is_current = time.monotonic() < self._due and self._identity == _identify(self.root)
        if self._scan is None or self._events is None or not is_current:
            return self._rescan()
        try:
            files, folders = self._collect(self._events)
        except EventsLost:
            return self._rescan()
        if len(files) > MAX_CHANGED or any(_decides_ignored(it) for it in files):
            return self._rescan()
        files |= self._scan.linked
        try:
            return self._update(self._scan, files, folders)
        except OSError:
            return self._rescan()

    def close(self) -> None:
        if self._events is not None:
            self._events.close()
        self._scan = self._events = None

    def _rescan(self) -> ScanUpdate:
        began = time.monotonic()
        self.close()
        self._watches, self._folders = {}, {}
        self._identity = _identify(self.root)
        try:
            with disk.open_folder(self.root, "") as held:
                self._events = FolderEvents() if is_local(held) else None
        except (OSError, PeciaError):
            self._events = None
        try:
            self._scan = scan_space(self.root, self._watch)
        except OSError as error:
            raise Unavailable("the folder of this space cannot be read") from error
        took = time.monotonic() - began
        self._due = began + took + max(MAX_AGE_S, COST_FACTOR * took)
        if len(self._scan.linked) > MAX_LINKED:
            self._stop_watching()
        return ScanUpdate(self._scan, None)

    def _watch(self, folder: str, held: int) -> None:
        """Called before a folder is listed: a change is in the list or makes an event."""
        if self._events is None:
            return
        if self._identity is None or os.fstat(held).st_dev != self._identity[0]:
            self._stop_watching()
            return
        try:
            watch = self._events.add(held)
        except OSError:
            # Too many watches on this machine, most likely.
            self._stop_watching()
            return
        self._watches[watch] = folder
        self._folders[folder] = watch

    def _stop_watching(self) -> None:
        if self._events is not None:
            self._events.close()
        self._events = None

    def _collect(self, events: FolderEvents) -> tuple[set[str], set[str]]:
        """Files and folders to look at."""
        files: set[str] = set()
        folders: set[str] = set()
        for it in events.drain():
            folder = self._watches.get(it.watch)
            if folder is None:
                continue
            if it.is_ended:
                if not folder:
                    raise EventsLost
                folders.add(folder)
            elif it.name:
                path = f"{folder}/{it.name}" if folder else it.name
                if not it.is_folder:
                    files.add(path)
                elif it.is_entry:
                    folders.add(path)
        return files, folders

    def _update(self, old: SpaceScan, files: set[str], folders: set[str]) -> ScanUpdate:
        outer = {it for it in folders if not any(_is_below(it, other) for other in folders)}
        files = {it for it in files if not any(_is_below(it, other) for other in outer)}
        if not files and not outer:
            return ScanUpdate(old, frozenset())
        now = old.copy()
        touched: set[str] = {*files}
        for folder in outer:
            touched |= self._forget(now, folder)
        for folder in sorted(outer):
            touched |= self._add_folder(now, folder)
        changed = [it for path in sorted(files) for it in self._look(now, path)]
        touched |= {*changed}
        if self._events is None:
            # A new folder could not be watched.
            return self._rescan()
        if not changed and not outer and now.linked == old.linked:
            return ScanUpdate(old, frozenset(touched))
        self._scan = now
        return ScanUpdate(now, frozenset(touched))

    def _forget(self, now: SpaceScan, folder: str) -> set[str]:
        for path in [it for it in self._folders if it == folder or _is_below(it, folder)]:
            watch = self._folders.pop(path)
            self._watches.pop(watch, None)
            now.rules.pop(path, None)
            if self._events is not None:
                self._events.remove(watch)
        gone = {it for it in now.stamps if _is_below(it, folder)}
        for path in gone:
            now.remove(path)
        for path in [it for it in now.refused if it == folder or _is_below(it, folder)]:
            del now.refused[path]
        return gone

    def _add_folder(self, now: SpaceScan, folder: str) -> set[str]:
        above, name = _split(folder)
        rules = now.rules.get(above)
        if rules is None or not is_text(name):
            return set()
        try:
            is_folder = disk.is_folder(self.root, folder)
        except PeciaError:
            return set()
        if not is_folder or not is_included(folder, rules, is_folder=True):
            return set()
        before = {*now.stamps}
        scan_subfolder(self.root, folder, rules, now, self._watch)
        return now.stamps.keys() - before

    def _look(self, now: SpaceScan, path: str) -> list[str]:
        """Look at one file; returns what is not as before: it, and others of its name."""
        above, name = _split(path)
        rules = now.rules.get(above)
        if rules is None:
            return []
        if not is_text(name):
            now.refuse_name(path, is_there=_stat(self.root, path) is not None)
            return [path]
        was, found = now.stamps.get(path), _stat(self.root, path)
        if found is not None and was is not None and disk.FileStamp.of(found) == was:
            # A second name does not change the stamp.
            (now.linked.add if found.st_nlink > 1 else now.linked.discard)(path)
            return []
        was_known = was is not None or path in now.refused
        # Which of two files of one name is the document depends on both.
        states = {it: _stat(self.root, it) for it in now.twins(path)}
        states[path] = found
        for it in states:
            now.remove(it)
        for it, state in sorted(states.items()):
            if state is not None and is_included(it, rules, is_folder=False):
                classify_file(it, state, now)
        return [*states] if was_known or found is not None else []


def _stat(root: Path, path: str) -> os.stat_result | None:
    """Of a regular file, no link."""
    try:
        found = disk.stat_entry(root, path)
    except PeciaError:
        return None
    return found if found is not None and stat.S_ISREG(found.st_mode) else None


def _identify(root: Path) -> tuple[int, int] | None:
    try:
        with disk.open_folder(root, "") as held:
            found = os.fstat(held)
    except (OSError, NotFound):
        return None
    return found.st_dev, found.st_ino


def _decides_ignored(path: str) -> bool:
    return _split(path)[1] in IGNORE_FILES


def _is_below(path: str, folder: str) -> bool:
    return path.startswith(f"{folder}/")


def _split(path: str) -> tuple[str, str]:
    folder, _, name = path.rpartition("/")
    return folder, name
