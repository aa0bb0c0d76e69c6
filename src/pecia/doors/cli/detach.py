"""A server that outlives the command: started as a process of its own, and waited for."""

import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pecia.doors.cli.find import Running, running
from pecia.doors.cli.terminal import Terminal
from pecia.kernel.errors import Timeout, Unavailable

if TYPE_CHECKING:
    from pecia.kernel.settings.load import Settings

LOG = "server.log"
WAIT_S = 120.0
LOOK_EVERY_S = 0.05
SHOWN_CHARACTERS = 4000


def spawn(settings: "Settings", folder: Path, flags: Sequence[str]) -> "subprocess.Popen[bytes]":
    """Start a server in a session of its own. What it says goes to a file in the home."""
    log = settings.kernel.home / LOG
    with log.open("wb") as said:
        return subprocess.Popen(
            [sys.executable, "-m", "pecia", "start", str(folder), *flags],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=said,
            start_new_session=True,
        )


def wait_until_up(
    terminal: Terminal, home: Path, process: "subprocess.Popen[bytes]", limit_s: float = WAIT_S
) -> Running:
    """The server, as soon as it answers; what it said, when it ends instead."""
    terminal.say("starting the server…")
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        if found := running(home):
            return found
        # Zero: it found another server, and joined that one. It will answer.
        if process.poll():
            raise Unavailable(f"the server did not start: {_last_words(home)}")
        time.sleep(LOOK_EVERY_S)
    raise Timeout(f"the server does not answer after {limit_s:g} s", timeout_s=limit_s)


def _last_words(home: Path) -> str:
    said = (home / LOG).read_text(encoding="utf-8", errors="replace").strip()
    return said[-SHOWN_CHARACTERS:] or "it said nothing"
