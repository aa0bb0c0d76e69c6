"""A process behind the walls of a child that tries one forbidden deed, and prints what it met."""

import ctypes
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from pecia.adapters.extraction.child.sandbox import confine

# Imported for its place by the test, run with a deed and a folder.
FOLDER = Path(sys.argv[-1])


def through_c(code: int) -> None:
    """A call of C, past every hook of Python."""
    if code < 0:
        raise OSError(ctypes.get_errno(), "refused")


def write() -> None:
    (FOLDER / "new").write_text("words", encoding="utf-8")


def write_past_python() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    found = libc.open(os.fsencode(FOLDER / "kept"), os.O_WRONLY)
    through_c(found)
    through_c(libc.write(found, b"words", 5))


def make_past_python() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    through_c(libc.open(os.fsencode(FOLDER / "new"), os.O_WRONLY | os.O_CREAT, 0o600))


def remove() -> None:
    (FOLDER / "kept").unlink()


def connect() -> None:
    socket.create_connection(("127.0.0.1", 9), timeout=2)


def connect_past_python() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    found = libc.socket(socket.AF_INET, socket.SOCK_STREAM, 0)
    through_c(found)
    # A family, a port and 127.0.0.1, as the system wants them.
    place = socket.AF_INET.to_bytes(2, sys.byteorder) + b"\x00\x09\x7f\x00\x00\x01" + bytes(8)
    through_c(libc.connect(found, place, len(place)))


def start_a_program() -> None:
    subprocess.run(["true"], check=True)


def swell() -> None:
    try:
        bytearray(2_000_000_000)
    except MemoryError as error:
        raise OSError(12, "no memory") from error


def open_many() -> None:
    held = [os.open(os.devnull, os.O_RDONLY) for _ in range(1_000)]
    raise AssertionError(len(held))


DEEDS: dict[str, Callable[[], None]] = {
    "write": write,
    "write past python": write_past_python,
    "make past python": make_past_python,
    "remove": remove,
    "connect": connect,
    "connect past python": connect_past_python,
    "start a program": start_a_program,
    "swell": swell,
    "open many": open_many,
}


def main() -> None:
    walls = confine(1_000_000_000)
    code = 0
    try:
        DEEDS[sys.argv[1]]()
    except OSError as error:
        # The hook of Python says no without a number of the system.
        code = error.errno or 13
    sys.stdout.write(f"{walls.memory:d}{walls.network:d}{walls.files:d} {code}\n")


if __name__ == "__main__":
    main()
