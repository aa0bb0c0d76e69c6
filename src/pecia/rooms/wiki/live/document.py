"""A document that is open here: what its editors send is judged, stored, and told to all.

One round after the other, so that everybody sees one order: what came in is looked at, what is
taken goes to the store, and what the store has, ours and that of other processes, goes out.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import anyio
from anyio.to_thread import run_sync
from psycopg.types.json import Jsonb

from pecia.kernel.errors import NotFound, PeciaError, Unavailable
from pecia.kernel.logs import Log
from pecia.kernel.store.store import Store
from pecia.rooms.wiki import disk
from pecia.rooms.wiki.live import frames
from pecia.rooms.wiki.live.bounds import (
    IDLE_S,
    TICK_S,
    WAITING_BYTES,
    Bounds,
)
from pecia.rooms.wiki.live.editor import Editor
from pecia.rooms.wiki.live.filing import Filing
from pecia.rooms.wiki.live.frames import Changes, Frame, Have, Presences
from pecia.rooms.wiki.live.judging import Judge, Verdict
from pecia.rooms.wiki.live.pace import Pace
from pecia.rooms.wiki.live.presence import Whereabouts
from pecia.rooms.wiki.live.rights import Rights
from pecia.rooms.wiki.live.rows import SQL, Change
from pecia.rooms.wiki.live.text import LiveText, joined
from pecia.rooms.wiki.live.update import read_clocks
from pecia.rooms.wiki.space import Place

_log = Log(__name__)

NEVER = -1


@dataclass(frozen=True, slots=True)
class Desk:
    """What every document needs."""

    store: Store
    filing: Filing
    bounds: Bounds


@dataclass(frozen=True, slots=True)
class Taken:
    """A change that is to be stored; `is_alone` must not be joined with others."""

    writer: str
    change: bytes
    is_alone: bool = False


@dataclass(slots=True, eq=False)
class OpenDocument:
    """One document, and whoever has it open here."""

    desk: Desk
    place: Place
    path: str
    id: UUID
    text: LiveText = field(default_factory=LiveText)
    editors: set[Editor] = field(default_factory=set[Editor])
    is_over: bool = False
    _inbox: list[tuple[Editor, Frame]] = field(default_factory=list[tuple[Editor, Frame]])
    _where: Whereabouts = field(default_factory=Whereabouts)
    _owners: dict[int, str] = field(default_factory=dict[int, str])
    _applied: int = NEVER
    _filed: int = NEVER
    _has_copies: bool = False
    """Files were replaced that a program may still write."""
    _state_bytes: int = 0
    _pace: Pace = field(default_factory=Pace)
    _tried: LiveText | None = None
    """The text with what is taken and not stored yet."""
    _used_at: float = field(default_factory=anyio.current_time)
    _news: anyio.Event = field(default_factory=anyio.Event)
    _rest: anyio.Event = field(default_factory=anyio.Event)
    _inbox_bytes: int = 0

    @property
    def rights(self) -> Rights:
        return Rights(self.desk.store, self.place, self.path)

    def wake(self) -> None:
        """Something came, here or elsewhere."""
        self._news.set()

    def join(self, editor: Editor) -> None:
        """Let somebody in who may read; they are told what there is."""
        if len(self.editors) >= self.desk.bounds.editors:
            raise Unavailable(
                "as many have this document open as may", max=self.desk.bounds.editors
            )
        self.editors.add(editor)
        editor.send(frames.have(self.text.clocks_sent))
        if everybody := self._where.everybody():
            editor.send(frames.presences(everybody))

    def leave(self, editor: Editor) -> None:
        self.editors.discard(editor)
        self._used_at = anyio.current_time()
        self._tell(self._where.leave(editor))

    async def take(self, editor: Editor, frame: Frame, size_bytes: int) -> None:
        """To be looked at in the next round."""
        self._inbox.append((editor, frame))
        self.wake()
        # Whoever sends more than can be stored waits with the rest.
        self._inbox_bytes += size_bytes
        while self._inbox_bytes > WAITING_BYTES and not self.is_over:
            await self._rest.wait()

    async def run(self) -> None:
        """Round after round, until nobody is there any more."""
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._keep_filing)
                while not self._is_idle():
                    await self._round_or_end()
                    with anyio.move_on_after(TICK_S):
                        await self._news.wait()
                # At once: who comes from here on opens it anew.
                self.is_over = True
                tasks.cancel_scope.cancel()
        finally:
            self.is_over = True
            self._rest.set()

    def break_off(self, error: PeciaError) -> None:
        """Everybody goes, for a reason."""
        for editor in [*self.editors]:
            editor.end(error)

    async def catch_up(self) -> None:
        """What the store has beyond what we know. Who may not read any more is not told."""
        asked = {"tenant_id": self.place.tenant_id, "id": self.id, "seq": self._applied}
        async with self.desk.store.system() as tx:
            row = await tx.maybe(SQL["live_since"], **asked)
        if row is None or row["key"] != self.place.key(self.path):
            raise NotFound("the document was deleted or renamed")
        self._filed, self._has_copies = row["filed"], row["has_copies"]
        if row["head"] == self._applied:
            return
        await self.rights.sift(self.editors, self.desk.bounds.rights_s)
        self._apply(row)

    async def file(self) -> None:
        """Bring the file up to what is stored."""
        if self._is_behind:
            await self.desk.filing.file(self.place, self.path)

    def _is_idle(self) -> bool:
        if self.is_over:
            return True
        is_unused = not self.editors and anyio.current_time() - self._used_at > IDLE_S
        return is_unused and not self._is_behind

    @property
    def _is_behind(self) -> bool:
        """Whether the file lacks something, or may."""
        return self._applied > self._filed or self._has_copies

    async def _round_or_end(self) -> None:
        self._news = anyio.Event()
        try:
            await self._round()
        except PeciaError as error:
            # They come again, and bring what was not stored.
            self.break_off(error)
            if isinstance(error, NotFound):
                self.is_over = True
        self._rest.set()
        self._rest = anyio.Event()

    async def _round(self) -> None:
        taken, self._inbox, self._inbox_bytes = self._inbox, [], 0
        if taken:
            # Whatever an editor heard of, here or elsewhere, was stored before.
            await self.catch_up()
            await self._sift(taken)
            judge, self._tried = self._judge(), None
            changes: list[Taken] = []
            for editor, frame in taken:
                if not editor.is_over:
                    self._look(editor, frame, judge, changes)
            await self._store(changes, judge)
            self._tried = judge.text
        await self.catch_up()
        for editor in {it for it, _ in taken}:
            editor.stored()

    def _judge(self) -> Judge:
        owners = {**self._where.writers(), **self._owners}
        tried = self._tried or LiveText(self.text.state)
        return Judge(tried, owners, self.desk.bounds.document_bytes, self._state_bytes)

    def _look(self, editor: Editor, frame: Frame, judge: Judge, changes: list[Taken]) -> None:
        try:
            match frame:
                case Have():
                    judge.require_same_history(read_clocks(frame.clocks))
                    editor.send(frames.lack(self.text.lacking(frame.clocks)))
                case Changes():
                    self._weigh(editor, frame, judge, changes)
                case Presences():
                    self._tell(self._where.take(editor, frame.those))
                case _:
                    editor.send(frames.presences(self._where.everybody()))
        except PeciaError as error:
            editor.end(error)
            if judge.is_spoilt:
                judge.mend(self.text.state, [it.change for it in changes])

    def _weigh(self, editor: Editor, frame: Changes, judge: Judge, changes: list[Taken]) -> None:
        editor.received += 1
        verdict = judge.judge(frame.update, editor.writer, may_write=editor.may_write)
        if verdict is Verdict.NOT_ALLOWED:
            editor.refuse("you may read this document, and not change it")
        elif verdict is Verdict.TOO_EARLY:
            editor.is_behind = True
            editor.send(frames.have(self.text.clocks_sent))
        elif frame.answers:
            # It says all that the editor has.
            editor.is_behind = False
        if verdict is Verdict.TAKEN:
            changes += [Taken(editor.writer, it, is_alone=True) for it in judge.repairs]
            changes.append(Taken(editor.writer, frame.update))

    async def _store(self, changes: Sequence[Taken], judge: Judge) -> None:
        if not changes:
            return
        rows = _by_writer(changes)
        async with self.desk.store.system() as tx:
            await tx.run(
                SQL["add_changes"],
                tenant_id=self.place.tenant_id,
                id=self.id,
                changes=[it.change for it in rows],
                writers=[it.writer for it in rows],
                owners=Jsonb({str(client): who for client, who in judge.claimed.items()}),
            )

    def _apply(self, row: dict[str, Any]) -> None:
        before, base = self.text.clocks_sent, row["base"]
        changes: list[bytes] = [*([base] if base else []), *row["changes"]]
        for change in changes:
            self.text.apply(change)
            if self._tried is not None:
                self._tried.apply(change)
        self._state_bytes = sum(map(len, changes)) + (0 if base else self._state_bytes)
        # One by one: what is deleted and what refers to it must not come together.
        news = [frames.change(it) for it in ([self.text.lacking(before)] if base else changes)]
        for editor in self.editors:
            for message in news:
                editor.send(message)
        self._pace.changed(anyio.current_time(), was_behind=self._is_behind)
        self._applied = row["head"]
        self._owners = {int(client): who for client, who in row["owners"].items()}

    def _tell(self, those: list[frames.Presence]) -> None:
        if those:
            message = frames.presences(those)
            for editor in self.editors:
                editor.send(message)

    async def _sift(self, taken: Sequence[tuple[Editor, Frame]]) -> None:
        """Ask anew for those who ask for the text or change it. Where people are, all are told."""
        asking = {it for it, frame in taken if isinstance(frame, Have | Changes)}
        await self.rights.sift(asking, 0)
        if any(isinstance(frame, Presences) for _, frame in taken):
            await self.rights.sift(self.editors, self.desk.bounds.rights_s)

    async def _keep_filing(self) -> None:
        """When it is quiet, and when it was not for long; and what others do to the file."""
        while True:
            await anyio.sleep(TICK_S)
            try:
                if await self._is_due():
                    await self.desk.filing.file(self.place, self.path)
                    self.wake()
            except PeciaError as error:
                _log.failure("wiki.file", error)
                self._pace.failed(anyio.current_time())

    async def _is_due(self) -> bool:
        stamp = await run_sync(disk.stamp, self.place.root, self.path)
        return self._pace.is_due(anyio.current_time(), stamp, is_behind=self._is_behind)


def _by_writer(changes: Sequence[Taken]) -> list[Change]:
    """What one writer sent in a row, as one change."""
    found: list[tuple[str, bool, list[bytes]]] = []
    for it in changes:
        if not found or found[-1][:2] != (it.writer, False) or it.is_alone:
            found.append((it.writer, it.is_alone, []))
        found[-1][2].append(it.change)
    return [Change(writer, joined(those)) for writer, _, those in found]
