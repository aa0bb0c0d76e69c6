"""Updates one document's file, in steps that are each a transaction.

Edits by programs are stored before anything is overwritten. A swap is recorded before it is made.
New and old file are exchanged atomically, and the old one is checked until nobody can write it any
more. After a crash between two steps, any process can continue.
"""

import time
from dataclasses import dataclass, field, replace
from enum import Enum, auto

from anyio.to_thread import run_sync

from pecia.features.wiki.core.names import split_extension
from pecia.features.wiki.history.history import VersionDraft
from pecia.features.wiki.history.message import FILE_SYSTEM, CommitNote
from pecia.features.wiki.live.copies import DocumentFiles, FileMerge, merge_files
from pecia.features.wiki.live.core.crdt import LiveText
from pecia.features.wiki.live.core.debounce import FlushKind
from pecia.features.wiki.live.draft import LiveDraft, build_draft
from pecia.features.wiki.live.store import (
    FileBase,
    FileCopy,
    LiveRow,
    LiveRows,
    SystemLiveRows,
)
from pecia.features.wiki.parse import parse_document
from pecia.features.wiki.storage import disk
from pecia.kernel.corpus.catalog import texts
from pecia.kernel.corpus.provenance import with_writer
from pecia.kernel.errors import NotFound

SWAP_TIMEOUT_S = 2.0
"""How long a file may look half written before it is taken as it is."""
MAX_MISSES = 3
"""Consecutive checks a file must be missing before it counts as deleted."""


class SwapStep(Enum):
    DONE = auto()
    AGAIN = auto()
    WAIT = auto()
    """A program is in the middle of writing."""


