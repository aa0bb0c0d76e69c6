"""A document that is open here: what its editors send is judged, stored, and told to all.

One round after the other, so that everybody sees one order: what came in is looked at, what is
taken goes to the store, and what the store has, ours and that of other processes, goes out.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import anyio
from anyio.to_thread import run_sync
from psycopg.types.json import Jsonb

from pecia.features.wiki.live.awareness import Awareness
from pecia.features.wiki.live.core import frames
from pecia.features.wiki.live.core.crdt import LiveText, merge_updates
from pecia.features.wiki.live.core.debounce import FlushDebounce
from pecia.features.wiki.live.core.frames import AwarenessUpdate, Frame, SyncStep1, SyncUpdate
from pecia.features.wiki.live.core.update import parse_state_vector
from pecia.features.wiki.live.core.validate import UpdateValidator, UpdateVerdict
from pecia.features.wiki.live.editor import LiveEditor
from pecia.features.wiki.live.flush import LiveFlusher
from pecia.features.wiki.live.limits import (
    IDLE_TIMEOUT_S,
    MAX_QUEUE_BYTES,
    POLL_INTERVAL_S,
    LiveLimits,
)
from pecia.features.wiki.live.store import SQL, LiveChange
from pecia.features.wiki.storage import disk
from pecia.features.wiki.store import SpaceLocation
from pecia.kernel.errors import NotFound, PeciaError, Unavailable
from pecia.kernel.logs import Log
from pecia.kernel.store.store import Store


@dataclass(frozen=True, slots=True)
class EditorRights:
    """Those on one document."""

    store: Store
    location: SpaceLocation
    path: str

    async def require(self, editor: LiveEditor) -> None:
        """That this one may read; whether they may write is noted."""
        asked = {"source_id": self.location.source_id, "key": self.location.key(self.path)}
        async with self.store.reading(editor.caller) as tx:
            row = await tx.fetch_one(SQL["rights"], "no such document", **asked)
        if not row["may_read"]:
            raise NotFound("no such document")
        editor.may_write = row["may_write"]
        editor.checked_at = anyio.current_time()

    async def recheck(self, editors: Iterable[LiveEditor], believing_s: float) -> None:
        """End those who may not read any more. Who was asked about just now is believed."""
        now = anyio.current_time()
        for editor in [*editors]:
            if not editor.is_over and now - editor.checked_at >= believing_s:
                try:
                    await self.require(editor)
                except PeciaError as error:
                    editor.close(error)


_log = Log(__name__)

NEVER = -1


@dataclass(frozen=True, slots=True)
class DocumentServices:
    """What every document needs."""

    store: Store
    flusher: LiveFlusher
    limits: LiveLimits


@dataclass(frozen=True, slots=True)
class AcceptedChange:
    """A change that is to be stored; `is_alone` must not be joined with others."""

    writer: str
    change: bytes
    is_alone: bool = False


@dataclass(slots=True, eq=False)
class OpenDocument:
    """One document, and whoever has it open here."""

    services: DocumentServices
    location: SpaceLocation
    path: str
    id: UUID
    text: LiveText = field(default_factory=LiveText)
    editors: set[LiveEditor] = field(default_factory=set[LiveEditor])
    is_closed: bool = False
    _inbox: list[tuple[LiveEditor, Frame]] = field(default_factory=list[tuple[LiveEditor, Frame]])
    _awareness: Awareness = field(default_factory=Awareness)
    _owners: dict[int, str] = field(default_factory=dict[int, str])
    _applied: int = NEVER
    _flushed: int = NEVER
    _has_copies: bool = False
    """Files were replaced that a program may still write."""
    _state_bytes: int = 0
    _debounce: FlushDebounce = field(default_factory=FlushDebounce)
    _trial_text: LiveText | None = None
    """The text with what is taken and not stored yet."""
    _used_at: float = field(default_factory=anyio.current_time)
    _wakeup: anyio.Event = field(default_factory=anyio.Event)
    _round_done: anyio.Event = field(default_factory=anyio.Event)
    _inbox_bytes: int = 0

    @property
    def rights(self) -> EditorRights:
        return EditorRights(self.services.store, self.location, self.path)

    def wake(self) -> None:
        """Something came, here or elsewhere."""
        self._wakeup.set()

    def join(self, editor: LiveEditor) -> None:
        """Let somebody in who may read; they are told what there is."""
        if len(self.editors) >= self.services.limits.editors:
            raise Unavailable(
                "as many have this document open as may", max=self.services.limits.editors
            )
        self.editors.add(editor)
        editor.send(frames.encode_sync_step1(self.text.encoded_state_vector))
        if everybody := self._awareness.list_states():
            editor.send(frames.encode_awareness(everybody))

    def leave(self, editor: LiveEditor) -> None:
        self.editors.discard(editor)
        self._used_at = anyio.current_time()
        self._broadcast_awareness(self._awareness.remove_editor(editor))

    async def receive(self, editor: LiveEditor, frame: Frame, size_bytes: int) -> None:
        """To be looked at in the next round."""
        self._inbox.append((editor, frame))
        self.wake()
        # Whoever sends more than can be stored waits with the rest.
        self._inbox_bytes += size_bytes
        while self._inbox_bytes > MAX_QUEUE_BYTES and not self.is_closed:
            await self._round_done.wait()

    async def run(self) -> None:
        """Round after round, until nobody is there any more."""
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._flush_loop)
                while not self._is_idle():
                    await self._round_or_end()
                    with anyio.move_on_after(POLL_INTERVAL_S):
                        await self._wakeup.wait()
                # At once: who comes from here on opens it anew.
                self.is_closed = True
                tasks.cancel_scope.cancel()
        finally:
            self.is_closed = True
            self._round_done.set()

    def close_all(self, error: PeciaError) -> None:
        """Everybody goes, for a reason."""
        for editor in [*self.editors]:
            editor.close(error)

    async def catch_up(self) -> None:
        """What the store has beyond what we know. Who may not read any more is not told."""
        asked = {"tenant_id": self.location.tenant_id, "id": self.id, "seq": self._applied}
        async with self.services.store.system() as tx:
            row = await tx.fetch_optional(SQL["live_since"], **asked)
        if row is None or row["key"] != self.location.key(self.path):
            raise NotFound("the document was deleted or renamed")
        self._flushed, self._has_copies = row["filed"], row["has_copies"]
        if row["head"] == self._applied:
            return
        await self.rights.recheck(self.editors, self.services.limits.rights_ttl_s)
        self._apply(row)

    async def flush(self) -> None:
        """Bring the file up to what is stored."""
        if self._is_behind:
            await self.services.flusher.flush(self.location, self.path)

    def _is_idle(self) -> bool:
        if self.is_closed:
            return True
        is_unused = not self.editors and anyio.current_time() - self._used_at > IDLE_TIMEOUT_S
        return is_unused and not self._is_behind

    @property
    def _is_behind(self) -> bool:
        """Whether the file lacks something, or may."""
        return self._applied > self._flushed or self._has_copies

    async def _round_or_end(self) -> None:
        self._wakeup = anyio.Event()
        try:
            await self._round()
        except PeciaError as error:
            # They come again, and bring what was not stored.
            self.close_all(error)
            if isinstance(error, NotFound):
                self.is_closed = True
        self._round_done.set()
        self._round_done = anyio.Event()

    async def _round(self) -> None:
        taken, self._inbox, self._inbox_bytes = self._inbox, [], 0
        if taken:
            # Whatever an editor heard of, here or elsewhere, was stored before.
            await self.catch_up()
            await self._recheck_rights(taken)
            judge, self._trial_text = self._make_validator(), None
            changes: list[AcceptedChange] = []
            for editor, frame in taken:
                if not editor.is_over:
                    self._handle_frame(editor, frame, judge, changes)
            await self._store(changes, judge)
            self._trial_text = judge.text
        await self.catch_up()
        for editor in {it for it, _ in taken}:
            editor.acknowledge()

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
        judge: UpdateValidator,
        changes: list[AcceptedChange],
    ) -> None:
        try:
            match frame:
                case SyncStep1():
                    judge.require_same_history(parse_state_vector(frame.state_vector))
                    editor.send(frames.encode_sync_step2(self.text.encode_diff(frame.state_vector)))
                case SyncUpdate():
                    self._validate_change(editor, frame, judge, changes)
                case AwarenessUpdate():
                    self._broadcast_awareness(self._awareness.apply(editor, frame.states))
                case _:
                    editor.send(frames.encode_awareness(self._awareness.list_states()))
        except PeciaError as error:
            editor.close(error)
            if judge.is_dirty:
                judge.reset(self.text.state, [it.change for it in changes])

    def _validate_change(
        self,
        editor: LiveEditor,
        frame: SyncUpdate,
        judge: UpdateValidator,
        changes: list[AcceptedChange],
    ) -> None:
        editor.received += 1
        verdict = judge.validate(frame.update, editor.writer, may_write=editor.may_write)
        if verdict is UpdateVerdict.NOT_ALLOWED:
            editor.refuse("you may read this document, and not change it")
        elif verdict is UpdateVerdict.TOO_EARLY:
            editor.is_behind = True
            editor.send(frames.encode_sync_step1(self.text.encoded_state_vector))
        elif frame.is_reply:
            # It says all that the editor has.
            editor.is_behind = False
        if verdict is UpdateVerdict.TAKEN:
            changes += [AcceptedChange(editor.writer, it, is_alone=True) for it in judge.repairs]
            changes.append(AcceptedChange(editor.writer, frame.update))

    async def _store(self, changes: Sequence[AcceptedChange], judge: UpdateValidator) -> None:
        if not changes:
            return
        rows = _merge_by_writer(changes)
        async with self.services.store.system() as tx:
            await tx.execute(
                SQL["add_changes"],
                tenant_id=self.location.tenant_id,
                id=self.id,
                changes=[it.change for it in rows],
                writers=[it.writer for it in rows],
                owners=Jsonb({str(client): who for client, who in judge.claimed.items()}),
            )

    def _apply(self, row: dict[str, Any]) -> None:
        before, base = self.text.encoded_state_vector, row["base"]
        changes: list[bytes] = [*([base] if base else []), *row["changes"]]
        for change in changes:
            self.text.apply(change)
            if self._trial_text is not None:
                self._trial_text.apply(change)
        self._state_bytes = sum(map(len, changes)) + (0 if base else self._state_bytes)
        # One by one: what is deleted and what refers to it must not come together.
        news = [
            frames.encode_update(it)
            for it in ([self.text.encode_diff(before)] if base else changes)
        ]
        for editor in self.editors:
            for message in news:
                editor.send(message)
        self._debounce.mark_changed(anyio.current_time(), was_behind=self._is_behind)
        self._applied = row["head"]
        self._owners = {int(client): who for client, who in row["owners"].items()}

    def _broadcast_awareness(self, those: list[frames.AwarenessState]) -> None:
        if those:
            message = frames.encode_awareness(those)
            for editor in self.editors:
                editor.send(message)

    async def _recheck_rights(self, taken: Sequence[tuple[LiveEditor, Frame]]) -> None:
        """Ask anew for those who ask for the text or change it. Where people are, all are told."""
        asking = {it for it, frame in taken if isinstance(frame, SyncStep1 | SyncUpdate)}
        await self.rights.recheck(asking, 0)
        if any(isinstance(frame, AwarenessUpdate) for _, frame in taken):
            await self.rights.recheck(self.editors, self.services.limits.rights_ttl_s)

    async def _flush_loop(self) -> None:
        """When it is quiet, and when it was not for long; and what others do to the file."""
        while True:
            await anyio.sleep(POLL_INTERVAL_S)
            try:
                if await self._is_due():
                    await self.services.flusher.flush(self.location, self.path)
                    self.wake()
            except PeciaError as error:
                _log.failure("wiki.file", error)
                self._debounce.mark_failed(anyio.current_time())

    async def _is_due(self) -> bool:
        stamp = await run_sync(disk.stat_file, self.location.root, self.path)
        return self._debounce.is_due(anyio.current_time(), stamp, is_behind=self._is_behind)


def _merge_by_writer(changes: Sequence[AcceptedChange]) -> list[LiveChange]:
    """What one writer sent in a row, as one change."""
    found: list[tuple[str, bool, list[bytes]]] = []
    for it in changes:
        if not found or found[-1][:2] != (it.writer, False) or it.is_alone:
            found.append((it.writer, it.is_alone, []))
        found[-1][2].append(it.change)
    return [LiveChange(writer, merge_updates(those)) for writer, _, those in found]
