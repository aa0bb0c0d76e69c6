"""A writer's turn: files change on the disk and in the store together, or neither does.

One writer at a time has a space. What fails after a file was written puts back what was there.
Other programs keep no turns: a file that one of them wrote since we read it is left as it is, and
the call begins anew.
A document that is live changes where it is live: others who write in it lose nothing by our turn.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import anyio
from anyio.to_thread import run_sync

from pecia.kernel.corpus import texts
from pecia.kernel.errors import Collision, Forbidden, NotFound, PeciaError, Unprocessable
from pecia.kernel.logs import Log
from pecia.kernel.store.transaction import Transaction
from pecia.rooms.wiki import disk
from pecia.rooms.wiki.history.note import Note
from pecia.rooms.wiki.journal import Journal, Move, Snapshot, digest, forget, keep, put_back
from pecia.rooms.wiki.live.copies import DocumentFiles, read_files, settle
from pecia.rooms.wiki.live.exchange import put_down, record_written
from pecia.rooms.wiki.live.held import Held, held
from pecia.rooms.wiki.live.rows import CallerRows
from pecia.rooms.wiki.parse import parse_document
from pecia.rooms.wiki.scan import is_text
from pecia.rooms.wiki.space import SQL
from pecia.rooms.wiki.stored import decoded
from pecia.rooms.wiki.summary import Summary
from pecia.rooms.wiki.wiki import Opened
from pecia.rooms.wiki.writer import writer_of

_log = Log(__name__)

MOST_LOOKS, LOOK_S = 40, 0.05
"""How often a file is looked at that another program has open for writing, until it is taken as it
is: what is half written is nothing to edit."""


@dataclass(slots=True)
class Turn:
    """The changes of one call, in order."""

    opened: Opened
    tx: Transaction
    left: list[str] = field(default_factory=list[str])
    """Documents whose files are to follow once the turn is over."""
    _before: list[Snapshot] = field(default_factory=list[Snapshot])
    _first: dict[str, bytes | None] = field(default_factory=dict[str, bytes | None])
    _last: dict[str, bytes | None] = field(default_factory=dict[str, bytes | None])
    _held: dict[str, Held | None] = field(default_factory=dict[str, Held | None])
    _known: dict[str, bytes | None] = field(default_factory=dict[str, bytes | None])
    """Files as they were read, or written, in this turn; None where there was none."""
    _journal: Journal | None = None

    async def read(self, path: str) -> bytes | None:
        """The document as it is now that nobody else writes; None where there is none."""
        found = await self._hold(path)
        if found is not None:
            return found.text.encode()
        return self._known.setdefault(path, await self._calm(path))

    async def require_may_write(self, path: str) -> None:
        """The right to write there, whether or not there is anything."""
        asked = {"source_id": self.opened.space.source_id, "key": self.opened.place.key(path)}
        if not await self.tx.value(SQL["may_write"], **asked):
            raise Forbidden("your role does not allow this change", docName=path)

    async def write(self, path: str, body: bytes) -> None:
        """This document with these bytes."""
        await self.require_may_write(path)
        has_seen_all = path in self._held
        found, text = await self._hold(path), decoded(body)
        if found is not None and text is not None:
            await self._write_live(path, found, text, has_seen_all=has_seen_all)
            return
        if found is not None:
            # No text, so nothing that can be live.
            await self._rows.end(path)
        was = self._known[path] if path in self._known else await self._calm(path)
        stamp = await run_sync(disk.replace, self.opened.root, path, body, was)
        self._before.append(Snapshot(path, was))
        self._changes(path, was, body)
        self._known[path] = body
        facts, stored = await parse_document(self.opened.place, path, body, stamp)
        await texts.put(self.tx, facts, stored)

    async def remove(self, path: str) -> None:
        """This file goes, and whoever has it open is told."""
        await self.require_may_write(path)
        was = on_disk = await self._calm(path)
        if on_disk is None:
            raise NotFound(f"no file {path!r}", path=path)
        if (found := await self._hold(path)) is not None:
            was = await self._recorded(path, found, on_disk)
        await run_sync(disk.remove_known, self.opened.root, path, on_disk)
        self._before.append(Snapshot(path, on_disk))
        self._changes(path, was, None)
        self._known[path] = None
        await texts.remove(self.tx, self.opened.space.source_id, self.opened.place.key(path))
        await self._rows.end(path)

    async def plan(
        self, moves: Sequence[tuple[str, str]], writes: Mapping[str, tuple[bytes, bytes]]
    ) -> None:
        """Keep, before the first of many changes, what it takes to put all of them back.

        `writes` are documents by their paths before the moves: what they hold, and will hold.
        """
        for path, (was, _) in writes.items():
            if await self._on_disk(path) != was:
                raise Collision("somebody wrote a document meanwhile; try again", path=path)
        kept = [await run_sync(_move, self.opened.root, *it) for it in moves]
        snapshots = [Snapshot(path, was, digest(body)) for path, (was, body) in writes.items()]
        transaction = await self.tx.value(SQL["this_transaction"])
        self._journal = Journal(tuple(kept), tuple(snapshots), transaction)
        self._known |= {self._journal.moved(path): was for path, (was, _) in writes.items()}
        await run_sync(keep, self.opened.space.folder, self.opened.lead, self._journal)

    async def move(self, path: str, to: str, keys: Sequence[tuple[str, str]]) -> None:
        """A file or folder goes elsewhere; `keys` are its documents, before and after."""
        for old, new in keys:
            await self.require_may_write(old)
            await self.require_may_write(new)
            body = await self._on_disk(old)
            self._changes(old, body, None)
            self._changes(new, None, body)
        await run_sync(disk.move, self.opened.root, path, to)
        place = self.opened.place
        for old, new in keys:
            await texts.move(self.tx, place.source_id, place.key(old), place.key(new))
            await self._rows.move(old, new)

    async def record(self, subject: str, docs: Sequence[str], summary: Summary | None) -> None:
        """Put the changes so far down as one version."""
        told = summary.value if summary else None
        note = Note(writer_of(self.opened.call), subject, tuple(docs), told)
        await self.opened.history.record(self._first, self._last, note)

    @property
    def _rows(self) -> CallerRows:
        return CallerRows(self.tx, self.opened.place)

    async def _hold(self, path: str) -> Held | None:
        """The document to ourselves, where it is live and we may write it."""
        if path not in self._held:
            self._held[path] = await self._found_live(path)
        return self._held[path]

    async def _found_live(self, path: str) -> Held | None:
        row = await self._rows.find(path)
        if row is None:
            return None
        files = DocumentFiles(self.opened.place, path)
        row, copies = await settle(self._rows, row, files)
        mine = held(row, await self._rows.changes(row), copies)
        try:
            found = await read_files(files, mine)
        except Unprocessable:
            return None
        return None if found.is_missing else mine

    async def _recorded(self, path: str, found: Held, was: bytes | None) -> bytes:
        """What people wrote until now, as a version of theirs; our own change follows it."""
        await record_written(self.opened.history, path, found, was)
        return found.text.encode()

    async def _write_live(self, path: str, found: Held, text: str, *, has_seen_all: bool) -> None:
        """Change it where it is live: the others' words that we did not see stay. The file follows
        when the change is stored."""
        was = await self._recorded(path, found, await self._on_disk(path))
        rewrite = found.rewrite if has_seen_all else found.rewrite_file
        rewrite(text, writer_of(self.opened.call))
        self._changes(path, was, found.text.encode())
        if found.added:
            await put_down(self._rows, found)
            self.left.append(path)
        del self._held[path]

    async def _calm(self, path: str) -> bytes | None:
        """The file once nobody has it open for writing, or after a while."""
        for _ in range(MOST_LOOKS):
            found = await run_sync(disk.look, self.opened.root, path)
            if found is None or not found.is_open:
                return None if found is None else found.body
            await anyio.sleep(LOOK_S)
        return await self._on_disk(path)

    async def _on_disk(self, path: str) -> bytes | None:
        try:
            return await run_sync(disk.read, self.opened.root, path)
        except NotFound:
            return None

    def _changes(self, path: str, before: bytes | None, after: bytes | None) -> None:
        self._first.setdefault(path, before)
        self._last[path] = after

    async def undo(self) -> None:
        """Put back what was there, unless somebody has written since."""
        if self._journal is not None:
            # It knows of every change of this turn, and whether the store has them after all.
            try:
                await self.opened.wiki.recover(self.opened.place)
            except PeciaError as error:
                # The journal stays, and the next call follows it.
                _log.failure("wiki.rename_recovered", error, space=self.opened.space.source_id)
            return
        root = self.opened.root
        for it in reversed(self._before):
            with suppress(Collision):
                await run_sync(put_back, root, it, self._known.get(it.path))
                self._known[it.path] = it.body

    async def end(self) -> None:
        """Nothing is left to put back."""
        if self._journal is not None:
            await run_sync(forget, self.opened.space.folder)


@asynccontextmanager
async def taking_turn(opened: Opened) -> AsyncGenerator[Turn]:
    """Wait for the turn, and leave the space as it was if anything fails in it."""
    call = opened.call
    turn: Turn | None = None
    try:
        async with opened.wiki.store.writing(call.caller, call.trace) as tx:
            place = {"tenant_id": call.caller.tenant_id, "source_id": opened.space.source_id}
            await tx.run(SQL["lock_space"], **place)
            turn = Turn(opened, tx)
            yield turn
    except BaseException:
        if turn is not None:
            with anyio.CancelScope(shield=True):
                await turn.undo()
        raise
    with anyio.CancelScope(shield=True):
        await turn.end()
        await opened.wiki.filing.file_those(opened.place, turn.left)


def _move(root: Path, old: str, new: str) -> Move:
    if not disk.is_folder(root, old):
        return Move(old, new)
    # A name that is not UTF-8 can stand in no journal; such a file goes only with its folder.
    return Move(old, new, tuple(it for it in disk.below(root, old) if is_text(it)))
