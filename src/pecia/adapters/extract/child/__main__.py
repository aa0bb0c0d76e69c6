"""The child itself: orders and open files on its input, what it reads on its output.

It limits itself before the first file, says nothing else, and ends with the server.
"""

import os
import socket
import sys
from contextlib import suppress

from pecia.adapters.extract.child.confine import allow_cpu, confine
from pecia.adapters.extract.child.reading import read_file
from pecia.adapters.extract.readers.file import File
from pecia.adapters.extract.readers.warm import import_readers
from pecia.adapters.extract.wire import (
    ORDER_BYTES,
    ORDERS,
    Message,
    Ready,
    pack,
    unpack_orders,
)


def main() -> None:
    line = socket.socket(fileno=0)
    answers = _take_output()
    import_readers()
    confinement = confine(int(sys.argv[1]))

    def tell(*messages: Message) -> None:
        waiting = memoryview(b"".join(map(pack, messages)))
        while waiting:
            waiting = waiting[os.write(answers, waiting) :]

    tell(Ready(confinement))
    while True:
        data, descriptors, _, _ = socket.recv_fds(line, ORDER_BYTES, ORDERS)
        if not data:
            return
        for order, descriptor in zip(unpack_orders(data), descriptors, strict=True):
            allow_cpu(order.cpu_s)
            with File(descriptor, order.name, order.content_type) as file:
                read_file(file, order, tell)


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
