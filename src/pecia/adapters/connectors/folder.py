"""The folder connector. Never leaves the folder, never opens a link or pipe."""

import errno
import os
import stat
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from mimetypes import guess_type
from pathlib import Path, PurePosixPath
from typing import BinaryIO, cast

from anyio.to_thread import run_sync
from pydantic import Field

from pecia.adapters.connectors.access import file_selection, folder_bounds
from pecia.adapters.connectors.filesystem.bounds import ANYWHERE, FolderBounds, require_folder
from pecia.adapters.connectors.filesystem.scan import (
    FileSelection,
    ModeAndOwner,
    StatStamp,
    SymlinkPolicy,
    mode_and_owner,
    real_path,
    resolve_path,
    scan_folders,
)
from pecia.adapters.connectors.filesystem.temp_file import temp_file
from pecia.adapters.connectors.filesystem.watch import FolderChangeBatch, watch_folder
from pecia.kernel.corpus.connector import (
    MAX_KEY_BYTES,
    ListedFile,
    ListingEntry,
    OriginalFile,
    PosixAccess,
    SkippedFile,
    is_storable_key,
)
from pecia.kernel.corpus.connector_kind import (
    ConnectorContext,
    ConnectorKind,
    LocalOrigin,
    OriginOptions,
)
from pecia.kernel.errors import InvalidFormat, NotFound, PayloadTooLarge, Unavailable

NOT_FOUND_ERRNOS = frozenset((errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG))
LIST_BATCH = 500
EXECUTE_BITS = 0o111
WRITE_OF_OTHERS = 0o022
FOREIGN = "a hard link to a file of another owner"
BLOCK_BYTES = 1 << 20


@dataclass(slots=True)
class ParentPermissions:
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
            is_open = mode & EXECUTE_BITS == EXECUTE_BITS
            here = () if is_open else ((mode, found.st_uid, found.st_gid),)
            self.known[folder] = (*before, *here)
        return self.known[folder]


@dataclass(frozen=True, slots=True)
class FolderConnector:
    """One folder of this machine. Nothing outside `bounds` is listed or opened, wherever the root
    or a part of the way to it has gone since it was named."""

    root: Path
    selection: FileSelection
    bounds: FolderBounds = ANYWHERE

    async def listing(self) -> AsyncGenerator[ListingEntry]:
        """Everything that counts. A folder that is out of reach is an error, not an empty one."""
        waiting = self._walk()
        while batch := await run_sync(self._next_batch, waiting):
            for it in batch:
                yield it

    async def stat_many(self, keys: Sequence[str]) -> list[ListingEntry]:
        """Those of the keys that are plain files and count."""
        return await run_sync(self._stat_many, keys)

    @asynccontextmanager
    async def opening(self, key: str, most_bytes: int) -> AsyncGenerator[OriginalFile]:
        """A copy, so that no writer in the folder can change it while it is read."""
        async with temp_file(lambda copy: self._copy(key, copy, most_bytes)) as copy:
            yield OriginalFile(copy)

    async def read_many(self, keys: Sequence[str], most_bytes: int) -> dict[str, bytes]:
        """The bytes of those that are no larger, read at once; the others are left out."""
        return await run_sync(self._read_many, keys, most_bytes)

    def describe(
        self, key: str, stamp: StatStamp, ways: "ParentPermissions | None" = None
    ) -> ListingEntry:
        """What is known of a file without opening it. `ways` remembers the folders of a listing."""
        if not is_storable_key(key):
            reason = f"the path is longer than {MAX_KEY_BYTES} bytes"
            return SkippedFile(key[:200], reason, is_failure=True)
        try:
            above = (ways or ParentPermissions()).above(self._parent_of(key))
        except OSError as error:
            return SkippedFile(key, (error.strerror or "cannot be read").lower(), is_failure=True)
        return ListedFile(
            key,
            stamp=f"{stamp.mtime_ns:x}-{stamp.size_bytes:x}-{stamp.inode:x}",
            size_bytes=stamp.size_bytes,
            modified_at=_moment(stamp.mtime_ns),
            content_type=guess_type(key)[0],
            owner=str(stamp.rights[1]),
            posix=PosixAccess(*stamp.rights, above),
        )

    def _parent_of(self, key: str) -> Path:
        """The folder that a file really lies in: who may go there needs no link."""
        if self.selection.links is SymlinkPolicy.INSIDE:
            return resolve_path(self.root / key).parent
        return (resolve_path(self.root) / key).parent

    def _next_batch(self, waiting: Iterator[ListingEntry]) -> list[ListingEntry]:
        return [*islice(waiting, LIST_BATCH)]

    def _walk(self) -> Iterator[ListingEntry]:
        # Resolved once: what is judged here is what is listed, whatever the name means later.
        top = resolve_path(self.root)
        self.bounds.require(top)
        ways = ParentPermissions()
        for found in scan_folders(top, self.selection):
            if any(self.bounds.is_closed(resolve_path(top / it)) for it in found.folders):
                continue
            for folder in found.folders:
                self.bounds.require(top / folder)
            if reason := found.skipped.pop(".", None):
                raise Unavailable(f"the folder {self.root} cannot be read: {reason}")
            for path, reason in found.skipped.items():
                unsure, is_failure = path in found.uncertain, path in found.failed
                yield SkippedFile(path, reason, unsure=unsure, is_failure=is_failure)
            for key, stamp in sorted(found.files.items()):
                held = found.rights.get(key.rpartition("/")[0])
                if held and self._is_foreign(stamp.rights[1], stamp.names, held):
                    yield SkippedFile(key, FOREIGN, is_failure=True)
                else:
                    yield self.describe(key, stamp, ways)

    def _stat_many(self, keys: Sequence[str]) -> list[ListingEntry]:
        self.bounds.require(self.root)
        found: list[ListingEntry] = []
        ways = ParentPermissions()
        for key in keys:
            try:
                status = (self.root / key).lstat()
                is_foreign = self._is_foreign_open(key, status)
            except OSError:
                continue
            if is_foreign:
                found.append(SkippedFile(key, FOREIGN, is_failure=True))
                continue
            is_shut = self.bounds.is_closed(resolve_path(self.root / key))
            if stat.S_ISREG(status.st_mode) and self.selection.admits(key) and not is_shut:
                found.append(self.describe(key, StatStamp.of(status), ways))
        return found

    def _read_many(self, keys: Sequence[str], most_bytes: int) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        for key in keys:
            # Opening it alone reports why it cannot be.
            with suppress(NotFound, Unavailable, OSError), self.open_file(key) as source:
                data = b""
                while block := source.read(most_bytes + 1 - len(data)):
                    data += block
                if len(data) <= most_bytes:
                    found[key] = data
        return found

    def _copy(self, key: str, to: Path, most_bytes: int) -> None:
        with self.open_file(key) as source, to.open("wb") as target:
            left = most_bytes
            while block := source.read(min(BLOCK_BYTES, left + 1)):
                left -= len(block)
                if left < 0:
                    raise PayloadTooLarge(
                        f"the file is larger than {most_bytes} bytes", field="key", max=most_bytes
                    )
                target.write(block)

    def open_file(self, key: str) -> BinaryIO:
        """Judged after it is open: a link put there a moment ago leads nowhere."""
        follow = 0 if self.selection.links is SymlinkPolicy.INSIDE else os.O_NOFOLLOW
        try:
            number = os.open(self.root / key, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | follow)
        except OSError as error:
            reason = (error.strerror or "cannot be opened").lower()
            # What may not be opened, or not just now, is there all the same.
            kind = NotFound if error.errno in NOT_FOUND_ERRNOS else Unavailable
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

    def _is_foreign(self, owner: int, names: int, folder: ModeAndOwner) -> bool:
        """Whether it is a hard link, in a tenant's folder, to a file of another owner than the
        folder's. A folder of root that nobody else may write in is trusted with its names."""
        if self.bounds.folders is None or names < 2 or owner == folder[1]:
            return False
        return folder[1] != 0 or bool(folder[0] & WRITE_OF_OTHERS)

    def _is_foreign_open(self, key: str, found: os.stat_result) -> bool:
        if not stat.S_ISREG(found.st_mode):
            return False
        held = mode_and_owner((self.root / key).parent.stat())
        return self._is_foreign(found.st_uid, found.st_nlink, held)

    def _is_inside(self, key: str, number: int) -> bool:
        try:
            place = real_path(number, self.root / key)
        except OSError:
            return False
        return place.is_relative_to(resolve_path(self.root)) and self.bounds.contains(place)