@dataclass(slots=True)
class FileSwap:
    """For one document, under the lock of its space."""

    files: DocumentFiles
    kind: FlushKind = FlushKind.WRITE
    restores: bool = False
    """Create a missing file: a tool wrote the document where there was none."""
    may_be_written: bool = False
    """Whether a program may have written a replaced file since it was read."""
    _until: int | None = None
    """The update that the file must contain. Later ones are left to the next flush."""
    _begun: float = field(default_factory=time.monotonic)
    _missed: int = 0

    async def step(self, rows: SystemLiveRows, versions: VersionDraft) -> SwapStep:
        """Do the next step."""
        row = await rows.find(self.files.path)
        if row is None or (row.is_gone and not await self._revive(rows, row)):
            return SwapStep.DONE
        copies = await rows.copies(row)
        self.may_be_written = bool(copies)
        await self.files.remove_orphans(row, copies)
        written = await rows.changes(row)
        intent = next((it for it in copies if it.swapped_at is None), None)
        if intent is not None:
            now = LiveText(intent.base)
            since = written[: intent.head - row.filed]
            mine = LiveDraft(row, FileBase(row.base, row.digest), now, since)
            return await self._swap(rows, versions, mine, intent)
        if self._until is not None and row.filed >= self._until:
            return SwapStep.DONE
        mine = build_draft(row, written, copies)
        found = await merge_files(self.files, mine)
        if found.is_missing:
            return await self._handle_missing(rows, versions, mine)
        self._missed, self.may_be_written = 0, found.has_writers
        return await self._store_edits(rows, versions, mine, found)

    async def _store_edits(
        self, rows: SystemLiveRows, versions: VersionDraft, mine: LiveDraft, found: FileMerge
    ) -> SwapStep:
        """Store edits by programs, then stage the new file."""
        await store_edits(rows, mine)
        for copy in found.done:
            await rows.drop_copy(mine.row, copy)
        head = mine.row.head + len(mine.added)
        self._until = head if self._until is None else self._until
        # What a program wrote is in no other file: the next one must have it.
        is_due = self.kind is FlushKind.WRITE or bool(mine.added)
        if head > mine.row.filed and is_due:
            mine.row = replace(mine.row, head=head)
            step = await self._stage_swap(rows, versions, mine, found.text)
        else:
            is_patient = time.monotonic() - self._begun < SWAP_TIMEOUT_S
            step = SwapStep.WAIT if found.text is None and is_patient else SwapStep.DONE
        # Once more, to remove their files: this document may not be opened again for long.
        return SwapStep.AGAIN if step is SwapStep.DONE and found.done else step

    async def _handle_missing(
        self, rows: SystemLiveRows, versions: VersionDraft, mine: LiveDraft
    ) -> SwapStep:
        """The file counts as deleted if it stays missing. A program may write it again, as a
        checkout does: the history is kept for a while, and what is not in the file with it."""
        if self.restores:
            # As it was: a program that put it aside, and writes it later, read this text.
            await self.files.restore(mine.file_text)
            return SwapStep.AGAIN
        self._missed += 1
        if self._missed < MAX_MISSES:
            return SwapStep.WAIT
        await self._record_lost(versions, mine)
        await rows.hide(mine.row)
        return SwapStep.DONE

    async def _revive(self, rows: SystemLiveRows, row: LiveRow) -> bool:
        """Go on with a document whose file is there again; False where it is not."""
        if not self.restores and await self.files.read() is None:
            return False
        await rows.revive(row)
        return True

    async def _swap(
        self, rows: SystemLiveRows, versions: VersionDraft, mine: LiveDraft, intent: FileCopy
    ) -> SwapStep:
        """Make the recorded swap, unless it was made before a crash."""
        if not await self.files.is_swapped(mine.row, intent):
            try:
                await self.files.swap(intent)
            except NotFound:
                await rows.drop_copy(mine.row, intent)
                return SwapStep.WAIT
        await rows.complete_swap(mine.row, intent, time.time())
        await self._update_corpus(rows, mine, intent)
        await record_live_version(versions, self.files.path, mine, mine.file_text.encode())
        return SwapStep.AGAIN

    async def _update_corpus(self, rows: SystemLiveRows, mine: LiveDraft, intent: FileCopy) -> None:
        """Update the corpus, unless the file changed again: then a later sync does."""
        place, path = self.files.location, self.files.path
        stamp = await run_sync(disk.stat_file, place.root, path)
        if stamp is not None and str(stamp.inode) == intent.inode:
            body = mine.text.encode()
            parsed = await parse_document(place, path, body, stamp)
            words = parsed.text
            if mine.writers:
                author = with_writer(words.extractor, mine.writers)
                words = replace(words, extractor=author)
            await texts.put(rows.tx, parsed.facts, words, tenant_id=place.tenant_id)

    async def _stage_swap(
        self, rows: SystemLiveRows, versions: VersionDraft, mine: LiveDraft, on_disk: str | None
    ) -> SwapStep:
        after, row = mine.build_file_base(), mine.row
        if on_disk is not None and mine.text == on_disk:
            await record_live_version(versions, self.files.path, mine, on_disk.encode())
            await rows.mark_flushed(row, after)
            return SwapStep.DONE
        name, inode = await self.files.stage_file(row, mine.text)
        await rows.stage_copy(row, FileCopy(name, inode, after.base, after.digest, row.head))
        return SwapStep.AGAIN

    async def _record_lost(self, versions: VersionDraft, found: LiveDraft) -> None:
        """The file was deleted by somebody else: keep its last text as a version."""
        if found.writers:
            path, name = self.files.path, split_extension(self.files.path)[0]
            await record_live_version(versions, path, found, found.file_text.encode())
            gone = CommitNote(FILE_SYSTEM, f"delete: {name}", (name,))
            await versions.record({}, {path: None}, gone)


async def store_edits(rows: LiveRows, mine: LiveDraft) -> None:
    """Store our updates, and what the files are known to contain with them."""
    if mine.added:
        await rows.add(mine.row, mine.added, mine.seen)
    for copy in mine.read_copies:
        await rows.update_copy(mine.row, copy)


async def record_live_version(
    versions: VersionDraft, path: str, found: LiveDraft, before: bytes | None
) -> None:
    """Prepare what the editors wrote as one version with all their names."""
    if not found.writers:
        return
    name = split_extension(path)[0]
    first, *others = found.writers
    note = CommitNote(first, f"wip: {name}", (name,), others=tuple(others))
    # A tool's change is committed before its file is written: nothing new then.
    known = {} if await versions.has_versions(path) else {path: before}
    await versions.record(known, {path: found.text.encode()}, note)
