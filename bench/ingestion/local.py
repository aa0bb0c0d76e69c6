"""A `pecia start` of its own, and a meter for all its processes."""

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

import psutil

from pecia.interfaces.cli.server.client import ServerClient
from pecia.interfaces.cli.server.credentials import read_owner_token
from pecia.interfaces.cli.tools.confirmation import call_as_owner
from pecia.kernel.store.cluster import ClusterOptions
from pecia.kernel.store.cluster.paths import find_cluster_paths


@dataclass
class Meter:
    """CPU seconds and memory of a tree of processes, sampled while it works."""

    roots: Callable[[], list[psutil.Process]]
    cpu_s: dict[tuple[str, int], float] = field(default_factory=dict[tuple[str, int], float])
    spent_s: dict[str, float] = field(default_factory=dict[str, float])
    peak_mb: dict[str, float] = field(default_factory=dict[str, float])
    now_mb: dict[str, float] = field(default_factory=dict[str, float])
    over: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def running(self) -> Generator["Meter"]:
        thread = threading.Thread(target=self._watch, daemon=True)
        self._look()
        before = {**self.cpu_s}
        thread.start()
        try:
            yield self
        finally:
            self.over.set()
            thread.join()
            self._look()
            for who, cpu_s in self.cpu_s.items():
                spent_s = self.spent_s.get(who[0], 0) + cpu_s - before.get(who, 0)
                self.spent_s[who[0]] = round(spent_s, 2)

    @property
    def total_s(self) -> float:
        """All that was spent by all of them, up to the last look."""
        return sum([*self.cpu_s.values()])

    def _watch(self) -> None:
        while not self.over.wait(0.25):
            self._look()

    def _look(self) -> None:
        sums: dict[str, float] = {}
        for root in self.roots():
            with suppress(psutil.NoSuchProcess):
                for it in [root, *root.children(recursive=True)]:
                    with suppress(psutil.NoSuchProcess):
                        kind, times = _kind(it), it.cpu_times()
                        self.cpu_s[kind, it.pid] = times.user + times.system
                        for name, held in _held(it, kind).items():
                            sums[name] = sums.get(name, 0) + held / 1e6
        self.now_mb = {kind: round(held) for kind, held in sums.items()}
        for kind, held in sums.items():
            self.peak_mb[kind] = round(max(self.peak_mb.get(kind, 0), held))


class Pecia:
    """One `pecia start` in a home of its own."""

    def __init__(self, place: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        self.home = place / "pecia"
        notes = place / "notes"
        notes.mkdir(parents=True)
        environ = {**os.environ, "PECIA_HOME": str(self.home), "HOME": str(place)}
        command = [sys.executable, "-m", "pecia", "start", str(notes), "--port", str(port)]
        self.process = subprocess.Popen(
            command, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        while not self._is_at_work():
            if self.process.poll() is not None:
                raise RuntimeError(f"`pecia start` ended: {self.process.returncode}")
            time.sleep(0.1)

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        body = json.dumps(arguments).encode()
        asked = Request(
            f"{self.url}/api/v1/{tool}", data=body, headers={"content-type": "application/json"}
        )
        with urlopen(asked, timeout=120) as answer:
            return json.load(answer)

    def add_folder(self, **asked: Any) -> None:
        """Add a source that is a folder, as the owner's own command does."""
        server = ServerClient(self.url, read_owner_token(self.home))
        call_as_owner(server, "/api/v1/admin/add_source", asked)

    def finds(self, word: str, source: str) -> bool:
        asked = {"query": word, "mode": "lexical", "source_id": source, "limit": 1}
        return bool(self.call("lake/search_content", **asked)["hits"])

    def processes(self) -> list[psutil.Process]:
        """The server, and the database, which is not its child."""
        places = find_cluster_paths(self.home, ClusterOptions().system)
        assert places is not None
        databases = [it for it in psutil.process_iter() if str(places.data) in _line(it)]
        return [psutil.Process(self.process.pid), *databases]

    def meter(self) -> Meter:
        roots = self.processes()
        return Meter(lambda: roots)

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(60)

    def _is_at_work(self) -> bool:
        """Whether its worker is up: startup is not part of this."""
        with suppress(URLError, ConnectionError):
            sources = self.call("lake/list_sources")["sources"]
            return any(it["last_indexed_at"] for it in sources)
        return False

    def __enter__(self) -> "Pecia":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def _held(process: psutil.Process, kind: str) -> dict[str, int]:
    """Bytes by name. What processes share counts once: the database's buffers above all."""
    if kind != "database":
        return {kind: process.memory_info().rss}
    found = process.memory_full_info()
    return {kind: found.uss, "database_and_buffers": found.pss}


def _line(process: psutil.Process) -> str:
    with suppress(psutil.Error):
        return " ".join(process.cmdline())
    return ""


def _kind(process: psutil.Process) -> str:
    line = _line(process)
    if "extract" in line:
        return "readers"
    if "postgres" in line:
        return "database"
    return "worker" if " worker" in line else "server"
