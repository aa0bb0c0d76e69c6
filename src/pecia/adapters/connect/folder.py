"""A folder as a place that files come from. Never leaves the folder, never opens a link or pipe."""

import errno
import os
import stat
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from mimetypes import guess_type
from pathlib import Path
from typing import BinaryIO, cast

from anyio.to_thread import run_sync

from pecia.adapters.connect.bounds import ANYWHERE, Bounds
from pecia.adapters.connect.scratch import scratch
from pecia.adapters.scan import (
    Links,
    Rights,
    Selection,
    Stamp,
    real_name,
    real_path,
    rights_of,
    scan_folders,
)
from pecia.kernel.corpus.connector import (
    LONGEST_KEY_BYTES,
    Listed,
    Original,
    Passed,
    Posix,
    Seen,
    is_keepable,
)
from pecia.kernel.errors import NotFound, PayloadTooLarge, Unavailable

GONE = frozenset((errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG))
STEP = 500
ENTER = 0o111
WRITE_OF_OTHERS = 0o022
FOREIGN = "a hard link to a file of another owner"
BLOCK = 1 << 20


@dataclass(slots=True)
class Ways:
    """The folders above files that not everybody may enter, each looked at once."""

    known: dict[Path, tuple[tuple[int, int, int], ...]] = field(
        default_factory=dict[Path, tuple[tuple[int, int, int], ...]]
    )

    def above(self, folder: Path) -> tuple[tuple[int, int, int], ...]:
        """Mode, owner and group of those among this folder and all above it."""
        if folder not in self.known:
            found = folder.stat()
            before = self.above(folder.parent) if folder.parent != folder else ()
            mode = stat.S_IMODE(found.st_mode)
            is_open = mode & ENTER == ENTER
            here = () if is_open else ((mode, found.st_uid, found.st_gid),)
            self.known[folder] = (*before, *here)
        return self.known[folder]


