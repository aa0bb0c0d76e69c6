"""What a start costs: processor time, memory and time to the first right answer, of this tree and
of another one, in turns.

    python -m bench.start --before /path/to/other/checkout --out bench/results/start.json
    python -m bench.start --collection shared/data/scifact --embed-s 60

Memory is PSS, summed over every process of an install; what processes share counts once. Processor
time is that of all of them, from the command to the answer. On a busy machine only these and the
ratio of two trees mean anything.
"""

import argparse
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

import psutil

from pecia.app.evaluation.beir import read_collection
from pecia.kernel.store.cluster import ClusterOptions
from pecia.kernel.store.cluster.paths import find_cluster_paths

ROOT = Path(__file__).parents[1]
SMALL, LARGE = 144, 5_183
LIMIT_S = 900
SYLLABLES = ("ba", "de", "fi", "go", "ka", "le", "mi", "no", "pa", "ru", "se", "to", "va", "zi")


@dataclass(slots=True)
class Install:
    """A server over one folder, with a home of its own."""

    tree: Path
    root: Path
    process: "subprocess.Popen[bytes] | None" = None
    port: int = 0
    cpu_s: dict[int, float] = field(default_factory=dict[int, float])
    peak: dict[str, float] = field(default_factory=dict[str, float])

    def start(self) -> None:
        self.port = _free_port()
        words = ["start", str(self.root / "docs"), "--port", str(self.port), "--no-ask"]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "pecia", *words],
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(self.root),
                "PECIA_HOME": str(self.root / "home"),
                "PYTHONPATH": str(self.tree / "src"),
            },
            cwd=self.root,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def stop(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)

    def call(self, tool: str, **arguments: Any) -> Any:
        """A tool's answer; None while nothing answers."""
        body = json.dumps(arguments).encode()
        url = f"http://127.0.0.1:{self.port}/api/v1/{tool}"
        try:
            with urlopen(Request(url, body, {"content-type": "application/json"})) as answer:
                return json.load(answer)
        except (URLError, ConnectionError):
            return None

    def finds(self, number: int) -> bool:
        """Whether the file of that number is the first hit for its own word."""
        found = self.call("lake/search_content", query=f"marker{number}", mode="lexical")
        return bool(found and found["hits"] and f"doc{number}." in found["hits"][0]["key"])

    def sample(self) -> None:
        """Processor time and memory of every process of this install, now."""
        memory: dict[str, float] = defaultdict(float)
        for it in self._processes():
            try:
                times = it.cpu_times()
                self.cpu_s[it.pid] = times.user + times.system
                memory[self._kind(it)] += it.memory_full_info().pss / 2**20
            except psutil.Error:
                continue
        if sum(memory.values()) > sum(self.peak.values()):
            self.peak = dict(memory)

    def _processes(self) -> set[psutil.Process]:
        """The server and PostgreSQL, which is nobody's child, with all their children."""
        assert self.process is not None
        paths = find_cluster_paths(self.root / "home", ClusterOptions().system)
        found = {psutil.Process(self.process.pid)}
        if paths is not None:
            found |= {it for it in psutil.process_iter() if _mentions(it, str(paths.root))}
        return found | {child for it in found for child in it.children(recursive=True)}

    def _kind(self, it: psutil.Process) -> str:
        assert self.process is not None
        if it.pid == self.process.pid:
            return "server"
        words = " ".join(it.cmdline())
        known = ("extraction.child", "keeper.py", "model_process", "postgres")
        # A worker that was forked has the command of its server.
        return next((name for name in known if name in words), "worker")


def _mentions(it: psutil.Process, text: str) -> bool:
    try:
        return any(text in word for word in it.cmdline())
    except psutil.Error:
        return False


