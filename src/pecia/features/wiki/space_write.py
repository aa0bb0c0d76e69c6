"""One writer's transaction: a change is on disk, in the store and in history, or in none of them.

One writer at a time per space, by an advisory lock. Changes are staged; at the end the versions are
prepared, a journal is written, the files change, and COMMIT decides (`space_recovery.py`).
Other programs take no lock: a file that one of them wrote since we read it is left alone, and the
call is retried; the second time, the document is made live first.
A live document is changed through its CRDT: concurrent editors lose nothing.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from functools import partial
from pathlib import Path
from uuid import UUID

import anyio
from anyio.to_thread import run_sync

from pecia.features.wiki.catalog_rows import move_rows, remove_row
from pecia.features.wiki.core.document import decode_utf8, document_facts
from pecia.features.wiki.core.names import split_extension
from pecia.features.wiki.core.summary import EditSummary
from pecia.features.wiki.history.history import VersionDraft
from pecia.features.wiki.history.message import ClientProgram, CommitNote, client_of, writer_of
from pecia.features.wiki.live.copies import DocumentFiles, merge_files, resolve_swap
from pecia.features.wiki.live.draft import LiveDraft, build_draft
from pecia.features.wiki.live.file_swap import MAX_MISSES, record_live_version, store_edits
from pecia.features.wiki.live.limits import LiveLimits
from pecia.features.wiki.live.store import CallerLiveRows, LiveRows, SystemLiveRows
from pecia.features.wiki.parse import (
    MAX_WHOLE_BYTES,
    ParsedBody,
    parse_ahead,
    parse_body,
)
from pecia.features.wiki.space import OpenSpace, Wiki
from pecia.features.wiki.storage import disk
from pecia.features.wiki.storage.disk import FileStamp
from pecia.features.wiki.storage.journal import JournaledFile, JournaledMove, JournaledOther, digest
from pecia.features.wiki.storage.scan import is_text
from pecia.features.wiki.store import SQL, SpaceLocation
from pecia.kernel.corpus.catalog import texts
from pecia.kernel.corpus.catalog.catalog import FileMetadata
from pecia.kernel.corpus.catalog.texts import ExtractedText
from pecia.kernel.corpus.provenance import with_writer
from pecia.kernel.errors import (
    Collision,
    Forbidden,
    NotFound,
    PayloadTooLarge,
    PeciaError,
    Unprocessable,
)
from pecia.kernel.logs import Log
from pecia.kernel.store.store import Transaction
from pecia.kernel.tool.call import Call

_log = Log(__name__)

MAX_POLLS, POLL_INTERVAL_S = 40, 0.05
"""Retries for a file that another program has open for writing, until it is taken as it is: a
half-written file must not be edited."""


class MergeBase(Enum):
    """What a new text was made from. Edits of a live document that were not in it stay."""

    DOCUMENT = auto()
    """The text that `read` returned, with everything that editors wrote."""
    FILE = auto()
    """The file on disk, which may lack what editors wrote since the last flush."""


@dataclass(frozen=True, slots=True)
class StagedMove:
    """A file or folder, and its documents, before and after."""

    old: str
    new: str
    documents: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class WriteScope:
    """Where a write goes, and whose it is. Without `opened`, the system writes: no right is checked
    but that of the remote which an administrator set. With `rights`, a transaction of the caller,
    the system writes for them, and they are asked for there."""

    wiki: Wiki
    location: SpaceLocation
    writer: str
    client: ClientProgram | None = None
    opened: OpenSpace | None = None
    rights: Transaction | None = None

    @property
    def is_system(self) -> bool:
        return self.opened is None or self.rights is not None

    @property
    def root(self) -> Path:
        return self.location.root

    @property
    def tenant_id(self) -> UUID | None:
        """For statements of the system; a caller's transaction knows its own."""
        return self.location.tenant_id if self.is_system else None

    def rows(self, tx: Transaction) -> LiveRows:
        kind = SystemLiveRows if self.is_system else CallerLiveRows
        return kind(tx, self.location)


