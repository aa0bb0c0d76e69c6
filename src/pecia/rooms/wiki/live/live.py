"""All documents that are open in this process, and the socket to each."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TypeAlias
from uuid import UUID

import anyio
import psycopg
from anyio.abc import TaskGroup

from pecia.kernel.errors import (
    InternalError,
    InvalidEnum,
    InvalidInput,
    PayloadTooLarge,
    PeciaError,
    Unavailable,
)
from pecia.kernel.limits import Limit, RateLimiter
from pecia.kernel.logs import Log
from pecia.kernel.room import Ask, Duplex, Socket
from pecia.rooms.wiki.live.bounds import Bounds
from pecia.rooms.wiki.live.document import Desk, OpenDocument
from pecia.rooms.wiki.live.editor import Editor
from pecia.rooms.wiki.live.frames import Frame, Have, read_frame
from pecia.rooms.wiki.live.rows import SQL
from pecia.rooms.wiki.space import Place
from pecia.rooms.wiki.wiki import Wiki
from pecia.rooms.wiki.writer import writer_of

_log = Log(__name__)

RETRY_S = 1.0
LAST_S = 5.0
"""How long the files of open documents may take when the server stops. The store has them."""

Key: TypeAlias = tuple[Place, str]


@dataclass(slots=True)
class Live:
    """Where people and agents come together."""

    wiki: Wiki
    bounds: Bounds
    _documents: dict[Key, OpenDocument] = field(default_factory=dict[Key, OpenDocument])
    _opening: dict[Key, anyio.Lock] = field(default_factory=dict[Key, anyio.Lock])
    _tasks: TaskGroup | None = None
    _is_listening: bool = False

    def socket(self) -> Socket:
        return Socket("/collab/{doc:path}", "wiki/collab", self.serve)

    async def serve(self, ask: Ask, duplex: Duplex) -> None:
        """One editor, from its coming to its going."""
        _require_known(ask.query)
        place, path = await self._found(ask)
        writer = writer_of(ask.call)
        editor = Editor(ask.caller, writer, is_told=ask.query.get("stored") == "1")
        document = await self._join(place, path, editor)
        per_s = self.bounds.messages_per_s
        limit = RateLimiter(Limit(per_s, 1, 2 * per_s))

        async def take(message: bytes) -> None:
            if len(message) > self.bounds.message_bytes:
                raise PayloadTooLarge(
                    f"a message has at most {self.bounds.message_bytes} bytes",
                    field="message",
                    max=self.bounds.message_bytes,
                )
            frame = read_frame(message)
            limit.take("messages", self._cost(frame, len(message)))
            await document.take(editor, frame, len(message))

        try:
            await editor.talk(duplex, take)
        finally:
            document.leave(editor)

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """While it is entered, documents can be opened. What was stored is filed at the end."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            try:
                yield
            finally:
                self._tasks = None
                with anyio.move_on_after(LAST_S, shield=True):
                    await self._file_all()
                tasks.cancel_scope.cancel()

    def _cost(self, frame: Frame, size_bytes: int) -> int:
        """How many messages this one is worth: long ones, and what is answered with a document."""
        per_s, most = self.bounds.messages_per_s, self.bounds.message_bytes
        asking = per_s // 5 if isinstance(frame, Have) else 0
        return 1 + asking + per_s * size_bytes // (2 * most)

    async def _found(self, ask: Ask) -> Key:
        opened = await self.wiki.open(ask.call, None, ask.query.get("space"))
        document = opened.find(ask.path["doc"], "doc")
        opened.returned([document.path])
        return opened.place, document.path

    async def _join(self, place: Place, path: str, editor: Editor) -> OpenDocument:
        while True:
            document = await self._opened(place, path)
            await document.rights.require(editor)
            if not document.is_over:
                document.join(editor)
                return document

    async def _opened(self, place: Place, path: str) -> OpenDocument:
        """The one that is open, or that is now. A slow disk holds up nobody at another document."""
        opening = self._opening.setdefault((place, path), anyio.Lock())
        async with opening:
            document = self._documents.get((place, path))
            if document is None or document.is_over:
                document = await self._open(place, path)
        if not opening.locked():
            self._opening.pop((place, path), None)
        return document

    async def _open(self, place: Place, path: str) -> OpenDocument:
        if self._tasks is None:
            raise Unavailable("the server is stopping")
        if len(self._documents) >= self.bounds.documents:
            raise Unavailable("as many documents are open as may", max=self.bounds.documents)
        id_ = await self.wiki.filing.begin(place, path, self.bounds.document_bytes)
        await self.wiki.filing.file(place, path)
        document = OpenDocument(
            Desk(self.wiki.store, self.wiki.filing, self.bounds), place, path, id_
        )
        await document.catch_up()
        if not self._is_listening:
            self._is_listening = True
            self._tasks.start_soon(self._listen)
        self._documents[place, path] = document
        self._tasks.start_soon(self._run, document)
        return document

    async def _run(self, document: OpenDocument) -> None:
        try:
            await document.run()
        except Exception as error:  # noqa: BLE001 - one that breaks must not take the others along.
            _log.failure("wiki.live", error)
            document.break_off(InternalError("something went wrong on our side; the log has it"))
        finally:
            key = (document.place, document.path)
            if self._documents.get(key) is document:
                del self._documents[key]

    async def _file_all(self) -> None:
        for document in [*self._documents.values()]:
            try:
                await document.file()
            except PeciaError as error:
                _log.failure("wiki.file", error)

    async def _listen(self) -> None:
        """Hear of what other processes store."""
        while True:
            try:
                login = self.wiki.store.logins.system
                connection = await psycopg.AsyncConnection.connect(login, autocommit=True)
                async with connection:
                    await connection.execute(SQL["listen"])
                    self._wake(None)
                    async for told in connection.notifies():
                        self._wake(UUID(told.payload))
            except psycopg.Error as error:
                # Until the line is back, documents look by themselves every second.
                _log.failure("wiki.listen", error)
            await anyio.sleep(RETRY_S)

    def _wake(self, id_: UUID | None) -> None:
        for document in self._documents.values():
            if id_ is None or document.id == id_:
                document.wake()


def _require_known(query: Mapping[str, str]) -> None:
    for name in query:
        if name not in ("space", "stored"):
            raise InvalidInput(
                f'Field "{name}" is not known here', field=name, allowed=["space", "stored"]
            )
    if query.get("stored", "0") not in ("0", "1"):
        raise InvalidEnum('Field "stored" is 0 or 1', field="stored", allowed=["0", "1"])