def main() -> str:
    """Without another tree, this one alone."""
    given = argparse.ArgumentParser()
    given.add_argument("--before", type=Path)
    given.add_argument(
        "--collection", type=Path, help="A BEIR collection whose documents are the files."
    )
    given.add_argument("--rounds", type=int, default=2)
    given.add_argument("--files", type=int, default=LARGE)
    given.add_argument(
        "--embed-s", type=float, default=LIMIT_S, help="Wait at most so long for embeddings."
    )
    given.add_argument("--out", type=Path, default=ROOT / "bench" / "results" / "start.json")
    asked, _ = given.parse_known_args()
    trees = {**({"before": asked.before.resolve()} if asked.before else {}), "after": ROOT}
    found: dict[str, Any] = {"load": os.getloadavg()[0], "cores": os.cpu_count()}
    texts = _read_texts(asked.collection) if asked.collection else _invent_texts()
    written = [*islice(texts, max(SMALL, asked.files))]
    for name, files in (("small", SMALL), ("large", asked.files)):
        rounds = asked.rounds if name == "small" else 1
        rows = [
            {it: _measure(tree, written[:files], asked.embed_s) for it, tree in trees.items()}
            for _ in range(rounds)
        ]
        found[name] = {"files": files, "rounds": rows}
    found["load_at_end"] = os.getloadavg()[0]
    asked.out.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    return json.dumps(found, indent=1)


def _measure(tree: Path, texts: Sequence[str], embed_s: float) -> dict[str, Any]:
    """A new home over a folder of these files: started, all found; then started again."""
    root = Path(tempfile.mkdtemp(prefix="pecia-start-"))
    try:
        _write_files(root / "docs", texts)
        first = _run(Install(tree, root), len(texts), embed_s)
        again = _run(Install(tree, root), 0, embed_s)
        return {"first": first, "again": again}
    finally:
        shutil.rmtree(root, ignore_errors=True)


def _run(install: Install, files: int, embed_s: float) -> dict[str, Any]:
    began = time.monotonic()
    install.start()
    reached: dict[str, Any] = {}

    def note(name: str) -> None:
        install.sample()
        reached[name] = {
            "wall_s": round(time.monotonic() - began, 2),
            "cpu_s": round(sum(install.cpu_s.values()), 2),
        }

    try:
        _wait(lambda: install.call("lake/list_sources") is not None, install)
        note("answers")
        if files:
            _wait(lambda: install.finds(0), install)
            note("finds_the_first_file")
            _wait(lambda: install.finds(files - 1) and _is_done(install, files), install)
            note("has_read_all")
            until = time.monotonic() + embed_s
            _wait(lambda: _is_embedded(install) or time.monotonic() > until, install)
            note("has_embedded_all" if _is_embedded(install) else "while_embedding")
    finally:
        install.stop()
    peak = {name: round(it) for name, it in sorted(install.peak.items())}
    return {**reached, "peak_pss_mb": round(sum(install.peak.values())), "peak_by_process": peak}


def _wait(done: Any, install: Install) -> None:
    until = time.monotonic() + LIMIT_S
    while not done():
        install.sample()
        if time.monotonic() > until:
            raise TimeoutError
        time.sleep(0.1)


def _is_done(install: Install, files: int) -> bool:
    found = install.call("admin/source_stats", source_id="wiki:docs")
    return bool(found) and found["indexed"] >= files


def _is_embedded(install: Install) -> bool:
    found = install.call("lake/search_content", query="marker", mode="hybrid")
    return bool(found) and not found.get("degraded")


def _write_files(folder: Path, texts: Sequence[str]) -> None:
    """Each text as Markdown, with a word that no other has."""
    for number, text in enumerate(texts):
        target = folder / f"{number % 40:02}" / f"doc{number}.md"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(f"{text}\n\nmarker{number}\n", encoding="utf-8")


def _read_texts(collection: Path) -> Iterator[str]:
    return (f"# {it.title}\n\n{it.text}" for it in read_collection(collection).documents)


def _invent_texts() -> Iterator[str]:
    """Markdown of about 1,600 characters in no language, the same for every tree. What is not
    English is embedded by the larger of two models."""
    said = random.Random(7)
    words = ["".join(said.choices(SYLLABLES, k=said.randint(2, 4))) for _ in range(20_000)]
    weights = [1 / (it + 5) for it in range(len(words))]
    while True:
        lines = [" ".join(said.choices(words, weights, k=14)).capitalize() for _ in range(16)]
        yield f"# {lines[0]}\n\n" + ".\n\n".join(lines[1:])


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


if __name__ == "__main__":
    print(main())