@dataclass(slots=True)
class SpaceWrite:
    """The changes of one call. Paths are those before the moves, which come last."""

    scope: WriteScope
    tx: Transaction
    versions: VersionDraft
    transaction: str | None = None
    """Of the journal; None before there is one."""
    pending_flushes: list[str] = field(default_factory=list[str])
    """Documents whose files are flushed after commit."""
    restored: set[str] = field(default_factory=set[str])
    """Those of them that were removed, and are written again."""
    _moves: list[StagedMove] = field(default_factory=list[StagedMove])
    _files: dict[str, bytes | None] = field(default_factory=dict[str, bytes | None])
    """New files, None where one is removed."""
    _changes: dict[str, tuple[bytes | None, bytes | None]] = field(
        default_factory=dict[str, tuple[bytes | None, bytes | None]]
    )
    """Documents before and after, as history shows them."""
    _drafts: dict[str, LiveDraft | None] = field(default_factory=dict[str, LiveDraft | None])
    _known: dict[str, bytes | None] = field(default_factory=dict[str, bytes | None])
    """Files as read in this transaction; None where there was none."""
    _parsed: dict[tuple[str, bytes], ParsedBody] = field(
        default_factory=dict[tuple[str, bytes], ParsedBody]
    )
    """Very large documents, parsed before they are written."""
    _writable: set[str] = field(default_factory=set[str])
    """Paths that the caller may write."""
    written: dict[str, tuple[FileStamp, bytes]] = field(
        default_factory=dict[str, tuple[FileStamp, bytes]]
    )
    """Files as they are after `apply`."""

    @property
    def opened(self) -> OpenSpace:
        """The space as the caller sees it. The system's writes have none."""
        assert self.scope.opened is not None
        return self.scope.opened

    async def read(self, path: str) -> bytes | None:
        """The document under the lock; None where there is none."""
        found = await self._get_draft(path)
        if found is None or not found.has_file:
            return await self._read_known(path)
        return found.text.encode()

    async def require_unchanged(self, files: Mapping[str, bytes]) -> None:
        """Require that files are as they were read before the lock."""
        self._known |= files
        changed = await run_sync(_find_changed_file, self.scope.root, files)
        if changed is not None:
            raise Collision("a document was changed meanwhile; try again", path=changed)
        # One query instead of one for each: few documents are live.
        live = await self._rows.find_live([*files])
        self._drafts |= {path: None for path in files if path not in live}

    async def require_may_write(self, *paths: str) -> None:
        """Require write access to paths, whether or not they exist."""
        if self.scope.opened is None:
            return
        place = self.scope.location
        wanted = [it for it in paths if it not in self._writable]
        keys = [place.key(it) for it in wanted]
        asked = {"source_id": place.source_id, "keys": keys}
        tx = self.scope.rights or self.tx
        refused = await tx.fetch_optional(SQL["may_not_write"], **asked) if keys else None
        if refused is not None:
            path = str(refused["key"]).removeprefix(place.prefix)
            raise Forbidden(f"your role does not allow changing {path!r}", docName=path)
        self._writable |= {*wanted}

    def allow(self, *paths: str) -> None:
        """Let the system write these, which the caller may not see."""
        assert self.scope.is_system
        self._writable |= {*paths}

    async def write(self, path: str, body: bytes, base: MergeBase) -> None:
        """Write the document. `base` is what the new text was made from."""
        await self.require_may_write(path)
        found, text = await self._get_draft(path), decode_utf8(body)
        if found is not None and text is not None:
            await self._write_live(path, found, text, base)
            return
        if found is not None:
            # Not text, so it cannot be live.
            await self._rows.end(path)
        self._files[path] = body
        self._note_change(path, await self._read_known(path), body)
        await self._parse_early(path, body)

    async def remove(self, path: str) -> None:
        """Remove the file, and close its open editors."""
        await self.require_may_write(path)
        was = await self._read_known(path)
        if was is None:
            raise NotFound(f"no file {path!r}", path=path)
        if (found := await self._get_draft(path)) is not None:
            was = await self._record_live_edits(path, found, was)
        self._files[path] = None
        self._note_change(path, was, None)
        await self._rows.end(path)

    def _note_change(self, path: str, was: bytes | None, body: bytes | None) -> None:
        # History is of documents.
        if split_extension(path)[1]:
            self._changes[path] = (was, body)

    async def move(self, path: str, to: str, documents: Sequence[tuple[str, str]]) -> None:
        """Move a file or folder; `documents` are those in it, before and after."""
        await self.require_may_write(*(it for pair in documents for it in pair))
        for old, _ in documents:
            if old not in self._changes:
                body = await self._read_disk(old)
                self._changes[old] = (body, body)
        self._moves.append(StagedMove(path, to, documents))

    async def record(
        self,
        subject: str,
        docs: Sequence[str],
        summary: EditSummary | None,
        author: tuple[str, ClientProgram | None] | None = None,
        others: Collection[str] = (),
    ) -> None:
        """Prepare the changes so far as one version, by `author` if they are not the caller's, and
        `others` beside them."""
        text = summary.value if summary else None
        own = self.scope
        writer, client = author or (own.writer, own.client)
        beside = dict.fromkeys((own.writer, *others))
        beside.pop(writer, None)
        note = CommitNote(writer, subject, tuple(docs), text, client, tuple(beside))
        before = {path: was for path, (was, _) in self._changes.items()}
        after = {path: body for path, (_, body) in self._changes.items()}
        for old, new in (pair for it in self._moves for pair in it.documents):
            before[new], after[new], after[old] = None, after[old], None
        await self.versions.record(before, after, note)

    async def apply(self) -> None:
        """Journal the changes, then make them on disk and in the store."""
        prepared = self.versions.prepared
        if not self._files and not self._moves and prepared is None:
            return
        root, recovery = self.scope.root, self.scope.wiki.recovery
        moves = [await run_sync(_journal_move, root, it.old, it.new) for it in self._moves]
        files: list[JournaledFile] = []
        others: list[JournaledOther] = []
        for path, body in self._files.items():
            was = await self._read_known(path)
            if split_extension(path)[1]:
                files.append(JournaledFile(path, was, digest(body)))
            else:
                # Cut off, it is as here or as there, and the next sync finds it so.
                others.append(JournaledOther(path, digest(was), digest(body)))
        self.transaction = await recovery.begin(
            self.tx, self.scope.location, prepared, tuple(moves), tuple(files), tuple(others)
        )
        for it in self._moves:
            await self._apply_move(it)
        await self._apply_files(
            {self._path_after(it): (body, self._known[it]) for it, body in self._files.items()}
        )
        self.pending_flushes = [self._path_after(it) for it in self.pending_flushes]

    async def make_contended_live(self) -> None:
        """Make documents live that a program wrote since we read them: one that is written all the
        time changes faster than we can replace it, and a live one is merged instead. For the next
        attempt, after this one lost."""
        place, limit = self.scope.location, LiveLimits().document_bytes
        for path, was in self._known.items():
            if was is not None and await self._read_disk(path) not in (was, None):
                with suppress(Unprocessable, PayloadTooLarge, NotFound):
                    await self.scope.wiki.flusher.make_live(place, path, limit)

    @property
    def moved(self) -> dict[str, str]:
        """Documents by their paths before and after."""
        return {old: new for it in self._moves for old, new in it.documents}

    def _path_after(self, path: str) -> str:
        """After the moves, of documents and others."""
        for it in self._moves:
            if path == it.old or path.startswith(f"{it.old}/"):
                return it.new + path[len(it.old) :]
        return path

    async def _apply_move(self, move: StagedMove) -> None:
        place, tenant_id = self.scope.location, self.scope.tenant_id
        await move_rows(self.tx, place, move.documents, tenant_id)
        for old, new in move.documents:
            await self._rows.move(old, new)
        await run_sync(disk.move, self.scope.root, move.old, move.new)

    async def _apply_files(self, files: Mapping[str, tuple[bytes | None, bytes | None]]) -> None:
        """Change files, on disk and in the store; each with its new bytes and those before.

        The store has the texts of documents. Other files are read by the lake.
        """
        root, place = self.scope.root, self.scope.location
        bodies = {path: body for path, (body, _) in files.items() if body is not None}
        swaps = [(path, body, files[path][1]) for path, body in bodies.items()]
        documents = {path: body for path, body in bodies.items() if split_extension(path)[1]}
        if len(documents) <= 1:
            stamps = await run_sync(disk.replace_many, root, swaps)
            self.written = {path: (stamps[path], body) for path, body in documents.items()}
            await self._put({it: await self._parse(it, body) for it, body in documents.items()})
        else:
            # A rename may rewrite the links of thousands.
            async with parse_ahead(place, documents, self._parse) as batches:
                stamps = await run_sync(disk.replace_many, root, swaps)
                self.written = {path: (stamps[path], body) for path, body in documents.items()}
                async for parsed in batches:
                    await self._put(parsed)
        for path, (body, was) in files.items():
            if body is None and was is not None:
                await run_sync(disk.remove_known, root, path, was)
                await remove_row(self.tx, self.scope.location, path, self.scope.tenant_id)

    async def _put(self, parsed: Mapping[str, ParsedBody]) -> None:
        """Store the texts of documents that were written, in few statements."""
        place = self.scope.location
        rows: list[tuple[FileMetadata, ExtractedText]] = []
        for path, (text, metadata) in parsed.items():
            stamp, _ = self.written[path]
            author = with_writer(text.extractor, [self.scope.writer])
            facts = document_facts(place.source_id, place.key(path), stamp)
            rows.append((facts, replace(text, extractor=author)))
            self.scope.wiki.sync.record_metadata(place, path, stamp, metadata)
        await texts.put_many(self.tx, rows, tenant_id=self.scope.tenant_id)

    async def _parse_early(self, path: str, body: bytes) -> None:
        """Begin to parse a very large document in the workers, while its version, its journal and
        its file are written."""
        if len(body) > MAX_WHOLE_BYTES and split_extension(path)[1]:
            work = partial(self._keep_parsed, path, body)
            await self.scope.wiki.sync.work.wait((id(self), path, hash(body)), work, 0)

    async def _keep_parsed(self, path: str, body: bytes) -> None:
        self._parsed[path, body] = await parse_body(self.scope.location, path, body)

    async def _parse(self, path: str, body: bytes) -> ParsedBody:
        if len(body) > MAX_WHOLE_BYTES:
            work = partial(self._keep_parsed, path, body)
            if (path, body) not in self._parsed:
                await self.scope.wiki.sync.work.wait((id(self), path, hash(body)), work, None)
            if (path, body) in self._parsed:
                return self._parsed.pop((path, body))
        return await parse_body(self.scope.location, path, body)

    @property
    def _rows(self) -> LiveRows:
        return self.scope.rows(self.tx)

    async def _get_draft(self, path: str) -> LiveDraft | None:
        """The live draft, locked, if the document is live and we may write it."""
        if path not in self._drafts:
            self._drafts[path] = await self._load_draft(path)
        return self._drafts[path]

    async def _load_draft(self, path: str) -> LiveDraft | None:
        row = await self._rows.find(path)
        if row is None:
            return None
        files = DocumentFiles(self.scope.location, path)
        if row.is_gone and await files.read() is None:
            mine = build_draft(row, await self._rows.changes(row))
            mine.has_file = False
            return mine
        row, copies = await resolve_swap(self._rows, row, files)
        mine = build_draft(row, await self._rows.changes(row), copies)
        try:
            # A program that saves may have put it aside. It is waited for as long as elsewhere.
            for _ in range(MAX_MISSES):
                mine.has_file = not (await merge_files(files, mine)).is_missing
                if mine.has_file:
                    break
        except Unprocessable:
            return None
        return mine

    async def _record_live_edits(self, path: str, found: LiveDraft, was: bytes | None) -> bytes:
        """Prepare what editors wrote so far as their own version; our change follows it."""
        await record_live_version(self.versions, path, found, was)
        return found.text.encode()

    async def _write_live(self, path: str, found: LiveDraft, text: str, base: MergeBase) -> None:
        """Apply the change to the live document. The file is flushed after commit.

        Where it was removed, the new text is all of it. Its history goes on: without it, editors
        that have it open are refused for ever, and what a program read before cannot be merged.
        """
        if not found.has_file:
            base = MergeBase.DOCUMENT
            self.restored.add(path)
        on_disk = await self._read_disk(path)
        read, merged = self._known.get(path, on_disk), found.file_text.encode()
        if base is MergeBase.FILE and on_disk is not None and not (read == on_disk == merged):
            # Half written, so it is not merged: its words would be the tool's, and come once more.
            # Or written since the tool read it: its words would go.
            raise Collision(f"another program is writing {path!r}; try again", path=path)
        if found.row.is_gone and not found.has_file:
            # Its last text became a version when it was removed.
            was = None
        else:
            was = await self._record_live_edits(path, found, on_disk)
        rewrite = found.rewrite if base is MergeBase.DOCUMENT else found.rewrite_file
        rewrite(text, self.scope.writer)
        self._changes[path] = (was, found.text.encode())
        if found.added:
            await store_edits(self._rows, found)
        if found.added or not found.has_file:
            self.pending_flushes.append(path)
        del self._drafts[path]

    async def _read_known(self, path: str) -> bytes | None:
        """The file as this transaction read it first."""
        if path not in self._known:
            self._known[path] = await self._calm(path)
        return self._known[path]

    async def _calm(self, path: str) -> bytes | None:
        """The file once no program has it open for writing, or after the last retry."""
        for _ in range(MAX_POLLS):
            found = await run_sync(disk.read_snapshot, self.scope.root, path)
            if found is None or not found.is_open:
                return None if found is None else found.body
            await anyio.sleep(POLL_INTERVAL_S)
        return await self._read_disk(path)

    async def _read_disk(self, path: str) -> bytes | None:
        try:
            return await run_sync(disk.read, self.scope.root, path)
        except NotFound:
            return None


