"""A document open in this process: validates, stores and broadcasts its editors' updates.

In rounds, so that everybody sees one order: incoming updates are validated, accepted ones are
stored, and what the store has, ours and that of other processes, is broadcast.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from uuid import UUID

import anyio
from anyio.to_thread import run_sync
from psycopg.types.json import Jsonb

from pecia.features.wiki.live.absent_writers import AbsentWriters
from pecia.features.wiki.live.awareness import Awareness
from pecia.features.wiki.live.core import frames
from pecia.features.wiki.live.core.crdt import LiveText, merge_updates
from pecia.features.wiki.live.core.debounce import FlushDebounce, FlushKind
from pecia.features.wiki.live.core.frames import AwarenessUpdate, Frame, SyncStep1, SyncUpdate
from pecia.features.wiki.live.core.update import StateVector, parse_state_vector, parse_update
from pecia.features.wiki.live.core.validate import UpdateValidator, UpdateVerdict
from pecia.features.wiki.live.editor import LiveEditor
from pecia.features.wiki.live.flush import LiveFlusher
from pecia.features.wiki.live.limits import (
    CLOSE_TIMEOUT_S,
    IDLE_TIMEOUT_S,
    MAX_QUEUE_BYTES,
    POLL_INTERVAL_S,
    RIGHTS_POLL_S,
    LiveLimits,
)
from pecia.features.wiki.live.news import NewsQuery, NewsReader, NewsRow, fetch_news
from pecia.features.wiki.live.store import SQL, LiveChange
from pecia.features.wiki.storage import disk
from pecia.features.wiki.store import SpaceLocation
from pecia.kernel.errors import NotFound, PeciaError, Unavailable
from pecia.kernel.identity.caller import Caller
from pecia.kernel.logs import Log
from pecia.kernel.store.store import Store


@dataclass(frozen=True, slots=True)
class EditorRights:
    """Rights on one document."""

    store: Store
    location: SpaceLocation
    path: str

    async def require(self, *editors: LiveEditor) -> None:
        """Require read access for editors of one caller; caches whether they may write."""
        asked = {"source_id": self.location.source_id, "key": self.location.key(self.path)}
        async with self.store.reading(editors[0].caller) as tx:
            row = await tx.fetch_one(SQL["rights"], f"no document {self.path!r}", **asked)
        if not row["may_read"]:
            raise NotFound(f"no document {self.path!r}")
        for editor in editors:
            editor.set_rights(may_write=row["may_write"])
            editor.checked_at = anyio.current_time()

    async def recheck(self, editors: Iterable[LiveEditor], ttl_s: float) -> None:
        """Close editors that lost read access. A check younger than the TTL is reused."""
        now = anyio.current_time()
        callers: dict[Caller, list[LiveEditor]] = {}
        for editor in editors:
            if editor.failure is None and now - editor.checked_at >= ttl_s:
                callers.setdefault(editor.caller, []).append(editor)
        for those in callers.values():
            try:
                await self.require(*those)
            except PeciaError as error:
                for editor in those:
                    editor.close(error)


_log = Log(__name__)

NEVER = -1


@dataclass(frozen=True, slots=True)
class DocumentServices:
    """What every document needs."""

    store: Store
    flusher: LiveFlusher
    news: NewsReader
    limits: LiveLimits


@dataclass(frozen=True, slots=True)
class AcceptedChange:
    """An update to be stored; with `is_alone` it must not be merged with others."""

    writer: str
    change: bytes
    is_alone: bool = False


@dataclass(slots=True, eq=False)
class OpenDocument:
    """One document, and its editors in this process."""

    services: DocumentServices
    location: SpaceLocation
    path: str
    id: UUID
    text: LiveText = field(default_factory=LiveText)
    editors: set[LiveEditor] = field(default_factory=set[LiveEditor])
    is_closed: bool = False
    _inbox: list[tuple[LiveEditor, Frame]] = field(default_factory=list[tuple[LiveEditor, Frame]])
    _in_round: list[tuple[LiveEditor, Frame]] = field(
        default_factory=list[tuple[LiveEditor, Frame]]
    )
    _awareness: Awareness = field(default_factory=Awareness)
    _absent_writers: AbsentWriters = field(default_factory=AbsentWriters)
    _owners: dict[int, str] = field(default_factory=dict[int, str])
    _applied: int = NEVER
    _flushed: int = NEVER
    _has_copies: bool = False
    """Replaced files exist that a program may still write."""
    _state_bytes: int = 0
    _debounce: FlushDebounce = field(default_factory=FlushDebounce)
    _trial_text: LiveText | None = None
    """The text with accepted, not yet stored updates."""
    _used_at: float = field(default_factory=anyio.current_time)
    _wakeup: anyio.Event = field(default_factory=anyio.Event)
    _must_read: bool = True
    _heard: int = NEVER
    """The last change that some process is known to have stored."""
    _round_done: anyio.Event = field(default_factory=anyio.Event)
    _inbox_bytes: int = 0

    @property
    def rights(self) -> EditorRights:
        return EditorRights(self.services.store, self.location, self.path)

    def wake(self) -> None:
        """Start the next round, which reads what the store has."""
        self._must_read = True
        self._wakeup.set()

    def hear(self, head: int | None) -> None:
        """A process stored changes up to this one, or something else happened. What this one stored
        it has, or has once the round in progress ends."""
        if head is None:
            self.wake()
        elif head > self._applied:
            self._heard = max(self._heard, head)
            self._wakeup.set()

    def join(self, editor: LiveEditor) -> None:
        """Add an editor that may read, and send it the current state."""
        if len(self.editors) >= self.services.limits.editors:
            most = self.services.limits.editors
            raise Unavailable(
                f"{most} editors have {self.path!r} open, and no more may: try again later",
                max=most,
            )
        self.editors.add(editor)
        editor.send(frames.encode_sync_step1(self.text.encoded_state_vector))
        if everybody := self._list_awareness():
            editor.send(frames.encode_awareness(everybody))

    async def settle(self, editor: LiveEditor) -> None:
        """Wait until the frames of an editor that left are handled; not longer than a timeout."""
        with anyio.move_on_after(CLOSE_TIMEOUT_S):
            while editor.failure is None and not self.is_closed and self._has_frames_of(editor):
                await self._round_done.wait()

    def _has_frames_of(self, editor: LiveEditor) -> bool:
        return any(it is editor for it, _ in (*self._inbox, *self._in_round))

    def leave(self, editor: LiveEditor) -> None:
        self.editors.discard(editor)
        self._used_at = anyio.current_time()
        self._broadcast_awareness(self._awareness.remove_editor(editor))

    async def receive(self, editor: LiveEditor, frame: Frame, size_bytes: int) -> None:
        """Queue a frame for the next round."""
        self._inbox.append((editor, frame))
        self._wakeup.set()
        # Backpressure: a sender over the limit waits until the round is stored.
        self._inbox_bytes += size_bytes
        while self._inbox_bytes > MAX_QUEUE_BYTES and not self.is_closed:
            await self._round_done.wait()

    async def run(self) -> None:
        """Run rounds until idle."""
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._flush_loop)
                while not self._is_idle():
                    await self._round_or_end()
                    with anyio.move_on_after(POLL_INTERVAL_S) as waiting:
                        await self._wakeup.wait()
                    self._must_read = self._must_read or waiting.cancelled_caught
                # At once: a later editor opens it anew.
                self.is_closed = True
                tasks.cancel_scope.cancel()
        finally:
            self.is_closed = True
            self._round_done.set()

    def close_all(self, error: PeciaError) -> None:
        """Close all editors with an error."""
        for editor in [*self.editors]:
            editor.close(error)

    async def catch_up(self) -> None:
        """Load updates from the store. Editors that lost read access do not get them."""
        await self._take(await self.services.news.read(self._query))

    @property
    def _query(self) -> NewsQuery:
        return NewsQuery(self.location.tenant_id, self.id, self._applied)

    async def _take(self, row: NewsRow | None) -> None:
        if row is None or row["key"] != self.location.key(self.path):
            raise NotFound("the document was deleted or renamed")
        self._flushed, self._has_copies = row["filed"], row["has_copies"]
        if row["head"] == self._applied:
            return
        await self.rights.recheck(self.editors, self.services.limits.rights_ttl_s)
        self._apply(row)

    async def flush(self) -> None:
        """Write the stored text to the file."""
        if self._is_behind:
            await self.services.flusher.flush(self.location, self.path)

    def _is_idle(self) -> bool:
        if self.is_closed:
            return True
        is_unused = not self.editors and anyio.current_time() - self._used_at > IDLE_TIMEOUT_S
        return is_unused and not self._is_behind

    @property
    def _is_behind(self) -> bool:
        """Whether the file may lack something."""
        return self._applied > self._flushed or self._has_copies

    async def _round_or_end(self) -> None:
        self._wakeup = anyio.Event()
        try:
            await self._round()
        except PeciaError as error:
            # Editors reconnect, and resend what was not stored.
            self.close_all(error)
            if isinstance(error, NotFound):
                self.is_closed = True
        self._in_round = []
        self._round_done.set()
        self._round_done = anyio.Event()

    async def _round(self) -> None:
        taken, self._inbox, self._inbox_bytes = self._inbox, [], 0
        self._in_round = taken
        if self._must_read or self._heard > self._applied or not self._is_expected(taken):
            # Whatever an editor has seen, here or elsewhere, was stored before.
            self._must_read = False
            await self.catch_up()
        if taken:
            await self._recheck_rights(taken)
            validator, self._trial_text = self._make_validator(), None
            changes: list[AcceptedChange] = []
            for editor, frame in taken:
                if editor.failure is None and editor in self.editors:
                    self._handle_frame(editor, frame, validator, changes)
            stored = await self._store(changes, validator)
            self._trial_text = validator.text
            if changes:
                await self._take(stored)
        for editor in {it for it, _ in taken}:
            editor.acknowledge()
        waiting = [it for it in self.editors if it.is_told_rights]
        await self.rights.recheck(waiting, RIGHTS_POLL_S)
        self._broadcast_awareness(self._absent_writers.expire(anyio.current_time()))

    def _is_expected(self, taken: Sequence[tuple[LiveEditor, Frame]]) -> bool:
        """Whether the text of this process is enough to judge these: each update continues what its
        writer wrote here, and refers to nothing that may be stored already but is not known."""
        known = self.text.state_vector
        for editor, frame in taken:
            if isinstance(frame, AwarenessUpdate):
                continue
            news = self._find_news(editor, frame, known) if isinstance(frame, SyncUpdate) else None
            if news is None:
                return False
            known |= news
        return True

    def _find_news(
        self, editor: LiveEditor, frame: SyncUpdate, known: StateVector
    ) -> StateVector | None:
        """How far an update goes, if it is one of those."""
        try:
            update = parse_update(frame.update)
        except PeciaError:
            return None
        news = update.new_clocks(known)
        is_theirs = all(self._owners.get(it) == editor.writer for it in news)
        return news if is_theirs and update.is_causally_complete(known) else None

    def _make_validator(self) -> UpdateValidator:
        owners = {**self._awareness.writers(), **self._owners}
        tried = self._trial_text or LiveText(self.text.state)
        return UpdateValidator(
            tried, owners, self.services.limits.document_bytes, self._state_bytes
        )

    def _handle_frame(
        self,
        editor: LiveEditor,
        frame: Frame,
        validator: UpdateValidator,
        changes: list[AcceptedChange],
    ) -> None:
        try:
            match frame:
                case SyncStep1():
                    validator.require_same_history(parse_state_vector(frame.state_vector))
                    editor.send(frames.encode_sync_step2(self.text.encode_diff(frame.state_vector)))
                case SyncUpdate():
                    self._validate_change(editor, frame, validator, changes)
                case AwarenessUpdate():
                    self._broadcast_awareness(self._awareness.apply(editor, frame.states))
                case _:
                    editor.send(frames.encode_awareness(self._list_awareness()))
        except PeciaError as error:
            editor.close(error)
            if validator.is_dirty:
                validator.reset(self.text.state, [it.change for it in changes])

    def _validate_change(
        self,
        editor: LiveEditor,
        frame: SyncUpdate,
        validator: UpdateValidator,
        changes: list[AcceptedChange],
    ) -> None:
        editor.received += 1
        verdict = validator.validate(frame.update, editor.writer, may_write=editor.may_write)
        if verdict is UpdateVerdict.NOT_ALLOWED:
            editor.refuse("you may read this document, but not change it")
        elif verdict is UpdateVerdict.TOO_EARLY:
            editor.is_behind = True
            editor.send(frames.encode_sync_step1(self.text.encoded_state_vector))
        elif frame.is_reply:
            # A reply contains everything the editor has.
            editor.is_behind = False
        if verdict is UpdateVerdict.TAKEN:
            changes += [
                AcceptedChange(editor.writer, it, is_alone=True) for it in validator.repairs
            ]
            changes.append(AcceptedChange(editor.writer, frame.update))

    async def _store(
        self, changes: Sequence[AcceptedChange], validator: UpdateValidator
    ) -> NewsRow | None:
        """Store them; returns the news that include them."""
        if not changes:
            return None
        rows = _merge_by_writer(changes)
        async with self.services.store.system() as tx:
            await tx.execute(
                SQL["add_changes"],
                tenant_id=self.location.tenant_id,
                id=self.id,
                changes=[it.change for it in rows],
                writers=[it.writer for it in rows],
                owners=Jsonb({str(client): who for client, who in validator.claimed.items()}),
            )
            return (await fetch_news(tx, [self._query]))[0]

    def _apply(self, row: NewsRow) -> None:
        before, base, is_new = self.text.encoded_state_vector, row["base"], self._applied == NEVER
        changes: list[bytes] = [*([base] if base else []), *row["changes"]]
        for change in changes:
            self.text.apply(change)
            if self._trial_text is not None:
                self._trial_text.apply(change)
        self._state_bytes = sum(map(len, changes)) + (0 if base else self._state_bytes)
        # One by one: a deletion and what refers to it must not arrive together.
        news = [
            frames.encode_update(it)
            for it in ([self.text.encode_diff(before)] if base else changes)
        ]
        for editor in self.editors:
            for message in news:
                editor.send(message)
        if not is_new:
            self._show_absent_writer(row, before)
        self._debounce.mark_changed(anyio.current_time(), was_behind=self._applied > self._flushed)
        self._applied = row["head"]
        self._owners = {int(client): who for client, who in row["owners"].items()}

    def _show_absent_writer(self, row: NewsRow, before: bytes) -> None:
        """Show where somebody wrote who has no socket here: an agent or another program."""
        writer, name = row["last_writer"], row["last_writer_name"]
        if writer is None or any(it.writer == writer for it in self.editors):
            return
        update, now = self.text.encode_diff(before), anyio.current_time()
        state = self._absent_writers.mark_written(writer, name, update, now)
        self._broadcast_awareness([state])

    def _list_awareness(self) -> list[frames.AwarenessState]:
        return [*self._awareness.list_states(), *self._absent_writers.list_states()]

    def _broadcast_awareness(self, those: list[frames.AwarenessState]) -> None:
        if those:
            message = frames.encode_awareness(those)
            for editor in self.editors:
                editor.send(message)

    async def _recheck_rights(self, taken: Sequence[tuple[LiveEditor, Frame]]) -> None:
        """Recheck editors that read or write the text; on awareness updates, all of them."""
        asking = {it.caller for it, frame in taken if isinstance(frame, SyncStep1 | SyncUpdate)}
        await self.rights.recheck([it for it in self.editors if it.caller in asking], 0)
        if any(isinstance(frame, AwarenessUpdate) for _, frame in taken):
            await self.rights.recheck(self.editors, self.services.limits.rights_ttl_s)

    async def _flush_loop(self) -> None:
        """Flush after a quiet period or a maximum delay, and pick up edits by other programs."""
        while True:
            await anyio.sleep(POLL_INTERVAL_S)
            try:
                await self._flush_due()
            except PeciaError as error:
                _log.failure("wiki.flush", error)
                self._debounce.mark_failed(anyio.current_time())

    async def _flush_due(self) -> None:
        stamp = await run_sync(disk.stat_file, self.location.root, self.path)
        now, is_behind = anyio.current_time(), self._applied > self._flushed
        due = self._debounce.plan(now, stamp, is_behind=is_behind, has_copies=self._has_copies)
        if due is FlushKind.NONE:
            return
        await self.services.flusher.flush(self.location, self.path, due)
        if due is FlushKind.WRITE:
            self._debounce.mark_written(now)
        self.wake()


def _merge_by_writer(changes: Sequence[AcceptedChange]) -> list[LiveChange]:
    """Merge consecutive updates of one writer."""
    found: list[tuple[str, bool, list[bytes]]] = []
    for it in changes:
        if not found or found[-1][:2] != (it.writer, False) or it.is_alone:
            found.append((it.writer, it.is_alone, []))
        found[-1][2].append(it.change)
    return [LiveChange(writer, merge_updates(those)) for writer, _, those in found]
