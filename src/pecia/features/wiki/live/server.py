"""All documents that are open in this process, and the sockets to them."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
from anyio.abc import TaskGroup
from psycopg import Notify

from pecia.features.wiki.history.message import writer_of
from pecia.features.wiki.live.core.frames import Frame, SyncStep1, decode_frame
from pecia.features.wiki.live.document import DocumentServices, OpenDocument
from pecia.features.wiki.live.editor import LiveEditor
from pecia.features.wiki.live.flush import LiveKey
from pecia.features.wiki.live.limits import LiveLimits
from pecia.features.wiki.live.news import NewsReader
from pecia.features.wiki.space import Wiki
from pecia.features.wiki.store import SpaceLocation
from pecia.kernel.errors import (
    InternalError,
    InvalidEnum,
    InvalidInput,
    PayloadTooLarge,
    PeciaError,
    Unavailable,
)
from pecia.kernel.feature import FeatureRequest, FeatureSocket, MessageStream
from pecia.kernel.logs import Log
from pecia.kernel.rate_limit import RateLimit, RateLimiter
from pecia.kernel.store.listen import listen

_log = Log(__name__)

SHUTDOWN_TIMEOUT_S = 5.0
"""Time limit of the final flush at shutdown. The edits are stored in any case."""


@dataclass(slots=True)
class LiveServer:
    """Serves live documents."""

    wiki: Wiki
    limits: LiveLimits
    _documents: dict[LiveKey, OpenDocument] = field(default_factory=dict[LiveKey, OpenDocument])
    _open_locks: dict[LiveKey, anyio.Lock] = field(default_factory=dict[LiveKey, anyio.Lock])
    _tasks: TaskGroup | None = None
    _services: DocumentServices | None = None
    _is_listening: bool = False

    def socket(self) -> FeatureSocket:
        return FeatureSocket("/collab/{doc:path}", "wiki/collab", self.serve)

    async def serve(self, ask: FeatureRequest, duplex: MessageStream) -> None:
        """Serve one editor from connect to disconnect."""
        _require_known(ask.query)
        place, path = await self._resolve_document(ask)
        writer = writer_of(ask.call)
        editor = LiveEditor(
            ask.caller,
            writer,
            is_told=ask.query.get("stored") == "1",
            is_told_rights=ask.query.get("rights") == "1",
        )
        document = await self._join(place, path, editor)
        per_s = self.limits.messages_per_s
        limit = RateLimiter(RateLimit(per_s, 1, 2 * per_s))

        async def take(message: bytes) -> None:
            if len(message) > self.limits.message_bytes:
                raise PayloadTooLarge(
                    f"a message has at most {self.limits.message_bytes} bytes",
                    field="message",
                    max=self.limits.message_bytes,
                )
            frame = decode_frame(message)
            limit.take("messages", self._cost(frame, len(message)))
            await document.receive(editor, frame, len(message))

        try:
            await editor.run(duplex, take)
            await document.settle(editor)
        finally:
            document.leave(editor)
        if editor.failure is not None:
            raise editor.failure

    @asynccontextmanager
    async def lifespan(self) -> AsyncGenerator[None]:
        """While entered, documents can be opened. Stored edits are flushed at the end."""
        news = NewsReader(self.wiki.store)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(news.run)
            self._services = DocumentServices(self.wiki.store, self.wiki.flusher, news, self.limits)
            self._tasks = tasks
            try:
                yield
            finally:
                self._tasks = None
                with anyio.move_on_after(SHUTDOWN_TIMEOUT_S, shield=True):
                    await self._flush_all()
                    await self.wiki.flusher.drain()
                self.wiki.flusher.log_undrained()
                tasks.cancel_scope.cancel()

    def _cost(self, frame: Frame, size_bytes: int) -> int:
        """Rate-limit cost of a message: higher for long ones, and for full syncs."""
        per_s, most = self.limits.messages_per_s, self.limits.message_bytes
        asking = per_s // 5 if isinstance(frame, SyncStep1) else 0
        return 1 + asking + per_s * size_bytes // (2 * most)

    async def _resolve_document(self, ask: FeatureRequest) -> LiveKey:
        opened = await self.wiki.open(ask.call, None, ask.query.get("space"))
        document = opened.find(ask.path["doc"], "doc")
        opened.record_returned([document.path])
        return opened.location, document.path

    async def _join(self, place: SpaceLocation, path: str, editor: LiveEditor) -> OpenDocument:
        while True:
            document = await self._get_or_open(place, path)
            await document.rights.require(editor)
            if not document.is_closed:
                document.join(editor)
                return document

    async def _get_or_open(self, place: SpaceLocation, path: str) -> OpenDocument:
        """The open document, opened if needed. A slow disk blocks nobody at another document."""
        opening = self._open_locks.setdefault((place, path), anyio.Lock())
        async with opening:
            document = self._documents.get((place, path))
            if document is None or document.is_closed:
                document = await self._open(place, path)
        if not opening.locked():
            self._open_locks.pop((place, path), None)
        return document

    async def _open(self, place: SpaceLocation, path: str) -> OpenDocument:
        if self._tasks is None or self._services is None:
            raise Unavailable("the server is stopping")
        if len(self._documents) >= self.limits.documents:
            most = self.limits.documents
            raise Unavailable(
                f"{most} documents are open for editing on this server, and no more may: try again "
                "later",
                max=most,
            )
        id_ = await self.wiki.flusher.make_live(place, path, self.limits.document_bytes)
        await self.wiki.flusher.flush(place, path)
        document = OpenDocument(self._services, place, path, id_)
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
        except Exception as error:  # noqa: BLE001 - one failure must not stop the others.
            _log.failure("wiki.live", error)
            document.close_all(InternalError("internal error; see the server log"))
        finally:
            key = (document.location, document.path)
            if self._documents.get(key) is document:
                del self._documents[key]

    async def _flush_all(self) -> None:
        for document in [*self._documents.values()]:
            try:
                await document.flush()
            except PeciaError as error:
                _log.failure("wiki.flush", error)

    async def _listen(self) -> None:
        """LISTEN for updates stored by other processes. While disconnected, documents poll."""
        await listen(self.wiki.store, ["pecia_live"], self._wake, "wiki.listen")

    async def _wake(self, notification: Notify | None) -> None:
        if notification is None:
            for document in self._documents.values():
                document.wake()
            return
        id_, _, head = notification.payload.partition(" ")
        for document in self._documents.values():
            if str(document.id) == id_:
                document.hear(int(head) if head else None)


def _require_known(query: Mapping[str, str]) -> None:
    switches = ("stored", "rights")
    for name, value in query.items():
        if name not in ("space", *switches):
            raise InvalidInput(
                f'Field "{name}" is unknown', field=name, allowed=["space", *switches]
            )
        if name in switches and value not in ("0", "1"):
            raise InvalidEnum(f'Field "{name}" is 0 or 1', field=name, allowed=["0", "1"])