@asynccontextmanager
async def begin_space_write(opened: OpenSpace) -> AsyncGenerator[SpaceWrite]:
    """Wait for the lock, make the staged changes at the end, and undo them if anything fails."""
    call, recovery = opened.call, opened.wiki.recovery
    scope = WriteScope(opened.wiki, opened.location, writer_of(call), client_of(call), opened)
    settling = WriteSettling(recovery.finish, recovery.recover)
    transaction = opened.wiki.store.writing(call.caller, call.trace)
    async with _retried(call, _writing(scope, transaction, settling)) as writer:
        yield writer
    await _flush(scope, writer)


@asynccontextmanager
async def begin_rename_write(opened: OpenSpace) -> AsyncGenerator[SpaceWrite]:
    """The same for a rename, which links in hidden documents follow: for a caller who does not see
    the whole space, the system writes. Their rights are asked for in a transaction of theirs."""
    if opened.space.is_whole:
        async with begin_space_write(opened) as writer:
            yield writer
        return
    call, wiki = opened.call, opened.wiki
    # Before the lock: whoever waits for that may have the last connection of callers.
    async with wiki.store.reading(call.caller) as rights:
        scope = WriteScope(wiki, opened.location, writer_of(call), client_of(call), opened, rights)
        async with _retried(call, _begin_in_turn(scope)) as writer:
            yield writer
    await _flush(scope, writer)


