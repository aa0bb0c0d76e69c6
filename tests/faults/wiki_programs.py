"""Programs that write a document's file and know nothing of Pecia, each in a way of its own.

Each puts one word into the file that it finds. Where a way has a moment at which another process
may come between its steps, it takes a moment there.
"""

import os
import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path

Pause = Callable[[], None]
ProgramWay = Callable[[Path, str, Pause, random.Random], None]
PATIENCE_S = 30.0
"""A file that is away for longer does not come back: who waited on would never end."""
STOPPED_S = 4.0


def append(file: Path, word: str, pause: Pause, _: random.Random) -> None:
    """As `>>` of a shell."""
    opened = os.open(file, os.O_WRONLY | os.O_APPEND)
    try:
        pause()
        os.write(opened, f"{word};\n".encode())
        pause()
    finally:
        os.close(opened)


def rewrite(file: Path, word: str, pause: Pause, dice: random.Random) -> None:
    """Reads, truncates and writes, in two parts."""
    body = _with(_read(file), word, dice)
    pause()
    with file.open("wb", buffering=0) as opened:
        pause()
        half = len(body) // 2
        opened.write(body[:half])
        pause()
        opened.write(body[half:])
        pause()


def patch(file: Path, word: str, pause: Pause, dice: random.Random) -> None:
    """Reads and writes through one opening, without truncating first."""
    with file.open("r+b", buffering=0) as opened:
        body = _with(opened.read(), word, dice)
        pause()
        opened.seek(0)
        opened.write(body)
        opened.truncate()
        pause()


def replace(file: Path, word: str, pause: Pause, dice: random.Random) -> None:
    """Writes another file and puts it in the place of this one."""
    body = _with(_read(file), word, dice)
    pause()
    other = file.with_name(f".{word}.swp")
    other.write_bytes(body)
    pause()
    other.replace(file)


def back_up(file: Path, word: str, pause: Pause, dice: random.Random) -> None:
    """Puts the file aside, as an editor does that keeps backups, and writes a new one."""
    body = _with(_read(file), word, dice)
    pause()
    file.rename(file.with_name(f"{file.name}~"))
    pause()
    with file.open("wb", buffering=0) as opened:
        opened.write(body)


def put_aside(file: Path, word: str, _: Pause, dice: random.Random) -> None:
    """The same of a program that is stopped in between, for longer than a missing file is waited
    for: it counts as removed, and comes back."""
    pauses = iter((0, STOPPED_S))
    back_up(file, word, lambda: time.sleep(next(pauses)), dice)


WAYS = (append, rewrite, patch, replace, back_up)


def write(file: Path, word: str, dice: random.Random, ways: Sequence[ProgramWay] = WAYS) -> str:
    """One of the ways, with moments of up to 20 ms; how it is called."""
    way = dice.choice(ways)
    way(file, word, lambda: time.sleep(dice.choice((0, 0.002, 0.02))), dice)
    return way.__name__


def _read(file: Path) -> bytes:
    begun = time.monotonic()
    while True:
        try:
            return file.read_bytes()
        except FileNotFoundError:
            # A server without exchange may have it away for a moment.
            if time.monotonic() - begun > PATIENCE_S:
                raise
            time.sleep(0.001)


def _with(body: bytes, word: str, dice: random.Random) -> bytes:
    """The word after some other, or at the end of the first line."""
    ends = [at + 1 for at, it in enumerate(body) if it in b";\n"] or [len(body)]
    at = dice.choice(ends)
    return body[:at] + f"{word};".encode() + body[at:]
