"""Files beside a live document's: the staged one that will replace it, and recently replaced ones.

They lie in a folder of ours, so that no program takes them for documents. A file is removed only
after its row: a file without a row is an orphan and is deleted.
"""

import time
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from secrets import token_hex
from uuid import UUID

import anyio
from anyio.to_thread import run_sync

from pecia.features.wiki.core.document import decode_utf8
from pecia.features.wiki.live.core.crdt import LiveText
from pecia.features.wiki.live.core.merge_base import find_merge_base
from pecia.features.wiki.live.draft import LiveDraft, text_digest
from pecia.features.wiki.live.store import FileCopy, LiveRow, LiveRows
from pecia.features.wiki.storage import disk
from pecia.features.wiki.storage.disk import FileSnapshot
from pecia.features.wiki.storage.project_folder import ensure_project_folder
from pecia.features.wiki.store import SpaceLocation
from pecia.kernel.errors import Collision, NotFound, Unprocessable

COPY_FOLDER = ".pecia/cache/live"
COPY_TTL_S = 2.0
"""Minimum age of a replaced file before deletion: a program may be about to write it, or may have
read it and be about to write its successor."""
COPY_TTL_WITHOUT_LEASE_S = 30.0
"""The same where the system cannot tell whether anybody still has it open."""
WRITE_QUIET_S = 0.1
"""Where the system cannot tell whether anybody writes: a file untouched for so long is complete."""
MAX_UNREAD_COPIES = 20
"""How many are kept beyond that while a program is in the middle of writing. Each costs a diff."""
MAX_READS, READ_INTERVAL_S = 20, 0.05
"""Retries for a missing file: programs that save may delete it first."""
ORPHAN_TTL_S = 3600.0
"""Files of unknown documents are removed after so long."""


@dataclass(frozen=True, slots=True)
class DocumentFiles:
    """The file of one document, and its copies."""

    location: SpaceLocation
    path: str

    async def read(self) -> FileSnapshot | None:
        """The file itself; None where there is none."""
        return await run_sync(disk.read_snapshot, self.location.root, self.path)

    async def read_with_retry(self) -> FileSnapshot | None:
        """The same, with retries where there is none: programs that save may delete it first."""
        for _ in range(MAX_READS):
            if (found := await self.read()) is not None:
                return found
            await anyio.sleep(READ_INTERVAL_S)
        return None

    async def restore(self, text: str) -> None:
        """Create the missing file again; one that came back meanwhile stays."""
        with suppress(Collision):
            await run_sync(disk.replace, self.location.root, self.path, text.encode(), None)

    async def read_copy(self, copy: FileCopy) -> FileSnapshot | None:
        return await run_sync(disk.read_snapshot, self.location.project, _copy_path(copy.name))

    async def stage_file(self, row: LiveRow, text: str) -> tuple[str, str]:
        """Write the file that will replace the document's: its name and inode."""
        name = f"{row.id}-{token_hex(8)}{disk.TEMPORARY_SUFFIX}"
        return name, await run_sync(_stage, self.location, self.path, name, text.encode())

    async def swap(self, intent: FileCopy) -> None:
        """NotFound where there is no file to be replaced."""
        kept = (self.location.project, _copy_path(intent.name))
        await run_sync(disk.swap, kept, (self.location.root, self.path))

    async def is_swapped(self, row: LiveRow, intent: FileCopy) -> bool:
        """Whether the new file has already replaced the document's."""
        kept = _copy_path(intent.name)
        await run_sync(disk.finish_swap, self.location.project, kept)
        inode = await run_sync(disk.inode_of, self.location.project, kept)
        if inode is not None:
            return inode != intent.inode
        # The staged file is missing although only we use that folder: compare the file itself.
        found = await self.read()
        return found is None or _is_ours(found, row, intent)

    async def remove_orphans(self, row: LiveRow, copies: Collection[FileCopy]) -> None:
        """Remove copies without a row. The caller must hold the row lock."""
        await run_sync(_remove_orphans, self.location, row.id, {it.name for it in copies})


async def resolve_swap(
    rows: LiveRows, row: LiveRow, files: DocumentFiles
) -> tuple[LiveRow, list[FileCopy]]:
    """Settle a pending swap: it happened, or never will. Returns the document and its copies."""
    copies = await rows.copies(row)
    intent = next((it for it in copies if it.swapped_at is None), None)
    if intent is None:
        return row, copies
    if await files.is_swapped(row, intent):
        await rows.complete_swap(row, intent, time.time())
    else:
        await rows.drop_copy(row, intent)
    found = await rows.find(files.path)
    assert found is not None
    return found, await rows.copies(found)