@asynccontextmanager
async def begin_system_write(
    wiki: Wiki, place: SpaceLocation, writer: str
) -> AsyncGenerator[SpaceWrite]:
    """The same for a sync with a remote, which no caller asked for."""
    scope = WriteScope(wiki, place, writer)
    async with _begin_in_turn(scope) as made:
        yield made
    await _flush(scope, made)


@asynccontextmanager
async def _begin_in_turn(scope: WriteScope) -> AsyncGenerator[SpaceWrite]:
    """A write of the system. It waits for the lock without a connection: editors need those of the
    system (ADR 170)."""
    wiki, place = scope.wiki, scope.location
    async with wiki.recovery.queue.turn(place):
        settling = WriteSettling(wiki.recovery.finish_in_turn, wiki.recovery.recover_in_turn)
        async with _writing(scope, wiki.store.system(), settling) as made:
            yield made


@asynccontextmanager
async def _retried(
    call: Call, writing: AbstractAsyncContextManager[SpaceWrite]
) -> AsyncGenerator[SpaceWrite]:
    """The write of a call, which is tried again after a collision."""
    writer: SpaceWrite | None = None
    try:
        async with writing as writer:
            yield writer
    except Collision:
        if writer is not None and call.attempt > 1:
            await writer.make_contended_live()
        raise


