"""One node under 500 clients for three minutes: most call now and then, one has 200 calls at once.

What counts: failures other than refusals that say when to come back (none), how long a client waits
that sends one search a second, alone and under load, and that the server's memory stays flat.
`PECIA_BENCH_SCALE=0.17 PECIA_BENCH_CLIENTS=60 python -m bench load` plays half a minute with 60
clients. Such a run writes `load-short.json` and proves nothing but that the bench works.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from bench import result
from bench.serving.asgi import SCALE
from bench.serving.fastmcp_venv import ROOT

WHOLE = 500
CLIENTS = int(os.environ.get("PECIA_BENCH_CLIENTS", str(WHOLE)))
PARALLEL = 200
SECONDS = 180 * SCALE
QUIET_S = max(10.0, 60 * SCALE)
FILES = 2000
LOOK_S = 1.0


@dataclass
class Memory:
    """The server's memory while it works, in MB."""

    pid: int
    seen_mb: list[float] = field(default_factory=list[float])
    over: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def watched(self) -> Generator[None]:
        thread = threading.Thread(target=self._watch, daemon=True)
        thread.start()
        yield
        self.over.set()
        thread.join()

    def _watch(self) -> None:
        process = psutil.Process(self.pid)
        while not self.over.wait(LOOK_S):
            self.seen_mb.append(round(process.memory_info().rss / 1e6, 1))

    def figures(self) -> dict[str, Any]:
        seen = self.seen_mb
        tenth = max(1, len(seen) // 10)
        return {"after_each_tenth_mb": seen[tenth - 1 :: tenth], "peak_mb": max(seen)}


@contextmanager
def child(*words: str) -> Generator["subprocess.Popen[str]"]:
    command = [sys.executable, "-m", *words]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            assert process.stdin is not None
            process.stdin.close()


def ask(process: "subprocess.Popen[str]", *what: object) -> Any:
    assert process.stdin is not None
    assert process.stdout is not None
    if what:
        process.stdin.write(json.dumps(what) + "\n")
        process.stdin.flush()
    return json.loads(process.stdout.readline())


def measure(home: Path) -> dict[str, Any]:
    server = ("bench.serving.load_server", str(home), str(CLIENTS), str(FILES))
    with child(*server) as serving, child("bench.serving.load_clients") as clients:
        port, tokens = ask(serving)
        # Warm-up: the first requests find empty caches, and do not count.
        ask(clients, port, tokens[:2], 3.0, 1)
        quiet = ask(clients, port, tokens[:2], QUIET_S, 0)["polite"]
        memory = Memory(serving.pid)
        with memory.watched():
            crowd = ask(clients, port, tokens, SECONDS, PARALLEL)
    return {
        "clients": CLIENTS,
        "greedy_parallel": PARALLEL,
        "seconds": SECONDS,
        "files": FILES,
        "polite_alone": quiet,
        **crowd,
        **_summed(quiet, crowd),
        "server_memory": memory.figures(),
    }


def _summed(quiet: dict[str, Any], crowd: dict[str, Any]) -> dict[str, Any]:
    counts: Counter[str] = Counter()
    for it in crowd.values():
        counts.update(it["counts"])
    failures = sum(sum(it["failures"].values()) for it in crowd.values())
    return {
        "counts": dict(counts),
        "answered_per_s": round(counts["200"] / SECONDS, 1),
        "failures": failures,
        "polite_p95_times_alone": round(crowd["polite"]["p95_ms"] / quiet["p95_ms"], 2),
        "target_times": 5,
    }


def main() -> Path:
    with tempfile.TemporaryDirectory(prefix="pecia-bench-") as folder:
        # PostgreSQL, run by any user, must be able to enter it.
        Path(folder).chmod(0o711)
        name = "load" if (CLIENTS, SCALE) == (WHOLE, 1.0) else "load-short"
        return result.write(name, measure(Path(folder)))