@dataclass(frozen=True, slots=True)
class FileMerge:
    """What the files of a document contributed. `text` is None if the file is half written."""

    text: str | None
    is_missing: bool
    done: list[FileCopy]
    """Copies that cannot contribute any more."""
    has_writers: bool
    """Whether a program had a copy open for writing when it was read."""


async def merge_files(files: DocumentFiles, mine: LiveDraft) -> FileMerge:
    """Merge edits by programs, oldest file first: the next may contain them as well."""
    done: list[FileCopy] = []
    are_read, has_writers = True, False
    for copy in [*mine.copies]:
        found = await files.read_copy(copy)
        # Not text: cannot be merged, and must not be lost either.
        text = found.body.decode(errors="replace") if found else ""
        is_whole = found is None or is_fully_written(found, copy.base)
        is_news = found and is_whole and mine.merge_copy(copy, text)
        are_read = are_read and is_whole
        has_writers = has_writers or bool(found and found.is_open)
        if found is None or (not is_news and is_abandoned(found, copy)):
            done.append(copy)
    found = await files.read_with_retry()
    if found is None:
        return FileMerge(None, is_missing=True, done=done, has_writers=has_writers)
    # A program in the middle of writing continues in the old file after the swap.
    if not is_fully_written(found, mine.row.base):
        return FileMerge(None, is_missing=False, done=_limit_unread(done), has_writers=has_writers)
    text = decode_utf8(found.body)
    if text is None:
        raise Unprocessable(f"{files.path!r} is not UTF-8", path=files.path)
    mine.merge_file(text)
    done = done if are_read else _limit_unread(done)
    return FileMerge(text, is_missing=False, done=done, has_writers=has_writers)


def _limit_unread(done: list[FileCopy]) -> list[FileCopy]:
    """Those that are dropped although a file could not be read yet: its text may have been made
    from one of them, and without it the words that are newer would look deleted. Oldest first."""
    return done[: max(0, len(done) - MAX_UNREAD_COPIES)]


def is_fully_written(found: FileSnapshot, known: bytes) -> bool:
    """Whether no program is in the middle of writing it. Appending never is."""
    if found.is_open is None:
        return time.time() - found.changed_at > WRITE_QUIET_S
    return not found.is_open or _is_appended(found, known)


def is_abandoned(found: FileSnapshot, copy: FileCopy) -> bool:
    """Whether nobody will write a replaced file any more."""
    assert copy.swapped_at is not None
    kept_s = COPY_TTL_WITHOUT_LEASE_S if found.is_open is None else COPY_TTL_S
    return not found.is_open and time.time() - max(copy.swapped_at, found.changed_at) > kept_s


async def remove_stranded(place: SpaceLocation, ids: Collection[str]) -> None:
    """Remove copies of documents that are no longer live."""
    await run_sync(_remove_stranded, place, ids)


def _is_appended(found: FileSnapshot, known: bytes) -> bool:
    before = str(LiveText(known)).encode()
    is_longer = len(found.body) > len(before) > 0 and found.body.startswith(before)
    return found.body == before or (is_longer and decode_utf8(found.body) is not None)


def _is_ours(found: FileSnapshot, row: LiveRow, intent: FileCopy) -> bool:
    if found.inode == intent.inode:
        return True
    text = decode_utf8(found.body)
    if text is None or text_digest(text) in (row.digest, intent.digest):
        return text is None or text_digest(text) == intent.digest
    return find_merge_base(text, str(LiveText(intent.base)), [str(LiveText(row.base))]) is None


def _copy_path(name: str) -> str:
    return f"{COPY_FOLDER}/{name}"


def _stage(place: SpaceLocation, path: str, name: str, body: bytes) -> str:
    ensure_project_folder(place.project)
    mode = disk.mode_of(place.root, path)
    return disk.create(place.project, _copy_path(name), body, mode)


def _remove_orphans(place: SpaceLocation, id_: UUID, known: Collection[str]) -> None:
    for name in disk.list_names(place.project, COPY_FOLDER):
        if name.startswith(f"{id_}-") and name.removesuffix(disk.ASIDE_SUFFIX) not in known:
            with suppress(NotFound):
                disk.remove(place.project, _copy_path(name))


def _remove_stranded(place: SpaceLocation, ids: Collection[str]) -> None:
    for name in disk.list_names(place.project, COPY_FOLDER):
        found = disk.read_snapshot(place.project, _copy_path(name))
        is_old = found is not None and time.time() - found.changed_at > ORPHAN_TTL_S
        if is_old and name[:36] not in ids:
            with suppress(NotFound):
                disk.remove(place.project, _copy_path(name))