@dataclass(frozen=True, slots=True)
class WriteSettling:
    """How a write ends after COMMIT, and after a failure: with a turn of its own, or in one."""

    finish: Callable[[SpaceLocation, str], Awaitable[None]]
    recover: Callable[[SpaceLocation], Awaitable[None]]


@asynccontextmanager
async def _writing(
    scope: WriteScope,
    transaction: AbstractAsyncContextManager[Transaction],
    settling: WriteSettling,
) -> AsyncGenerator[SpaceWrite]:
    place, recovery = scope.location, scope.wiki.recovery
    writer: SpaceWrite | None = None
    try:
        async with transaction as tx:
            await tx.execute(SQL["lock_space"], **place.sql_params())
            if await recovery.settle(tx, place):
                raise Collision("an interrupted write was undone just now; try again")
            writer = SpaceWrite(scope, tx, VersionDraft(recovery.history(place)))
            yield writer
            await writer.apply()
    except BaseException:
        if writer is not None and writer.transaction is not None:
            with anyio.CancelScope(shield=True):
                await _undo(scope, settling)
        raise
    with anyio.CancelScope(shield=True):
        if writer.transaction is not None:
            scope.wiki.sync.record_write(place, writer.written, writer.moved)
            await settling.finish(place, writer.transaction)


async def _flush(scope: WriteScope, writer: SpaceWrite) -> None:
    """The files of live documents, which each wait for a turn of their own."""
    with anyio.CancelScope(shield=True):
        await scope.wiki.flusher.flush_many(scope.location, writer.pending_flushes, writer.restored)


async def _undo(scope: WriteScope, settling: WriteSettling) -> None:
    """The journal says what was done, and the store whether it was committed all the same."""
    try:
        await settling.recover(scope.location)
    except PeciaError as error:
        # The journal stays, and the next call recovers from it.
        _log.failure("wiki.write_recovered", error, space=scope.location.source_id)


def _find_changed_file(root: Path, files: Mapping[str, bytes]) -> str | None:
    for path, was in files.items():
        try:
            now = disk.read(root, path)
        except NotFound:
            return path
        if now != was:
            return path
    return None


def _journal_move(root: Path, old: str, new: str) -> JournaledMove:
    if not disk.is_folder(root, old):
        return JournaledMove(old, new)
    # The journal is UTF-8: a file with another name can only move with its folder.
    return JournaledMove(old, new, tuple(it for it in disk.list_below(root, old) if is_text(it)))
