"""Reads the whole program once, then forks for every command that a relay asks for.

It has one thread and no event loop, as a process that forks must. A command whose relay is killed
is killed with it. A server that a command starts in the background is forked from here too.
"""

import gc
import importlib
import json
import os
import pkgutil
import runpy
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, cast

import pecia.app
import pecia.features
import pecia.interfaces
from tests.warm.start import relayed

BACKGROUND = ["-P", "-m", "pecia"]
"""How a command starts a server that outlives it: `interfaces/cli/server/spawn.py`."""


@dataclass(frozen=True, slots=True)
class Warm:
    """Who may ask, and which commands run for whom."""

    listener: socket.socket
    lines: dict[int, socket.socket] = field(default_factory=dict[int, socket.socket])
    """By the process that runs for it."""
    choice: selectors.DefaultSelector = field(default_factory=selectors.DefaultSelector)

    def serve(self) -> bool:
        """Until the tests are over. True in a process that is to be a command."""
        woken, wakes = socket.socketpair()
        for it in (woken, wakes):
            it.setblocking(False)
        signal.signal(signal.SIGCHLD, _is_only_woken)
        signal.set_wakeup_fd(wakes.fileno(), warn_on_full_buffer=False)
        for it in (0, self.listener, woken):
            self.choice.register(it, selectors.EVENT_READ)
        while True:
            for key, _ in self.choice.select():
                if key.fileobj == 0:
                    return False
                if key.fileobj is woken:
                    woken.recv(4096)
                elif key.fileobj is not self.listener:
                    self._kill(key.fd)
                elif self._begin(self.listener.accept()[0]):
                    return True
            self._report()

    def _begin(self, line: socket.socket) -> bool:
        size, streams, _, _ = socket.recv_fds(line, 8, 3)
        asked = json.loads(_exactly(line, int.from_bytes(size, "big")))
        child = os.fork()
        if not child:
            self._leave()
            line.close()
            _become(asked, streams)
            return True
        for it in streams:
            os.close(it)
        self.lines[child] = line
        self.choice.register(line, selectors.EVENT_READ)
        return False

    def _leave(self) -> None:
        """What belongs to the process that forks is none of the command's business."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for it in [*self.choice.get_map().values()]:
            if isinstance(it.fileobj, socket.socket):
                it.fileobj.close()
        self.choice.close()

    def _kill(self, line: int) -> None:
        """The relay went before its command."""
        for child, it in self.lines.items():
            if it.fileno() == line:
                self.choice.unregister(it)
                os.kill(child, signal.SIGKILL)

    def _report(self) -> None:
        """Tell the relays of the commands that have ended how they did."""
        while self.lines:
            child, status = os.waitpid(-1, os.WNOHANG)
            if not child:
                return
            with self.lines.pop(child) as line:
                if line.fileno() in self.choice.get_map():
                    self.choice.unregister(line)
                    line.sendall(str(os.waitstatus_to_exitcode(status)).encode())


def main(folder: Path) -> None:
    # Features too, which a server would import with their first use.
    for package in (pecia.app, pecia.features, pecia.interfaces):
        for it in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(it.name)
    gc.collect()
    gc.freeze()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "door"))
        listener.listen(64)
        os.write(1, b"ready\n")
        is_command = Warm(listener).serve()
    if not is_command:
        shutil.rmtree(folder)
        return
    if os.getsid(0) != os.getpid():
        # What servers start themselves, they stop by its process: those are started as ever.
        subprocess.Popen = _server_starter(folder / "door")
    name, *sys.argv[1:] = sys.argv[1:]
    runpy.run_module(name, run_name="__main__", alter_sys=True)


def _is_only_woken(number: int, frame: FrameType | None) -> None:
    """Without a handler of Python's nobody is woken."""


def _become(asked: dict[str, Any], streams: list[int]) -> None:
    """Be as a process that was just started in that folder, with those words."""
    for own, given in enumerate(streams):
        os.dup2(given, own)
        os.close(given)
    os.environ.clear()
    os.environ.update(asked["environ"])
    time.tzset()
    os.chdir(asked["folder"])
    if asked["leads"]:
        os.setsid()
    sys.path[0] = asked["folder"]
    sys.argv[1:] = asked["words"]


def _server_starter(door: Path) -> "type[subprocess.Popen[Any]]":
    class Popen(subprocess.Popen[Any]):
        def __init__(self, args: Any, *others: Any, **more: Any) -> None:
            super().__init__(_relay_server(door, args), *others, **more)

    return Popen


def _relay_server(door: Path, command: Any) -> Any:
    """The command; one that starts a server in the background as one that asks for a fork."""
    # Of a string, the first four characters: equal to no list.
    words = cast(list[str], command)
    is_server = words[:4] == [sys.executable, *BACKGROUND]
    return relayed(door, "pecia", *words[4:]) if is_server else command


def _exactly(line: socket.socket, size: int) -> bytes:
    parts = bytearray()
    while len(parts) < size:
        more = line.recv(size - len(parts))
        assert more, "the relay went away"
        parts += more
    return bytes(parts)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
