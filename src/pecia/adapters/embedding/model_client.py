"""An embedder whose model runs in the process of this home, or here where there is none."""

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import anyio
from anyio.abc import SocketStream
from anyio.streams.buffered import BufferedByteReceiveStream

from pecia.adapters.embedding.model_files import ModelFiles
from pecia.adapters.embedding.model_wire import (
    LENGTH,
    MAX_FRAME_BYTES,
    SOCKET,
    pack_frame,
    pack_model,
    pack_texts,
    unpack_answer,
)
from pecia.adapters.embedding.onnx import ModelEmbedder, OnnxEmbedder
from pecia.kernel.corpus.vectors.embedder import Vectors
from pecia.kernel.errors import Unavailable

# The process may have to start and to load the model first.
ANSWER_S = 10.0
# On a busy machine. A search gives up earlier.
TEXT_S = 1.0
# The process may end by itself just as it is asked, and a kill may hit it once more.
MAX_ATTEMPTS = 3


class _Connection:
    def __init__(self, stream: SocketStream) -> None:
        self.stream = stream
        self._received = BufferedByteReceiveStream(stream)

    async def ask(self, body: bytes) -> bytes:
        await self.stream.send(pack_frame(body))
        (size,) = LENGTH.unpack(await self._received.receive_exactly(LENGTH.size))
        if size > MAX_FRAME_BYTES:
            raise anyio.IncompleteRead
        return await self._received.receive_exactly(size)


class SharedEmbedder(ModelEmbedder):
    """Embeds with one model. Where no process runs, the model is loaded here; one that is there and
    does not answer is given up after `answer_s`, and `text_s` more for each text."""

    def __init__(
        self,
        files: ModelFiles,
        home: Path,
        *,
        threads: int = 2,
        answer_s: float = ANSWER_S,
        text_s: float = TEXT_S,
    ) -> None:
        super().__init__(files, threads)
        self._socket = home / SOCKET
        self._own = OnnxEmbedder(files, threads=threads)
        self._idle: list[_Connection] = []
        self._answer_s = answer_s
        self._text_s = text_s

    async def close(self) -> None:
        while self._idle:
            await self._idle.pop().stream.aclose()

    async def _embed_part(self, texts: Sequence[str]) -> Vectors:
        limit_s = self._answer_s + self._text_s * len(texts)
        found: Vectors | None = None
        with anyio.move_on_after(limit_s) as limit:
            found = await self._ask_process(pack_texts(texts, self._files.max_chars))
        if limit.cancelled_caught:
            raise Unavailable(f"the process that runs models has not answered for {limit_s:g} s")
        return await self._own.embed(texts) if found is None else found

    async def _ask_process(self, body: bytes) -> "Vectors | None":
        """Its answer; None where there is no such process."""
        for _ in range(MAX_ATTEMPTS):
            connection = await self._connect()
            if connection is None:
                return None
            with suppress(anyio.EndOfStream, anyio.IncompleteRead, anyio.BrokenResourceError):
                return unpack_answer(await self._ask(connection, body))
            # All of them lead to the process that is gone.
            await self.close()
        raise Unavailable("the process that runs models ended while it was asked")

    async def _ask(self, connection: _Connection, body: bytes) -> bytes:
        try:
            answer = await connection.ask(body)
        except BaseException:
            # What it may still say belongs to nobody.
            with anyio.CancelScope(shield=True):
                await connection.stream.aclose()
            raise
        self._idle.append(connection)
        return answer

    async def _connect(self) -> _Connection | None:
        if self._idle:
            return self._idle.pop()
        try:
            stream = await anyio.connect_unix(self._socket)
        except OSError:
            # No server runs here, or there can be no such socket.
            return None
        connection = _Connection(stream)
        hello = pack_model(self._files, threads=self._threads, niceness=_niceness())
        with suppress(anyio.BrokenResourceError):
            await stream.send(pack_frame(hello))
        return connection


def _niceness() -> int:
    return os.getpriority(os.PRIO_PROCESS, 0)
