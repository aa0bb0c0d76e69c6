"""An editor at a live document, as a browser is one: a CRDT of its own and a socket.

It writes its messages as the library does, and not with our code.
"""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any
from urllib.parse import quote

import anyio
import pycrdt
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

PATIENCE_S = 40
SYNC, AWARENESS, REFUSAL, STORED = 0, 1, 2, 4


class LiveEditor:
    """Types into its own copy; what it types is sent, and what comes is applied."""

    def __init__(self, doc: "pycrdt.Doc[pycrdt.Text] | None" = None) -> None:
        self.doc: pycrdt.Doc[pycrdt.Text] = doc or pycrdt.Doc()
        self.source = self.doc.get("source", type=pycrdt.Text)
        self.sent = 0
        self.stored = 0
        self.refusals: list[str] = []
        self.presences: list[bytes] = []
        self.closed: tuple[int, str] | None = None
        self._socket: ClientConnection | None = None
        self._outgoing: list[bytes] = []
        self._is_applying = False
        self._news = anyio.Event()
        self.doc.observe(self._changed)

    @property
    def text(self) -> str:
        return str(self.source)

    def type(self, at: int, words: str) -> None:
        """At a place that counts characters."""
        self.source.insert(len(self.text[:at].encode()), words)

    def type_after(self, mark: str, words: str) -> None:
        self.type(self.text.index(mark) + len(mark), words)

    def delete(self, words: str) -> None:
        start = len(self.text[: self.text.index(words)].encode())
        del self.source[start : start + len(words.encode())]

    async def flush(self) -> None:
        """Send what was typed."""
        assert self._socket is not None
        waiting, self._outgoing = self._outgoing, []
        for update in waiting:
            self.sent += 1
            await self._socket.send(pycrdt.create_update_message(update))

    def drop(self) -> None:
        """What was typed is not sent."""
        self._outgoing.clear()

    async def saved(self) -> None:
        """Send it, and wait until all of it is said to be stored."""
        await self.flush()
        await self.until(lambda: self.stored >= self.sent)

    async def until(self, is_so: Callable[[], bool]) -> None:
        with anyio.fail_after(PATIENCE_S):
            while not is_so():
                assert self.closed is None or is_so(), self.closed
                await self._news.wait()

    async def until_text(self, is_so: Callable[[str], bool]) -> str:
        await self.until(lambda: is_so(self.text))
        return self.text

    async def until_closed(self) -> tuple[int, str]:
        with anyio.fail_after(PATIENCE_S):
            while self.closed is None:
                await self._news.wait()
        return self.closed

    async def send(self, message: bytes) -> None:
        """Anything, as it is."""
        assert self._socket is not None
        await self._socket.send(message)

    async def listen(self, socket: ClientConnection) -> None:
        self._socket = socket
        with suppress(ConnectionClosed):
            await socket.send(bytes((SYNC, 0)) + pycrdt.write_message(self.doc.get_state()))
            async for message in socket:
                assert isinstance(message, bytes)
                await self._take(message)
                self._tell()
        self.closed = (socket.close_code or 0, socket.close_reason or "")
        self._tell()

    async def _take(self, message: bytes) -> None:
        kind, rest = message[0], message[1:]
        if kind == SYNC:
            await self._sync(rest[0], pycrdt.read_message(rest[1:]))
        elif kind == AWARENESS:
            self.presences.append(pycrdt.read_message(rest))
        elif kind == REFUSAL:
            self.refusals.append(pycrdt.read_message(rest[1:]).decode())
        elif kind == STORED:
            self.stored = pycrdt.Decoder(rest).read_var_uint()

    async def _sync(self, step: int, body: bytes) -> None:
        if step == 0:
            self.sent += 1
            answer = self.doc.get_update(body)
            await self.send(bytes((SYNC, 1)) + pycrdt.write_message(answer))
            return
        self._is_applying = True
        self.doc.apply_update(body)
        self._is_applying = False

    def _changed(self, event: Any) -> None:
        if not self._is_applying:
            self._outgoing.append(event.update)

    def _tell(self) -> None:
        self._news.set()
        self._news = anyio.Event()


def address(url: str, doc: str, space: str) -> str:
    base = url.replace("http", "ws", 1)
    return f"{base}/collab/{quote(doc)}?space={quote(space)}&stored=1"


@asynccontextmanager
async def at(
    url: str, doc: str, space: str, token: str | None = None, hand: LiveEditor | None = None
) -> AsyncGenerator[LiveEditor]:
    """Somebody at a document. Its text has come when this is entered."""
    headers = {"authorization": f"Bearer {token}"} if token else {}
    mine = hand or LiveEditor()
    mine.closed, mine.sent, mine.stored = None, 0, 0
    async with (
        connect(address(url, doc, space), proxy=None, additional_headers=headers) as socket,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(mine.listen, socket)
        await mine.until(lambda: mine.stored > 0 or mine.closed is not None)
        try:
            yield mine
        finally:
            await socket.close()
            tasks.cancel_scope.cancel()
