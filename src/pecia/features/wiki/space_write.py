"""One writer's transaction: files change on disk and in the store together, or neither does.

One writer at a time per space, by an advisory lock. A failure after a file was written restores it.
Other programs take no lock: a file that one of them wrote since we read it is left alone, and the
call is retried.
A live document is changed through its CRDT: concurrent editors lose nothing.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import anyio
from anyio.to_thread import run_sync

from pecia.features.wiki.core.document import decode_utf8
from pecia.features.wiki.core.summary import EditSummary
from pecia.features.wiki.history.message import CommitNote, writer_of
from pecia.features.wiki.live.copies import DocumentFiles, merge_files, resolve_swap
from pecia.features.wiki.live.draft import LiveDraft, build_draft
from pecia.features.wiki.live.file_swap import record_live_version, store_edits
from pecia.features.wiki.live.store import CallerLiveRows
from pecia.features.wiki.parse import parse_document
from pecia.features.wiki.space import OpenSpace
from pecia.features.wiki.storage import disk
from pecia.features.wiki.storage.journal import (
    JournaledFile,
    JournaledMove,
    RenameJournal,
    delete_journal,
    digest,
    restore_file,
    write_journal,
)
from pecia.features.wiki.storage.scan import is_text
from pecia.features.wiki.store import SQL
from pecia.kernel.corpus.catalog import texts
from pecia.kernel.errors import Collision, Forbidden, NotFound, PeciaError, Unprocessable
from pecia.kernel.logs import Log
from pecia.kernel.store.transaction import Transaction

_log = Log(__name__)

MAX_POLLS, POLL_INTERVAL_S = 40, 0.05
"""Retries for a file that another program has open for writing, until it is taken as it is: a
half-written file must not be edited."""


@dataclass(slots=True)
class SpaceWrite:
    """The changes of one call, in order."""

    opened: OpenSpace
    tx: Transaction
    pending_flushes: list[str] = field(default_factory=list[str])
    """Documents whose files are flushed after commit."""
    _snapshots: list[JournaledFile] = field(default_factory=list[JournaledFile])
    _bodies_before: dict[str, bytes | None] = field(default_factory=dict[str, bytes | None])
    _bodies_after: dict[str, bytes | None] = field(default_factory=dict[str, bytes | None])
    _drafts: dict[str, LiveDraft | None] = field(default_factory=dict[str, LiveDraft | None])
    _known: dict[str, bytes | None] = field(default_factory=dict[str, bytes | None])
    """Files as read or written in this transaction; None where there was none."""
    _journal: RenameJournal | None = None

    async def read(self, path: str) -> bytes | None:
        """The document under the lock; None where there is none."""
        found = await self._get_draft(path)
        if found is not None:
            return found.text.encode()
        return self._known.setdefault(path, await self._calm(path))

    async def require_may_write(self, path: str) -> None:
        """Require write access to a path, whether or not it exists."""
        asked = {"source_id": self.opened.space.source_id, "key": self.opened.location.key(path)}
        if not await self.tx.fetch_value(SQL["may_write"], **asked):
            raise Forbidden("your role does not allow this change", docName=path)

    async def write(self, path: str, body: bytes) -> None:
        """Write the document."""
        await self.require_may_write(path)
        has_seen_all = path in self._drafts
        found, text = await self._get_draft(path), decode_utf8(body)
        if found is not None and text is not None:
            await self._write_live(path, found, text, has_seen_all=has_seen_all)
            return
        if found is not None:
            # Not text, so it cannot be live.
            await self._rows.end(path)
        was = self._known[path] if path in self._known else await self._calm(path)
        stamp = await run_sync(disk.replace, self.opened.root, path, body, was)
        self._snapshots.append(JournaledFile(path, was))
        self._note_change(path, was, body)
        self._known[path] = body
        facts, stored = await parse_document(self.opened.location, path, body, stamp)
        await texts.put(self.tx, facts, stored)

    async def remove(self, path: str) -> None:
        """Remove the file, and close its open editors."""
        await self.require_may_write(path)
        was = on_disk = await self._calm(path)
        if on_disk is None:
            raise NotFound(f"no file {path!r}", path=path)
        if (found := await self._get_draft(path)) is not None:
            was = await self._record_live_edits(path, found, on_disk)
        await run_sync(disk.remove_known, self.opened.root, path, on_disk)
        self._snapshots.append(JournaledFile(path, on_disk))
        self._note_change(path, was, None)
        self._known[path] = None
        await texts.remove(self.tx, self.opened.space.source_id, self.opened.location.key(path))
        await self._rows.end(path)

    async def plan(
        self, moves: Sequence[tuple[str, str]], writes: Mapping[str, tuple[bytes, bytes]]
    ) -> None:
        """Journal what is needed to undo many changes, before the first of them.

        `writes` are documents by their paths before the moves: old and new content.
        """
        for path, (was, _) in writes.items():
            if await self._read_disk(path) != was:
                raise Collision("a document was changed meanwhile; try again", path=path)
        kept = [await run_sync(_journal_move, self.opened.root, *it) for it in moves]
        snapshots = [JournaledFile(path, was, digest(body)) for path, (was, body) in writes.items()]
        transaction = await self.tx.fetch_value(SQL["this_transaction"])
        self._journal = RenameJournal(tuple(kept), tuple(snapshots), transaction)
        self._known |= {self._journal.path_after(path): was for path, (was, _) in writes.items()}
        await run_sync(write_journal, self.opened.space.folder, self.opened.prefix, self._journal)

    async def move(self, path: str, to: str, keys: Sequence[tuple[str, str]]) -> None:
        """Move a file or folder; `keys` are its documents, before and after."""
        for old, new in keys:
            await self.require_may_write(old)
            await self.require_may_write(new)
            body = await self._read_disk(old)
            self._note_change(old, body, None)
            self._note_change(new, None, body)
        await run_sync(disk.move, self.opened.root, path, to)
        place = self.opened.location
        for old, new in keys:
            await texts.move(self.tx, place.source_id, place.key(old), place.key(new))
            await self._rows.move(old, new)

    async def record(self, subject: str, docs: Sequence[str], summary: EditSummary | None) -> None:
        """Commit the changes so far as one version."""
        text = summary.value if summary else None
        note = CommitNote(writer_of(self.opened.call), subject, tuple(docs), text)
        await self.opened.history.record(self._bodies_before, self._bodies_after, note)

    @property
    def _rows(self) -> CallerLiveRows:
        return CallerLiveRows(self.tx, self.opened.location)

    async def _get_draft(self, path: str) -> LiveDraft | None:
        """The live draft, locked, if the document is live and we may write it."""
        if path not in self._drafts:
            self._drafts[path] = await self._load_draft(path)
        return self._drafts[path]

    async def _load_draft(self, path: str) -> LiveDraft | None:
        row = await self._rows.find(path)
        if row is None:
            return None
        files = DocumentFiles(self.opened.location, path)
        row, copies = await resolve_swap(self._rows, row, files)
        mine = build_draft(row, await self._rows.changes(row), copies)
        try:
            found = await merge_files(files, mine)
        except Unprocessable:
            return None
        return None if found.is_missing else mine

    async def _record_live_edits(self, path: str, found: LiveDraft, was: bytes | None) -> bytes:
        """Commit what editors wrote so far as their own version; our change follows it."""
        await record_live_version(self.opened.history, path, found, was)
        return found.text.encode()

    async def _write_live(
        self, path: str, found: LiveDraft, text: str, *, has_seen_all: bool
    ) -> None:
        """Apply the change to the live document: concurrent edits stay. The file is flushed after
        commit."""
        was = await self._record_live_edits(path, found, await self._read_disk(path))
        rewrite = found.rewrite if has_seen_all else found.rewrite_file
        rewrite(text, writer_of(self.opened.call))
        self._note_change(path, was, found.text.encode())
        if found.added:
            await store_edits(self._rows, found)
            self.pending_flushes.append(path)
        del self._drafts[path]

    async def _calm(self, path: str) -> bytes | None:
        """The file once no program has it open for writing, or after the last retry."""
        for _ in range(MAX_POLLS):
            found = await run_sync(disk.read_snapshot, self.opened.root, path)
            if found is None or not found.is_open:
                return None if found is None else found.body
            await anyio.sleep(POLL_INTERVAL_S)
        return await self._read_disk(path)

    async def _read_disk(self, path: str) -> bytes | None:
        try:
            return await run_sync(disk.read, self.opened.root, path)
        except NotFound:
            return None

    def _note_change(self, path: str, before: bytes | None, after: bytes | None) -> None:
        self._bodies_before.setdefault(path, before)
        self._bodies_after[path] = after

    async def undo(self) -> None:
        """Restore the previous state, unless somebody has written since."""
        if self._journal is not None:
            # The journal has every change, and recovery checks whether the store committed them.
            try:
                await self.opened.wiki.recover(self.opened.location)
            except PeciaError as error:
                # The journal stays, and the next call recovers from it.
                _log.failure("wiki.rename_recovered", error, space=self.opened.space.source_id)
            return
        root = self.opened.root
        for it in reversed(self._snapshots):
            with suppress(Collision):
                await run_sync(restore_file, root, it, self._known.get(it.path))
                self._known[it.path] = it.body

    async def finish(self) -> None:
        """Delete the journal: nothing is left to undo."""
        if self._journal is not None:
            await run_sync(delete_journal, self.opened.space.folder)


@asynccontextmanager
async def begin_space_write(opened: OpenSpace) -> AsyncGenerator[SpaceWrite]:
    """Wait for the lock, and restore the space if anything fails inside."""
    call = opened.call
    turn: SpaceWrite | None = None
    try:
        async with opened.wiki.store.writing(call.caller, call.trace) as tx:
            place = {"tenant_id": call.caller.tenant_id, "source_id": opened.space.source_id}
            await tx.execute(SQL["lock_space"], **place)
            turn = SpaceWrite(opened, tx)
            yield turn
    except BaseException:
        if turn is not None:
            with anyio.CancelScope(shield=True):
                await turn.undo()
        raise
    with anyio.CancelScope(shield=True):
        await turn.finish()
        await opened.wiki.flusher.flush_many(opened.location, turn.pending_flushes)


def _journal_move(root: Path, old: str, new: str) -> JournaledMove:
    if not disk.is_folder(root, old):
        return JournaledMove(old, new)
    # The journal is UTF-8: a file with another name can only move with its folder.
    return JournaledMove(old, new, tuple(it for it in disk.list_below(root, old) if is_text(it)))
