"""The process that runs models, for the server and the worker of one home: a program of its own.

Each of them would have a model and its runtime otherwise, 90 MB. It is given a listening socket,
has a thread for each connection, and ends by itself: when nobody is connected any more, and when
nobody has asked for a while. Whoever connects next has it started again (`model_listener.py`).
"""

import ctypes
import os
import selectors
import socket
import threading
import time
from contextlib import suppress
from functools import cache

from pecia.adapters.embedding.model_files import ModelFiles
from pecia.adapters.embedding.model_wire import (
    LENGTH,
    MAX_FRAME_BYTES,
    pack_failure,
    pack_frame,
    pack_vectors,
    unpack_model,
    unpack_texts,
)
from pecia.adapters.embedding.onnx import OnnxModel
from pecia.kernel.errors import Unavailable

IDLE_S = 600.0
LONELY_S = 1.0
POLL_S = 0.5
# So often is memory that the runtime freed given back to the system.
TEXTS_PER_TRIM = 64


class ModelService:
    """Its connections, and when the last one asked."""

    def __init__(self, listener: socket.socket, idle_s: float = IDLE_S) -> None:
        self._listener = listener
        self._idle_s = idle_s
        self._open = 0
        self._busy = 0
        self._texts = 0
        self._changed_at = time.monotonic()
        self._lock = threading.Lock()
        self._models = cache(OnnxModel)

    def run(self) -> None:
        """Serve until nobody needs it."""
        self._listener.setblocking(False)
        with selectors.DefaultSelector() as selector:
            selector.register(self._listener, selectors.EVENT_READ)
            while not self._is_unneeded():
                if not selector.select(POLL_S):
                    continue
                # Another process of this kind may have been quicker.
                with suppress(BlockingIOError):
                    connection, _ = self._listener.accept()
                    self._note(opened=1)
                    threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _is_unneeded(self) -> bool:
        with self._lock:
            waited_s = time.monotonic() - self._changed_at
            return not self._busy and waited_s > (self._idle_s if self._open else LONELY_S)

    def _note(self, *, opened: int = 0, busy: int = 0) -> None:
        with self._lock:
            self._open += opened
            self._busy += busy
            self._changed_at = time.monotonic()

    def _serve(self, connection: socket.socket) -> None:
        try:
            # A peer that is gone, or says what is no frame, costs its own connection.
            with connection, suppress(OSError, EOFError, ValueError, KeyError):
                self._answer_all(connection)
        finally:
            self._note(opened=-1)

    def _answer_all(self, connection: socket.socket) -> None:
        connection.setblocking(True)
        files, threads, niceness = unpack_model(_receive(connection))
        _lower_priority(niceness)
        while True:
            texts = unpack_texts(_receive(connection))
            self._note(busy=1)
            try:
                connection.sendall(pack_frame(self._answer(files, threads, texts)))
            finally:
                self._note(busy=-1)

    def _answer(self, files: ModelFiles, threads: int, texts: list[str]) -> bytes:
        try:
            with self._lock:
                model = self._models(files, threads)
            answer = pack_vectors(model.embed(texts))
        except Unavailable as error:
            return pack_failure(error)
        self._texts += len(texts)
        if self._texts >= TEXTS_PER_TRIM:
            self._texts = 0
            _trim_memory()
        return answer


def _receive(connection: socket.socket) -> bytes:
    (size,) = LENGTH.unpack(_read(connection, LENGTH.size))
    if size > MAX_FRAME_BYTES:
        raise ValueError(size)
    return _read(connection, size)


def _read(connection: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        piece = connection.recv(size - len(data))
        if not piece:
            raise EOFError
        data += piece
    return bytes(data)


def _lower_priority(niceness: int) -> None:
    """Of this thread alone, where a system has that: a query does not wait behind a crawl."""
    with suppress(OSError, AttributeError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), niceness)


def _trim_memory() -> None:
    with suppress(AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


if __name__ == "__main__":
    # The listening socket is the standard input.
    ModelService(socket.socket(fileno=0)).run()