@dataclass(frozen=True, slots=True)
class Folder:
    """One folder of this machine. Nothing outside `bounds` is listed or opened, wherever the root
    or a part of the way to it has gone since it was named."""

    root: Path
    selection: Selection
    bounds: Bounds = ANYWHERE

    async def listing(self) -> AsyncGenerator[Listed]:
        """Everything that counts. A folder that is out of reach is an error, not an empty one."""
        waiting = self._listed_all()
        while batch := await run_sync(self._some, waiting):
            for it in batch:
                yield it

    async def glance(self, keys: Sequence[str]) -> list[Listed]:
        """Those of the keys that are plain files and count."""
        return await run_sync(self._glanced, keys)

    @asynccontextmanager
    async def opening(self, key: str, most_bytes: int) -> AsyncGenerator[Original]:
        """A copy, so that whoever may write in the folder cannot change it while it is read."""
        async with scratch(lambda copy: self._copy(key, copy, most_bytes)) as copy:
            yield Original(copy)

    async def handful(self, keys: Sequence[str], most_bytes: int) -> dict[str, bytes]:
        """The bytes of those that are no larger, read at once; the others are left out."""
        return await run_sync(self._handful, keys, most_bytes)

    def listed(self, key: str, stamp: Stamp, ways: "Ways | None" = None) -> Listed:
        """What is known of a file without opening it. `ways` remembers the folders of a listing."""
        if not is_keepable(key):
            return Passed(key[:200], f"the path is longer than {LONGEST_KEY_BYTES} bytes")
        try:
            above = (ways or Ways()).above(self._home_of(key))
        except OSError as error:
            return Passed(key, (error.strerror or "cannot be read").lower())
        return Seen(
            key,
            stamp=f"{stamp.mtime_ns:x}-{stamp.size_bytes:x}-{stamp.inode:x}",
            size_bytes=stamp.size_bytes,
            modified_at=_moment(stamp.mtime_ns),
            content_type=guess_type(key)[0],
            owner=str(stamp.rights[1]),
            posix=Posix(*stamp.rights, above),
        )

    def _home_of(self, key: str) -> Path:
        """The folder that a file really lies in: whoever may go there needs no link."""
        if self.selection.links is Links.INSIDE:
            return real_name(self.root / key).parent
        return (real_name(self.root) / key).parent

    def _some(self, waiting: Iterator[Listed]) -> list[Listed]:
        return [*islice(waiting, STEP)]

    def _listed_all(self) -> Iterator[Listed]:
        # Resolved once: what is judged here is what is listed, whatever the name means later.
        top = real_name(self.root)
        self.bounds.require(top)
        ways = Ways()
        for found in scan_folders(top, self.selection):
            if any(self.bounds.shut(real_name(top / it)) for it in found.folders):
                continue
            for folder in found.folders:
                self.bounds.require(top / folder)
            if reason := found.refused.pop(".", None):
                raise Unavailable(f"the folder {self.root} cannot be read: {reason}")
            for path, reason in found.refused.items():
                yield Passed(path, reason, unsure=path in found.unsure)
            for key, stamp in sorted(found.files.items()):
                held = found.rights.get(key.rpartition("/")[0])
                if held and self._is_foreign(stamp.rights[1], stamp.names, held):
                    yield Passed(key, FOREIGN)
                else:
                    yield self.listed(key, stamp, ways)

    def _glanced(self, keys: Sequence[str]) -> list[Listed]:
        self.bounds.require(self.root)
        found: list[Listed] = []
        ways = Ways()
        for key in keys:
            try:
                status = (self.root / key).lstat()
                is_foreign = self._is_foreign_open(key, status)
            except OSError:
                continue
            if is_foreign:
                found.append(Passed(key, FOREIGN))
                continue
            is_shut = self.bounds.shut(real_name(self.root / key))
            if stat.S_ISREG(status.st_mode) and self.selection.admits(key) and not is_shut:
                found.append(self.listed(key, Stamp.of(status), ways))
        return found

    def _handful(self, keys: Sequence[str], most_bytes: int) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        for key in keys:
            # Whoever opens it alone is told why it cannot be.
            with suppress(NotFound, Unavailable, OSError), self.opened(key) as source:
                data = b""
                while block := source.read(most_bytes + 1 - len(data)):
                    data += block
                if len(data) <= most_bytes:
                    found[key] = data
        return found

    def _copy(self, key: str, to: Path, most_bytes: int) -> None:
        with self.opened(key) as source, to.open("wb") as target:
            left = most_bytes
            while block := source.read(min(BLOCK, left + 1)):
                left -= len(block)
                if left < 0:
                    raise PayloadTooLarge(
                        f"the file is larger than {most_bytes} bytes", field="key", max=most_bytes
                    )
                target.write(block)

    def opened(self, key: str) -> BinaryIO:
        """Judged after it is open: a link put there a moment ago leads nowhere."""
        follow = 0 if self.selection.links is Links.INSIDE else os.O_NOFOLLOW
        try:
            number = os.open(self.root / key, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | follow)
        except OSError as error:
            reason = (error.strerror or "cannot be opened").lower()
            # What may not be opened, or not just now, is there all the same.
            kind = NotFound if error.errno in GONE else Unavailable
            raise kind(f"the file cannot be opened: {reason}", key=key) from None
        opened = cast(BinaryIO, os.fdopen(number, "rb", buffering=0))
        found = os.fstat(number)
        if not stat.S_ISREG(found.st_mode) or not self._is_inside(key, number):
            opened.close()
            raise NotFound("the file is not a plain file of its folder", key=key)
        if self._is_foreign_open(key, found):
            opened.close()
            raise NotFound(FOREIGN, key=key)
        return opened

    def _is_foreign(self, owner: int, names: int, folder: Rights) -> bool:
        """Whether it is a hard link, in a tenant's folder, to a file of another owner than the
        folder's. A folder of root that nobody else may write in is trusted with its names."""
        if self.bounds.folders is None or names < 2 or owner == folder[1]:
            return False
        return folder[1] != 0 or bool(folder[0] & WRITE_OF_OTHERS)

    def _is_foreign_open(self, key: str, found: os.stat_result) -> bool:
        if not stat.S_ISREG(found.st_mode):
            return False
        held = rights_of((self.root / key).parent.stat())
        return self._is_foreign(found.st_uid, found.st_nlink, held)

    def _is_inside(self, key: str, number: int) -> bool:
        try:
            place = real_path(number, self.root / key)
        except OSError:
            return False
        return place.is_relative_to(real_name(self.root)) and self.bounds.hold(place)


def _moment(mtime_ns: int) -> datetime | None:
    try:
        return datetime.fromtimestamp(mtime_ns / 1e9, UTC)
    except (ValueError, OverflowError, OSError):
        # Whoever may write a file may give it a time that no calendar has.
        return None
