"""The child itself: orders and open files on its input, what it reads on its output.

It limits itself before the first file, says nothing else, and ends with the server, or when there
has been no file for a while: its libraries take 30 MB.
"""

import os
import select
import socket
import sys
from contextlib import suppress
from importlib import import_module

from pecia.adapters.extraction.child.handler import handle_request
from pecia.adapters.extraction.child.sandbox import allow_cpu, confine
from pecia.adapters.extraction.readers.input_file import InputFile
from pecia.adapters.extraction.wire import (
    MAX_REQUEST_BYTES,
    MAX_REQUESTS,
    Message,
    Ready,
    pack,
    unpack_requests,
)


def preload_libraries() -> None:
    for name in ("pypdfium2", "kreuzberg", "encodings.idna", "encodings.utf_16"):
        import_module(name)


def main() -> None:
    line = socket.socket(fileno=0)
    answers = _take_output()
    preload_libraries()
    memory_bytes, idle_s = int(sys.argv[1]), float(sys.argv[2])
    confinement = confine(memory_bytes)

    def tell(*messages: Message) -> None:
        waiting = memoryview(b"".join(map(pack, messages)))
        while waiting:
            waiting = waiting[os.write(answers, waiting) :]

    tell(Ready(confinement))
    while True:
        # A file that comes just now is read by the next child.
        data, descriptors = _next_requests(line, idle_s)
        if not data:
            return
        for order, descriptor in zip(unpack_requests(data), descriptors, strict=True):
            allow_cpu(order.cpu_s)
            with InputFile(descriptor, order.name, order.content_type) as file:
                handle_request(file, order, tell)


def _next_requests(line: socket.socket, idle_s: float) -> tuple[bytes, list[int]]:
    """Orders and their files; nothing when the server is gone, or has none for a while."""
    if not select.select([line], [], [], idle_s)[0]:
        return b"", []
    data, descriptors, _, _ = socket.recv_fds(line, MAX_REQUEST_BYTES, MAX_REQUESTS)
    return data, descriptors


def _take_output() -> int:
    """Libraries print where they like; our answers go where none of them can write."""
    answers = os.dup(1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
    return answers


if __name__ == "__main__":
    # The server is gone, and so is the one who would read the answer.
    with suppress(BrokenPipeError):
        main()
