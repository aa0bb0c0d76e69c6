"""How long `pecia start` takes to its first answer, cold and warm, and what it holds when idle."""

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import psutil

from bench import result

WARM_ROUNDS = 5
IDLE_S = 10


class Server:
    """One `pecia start` in a home of its own."""

    def __init__(self, home: Path) -> None:
        folder = home / "notes"
        folder.mkdir(exist_ok=True)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        # Nothing else of this shell: a start that may not keep its bytecode compiles every module.
        environ = {
            "PATH": os.environ["PATH"],
            "PECIA_HOME": str(home / "pecia"),
            "HOME": str(home),
        }
        command = [sys.executable, "-m", "pecia", "start", str(folder), "--port", str(port)]
        self.started = time.perf_counter()
        self.process = subprocess.Popen(
            command, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def first_answer_s(self) -> float:
        """Seconds from the command to the first tool that answered."""
        while True:
            with suppress(URLError, ConnectionError):
                with urlopen(f"{self.url}/api/v1/lake/list_sources") as answer:
                    json.load(answer)
                return round(time.perf_counter() - self.started, 2)
            time.sleep(0.01)

    def memory_mb(self) -> dict[str, float]:
        """Resident memory of the server itself, and of the worker child."""
        server = psutil.Process(self.process.pid)
        # One that was forked has the command of its server.
        worker = [
            it
            for it in server.children()
            if "worker" in it.cmdline() or it.cmdline() == server.cmdline()
        ]
        return {
            "server": round(server.memory_info().rss / 1e6, 1),
            "worker": round(sum(it.memory_info().rss for it in worker) / 1e6, 1),
        }

    def stop(self) -> float:
        began = time.perf_counter()
        self.process.terminate()
        self.process.wait(30)
        return round(time.perf_counter() - began, 2)


def measure(home: Path) -> dict[str, Any]:
    cold = Server(home)
    figures: dict[str, Any] = {"cold_s": cold.first_answer_s()}
    cold.stop()
    warm: list[float] = []
    for _ in range(WARM_ROUNDS):
        server = Server(home)
        warm.append(server.first_answer_s())
        figures["stop_s"] = server.stop()
    figures |= {"warm_s": sorted(warm)[len(warm) // 2], "warm_all_s": warm, "warm_target_s": 1.2}
    idle = Server(home)
    idle.first_answer_s()
    time.sleep(IDLE_S)
    figures |= {"idle_mb": idle.memory_mb(), "idle_target_mb": 200}
    idle.stop()
    return figures


def main() -> Path:
    with tempfile.TemporaryDirectory() as folder:
        return result.write("startup", measure(Path(folder)))