def _moment(mtime_ns: int) -> datetime | None:
    try:
        return datetime.fromtimestamp(mtime_ns / 1e9, UTC)
    except (ValueError, OverflowError, OSError):
        # A file's owner may set an mtime that no calendar has.
        return None


class FolderOrigin(LocalOrigin):
    """A folder of the machine that the workers run on, or one mounted there."""

    folder: str
    follow_links: bool = False
    watch: bool = True

    @property
    def is_watched(self) -> bool:
        return self.watch

    @property
    def local_path(self) -> PurePosixPath:
        return PurePosixPath(self.folder)


class FolderOptions(OriginOptions):
    folder: str | None = Field(default=None, max_length=4000, description="A folder's path.")
    watch: bool = Field(default=True, description="With folder: follow changes as they happen.")

    def build_origin(self, source_id: str) -> FolderOrigin:
        text = self.folder or ""
        path = PurePosixPath(text)
        if not path.is_absolute() or ".." in path.parts or "\0" in text:
            raise InvalidFormat(
                'Field "folder" must be an absolute path', field="folder", got=text[:500]
            )
        return FolderOrigin(folder=str(path), watch=self.watch)


@asynccontextmanager
async def open_folder(
    origin: FolderOrigin, context: ConnectorContext
) -> AsyncGenerator[FolderConnector]:
    """The folder, if its tenant may still have it as a source."""
    bounds, root = folder_bounds(context, confined=origin.confined), Path(origin.folder)
    await run_sync(bounds.require, root)
    yield FolderConnector(root, file_selection(context, follow_links=origin.follow_links), bounds)


async def check_folder(origin: FolderOrigin, context: ConnectorContext) -> None:
    bounds = folder_bounds(context, confined=origin.confined)
    await run_sync(require_folder, Path(origin.folder), bounds, "folder")


async def watch_changes(
    root: Path, selection: FileSelection
) -> AsyncGenerator[tuple[str, ...] | None]:
    """The keys below a folder that changed, as they change."""
    follows = selection.links is SymlinkPolicy.INSIDE
    async with aclosing(watch_folder(root, selection)) as events:
        async for event in events:
            # Behind links a change may concern other keys as well.
            if isinstance(event, FolderChangeBatch) and not follows:
                yield tuple(it.path for it in event.changes)
            else:
                yield None


def watch_origin(
    origin: FolderOrigin, context: ConnectorContext
) -> AsyncGenerator[tuple[str, ...] | None]:
    selection = file_selection(context, follow_links=origin.follow_links)
    return watch_changes(Path(origin.folder), selection)


FOLDER = ConnectorKind(
    "folder",
    "A folder of the machine that the workers run on, or one mounted there.",
    FolderOrigin,
    open_folder,
    options=FolderOptions,
    check=check_folder,
    watch=watch_origin,
    has_posix=True,
)
