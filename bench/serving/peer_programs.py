"""Programs of others that do something like our commands: installed by whoever runs the bench."""

import os
import resource
import shutil
import sqlite3
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LIMIT_S = 300


@dataclass(frozen=True, slots=True)
class Peer:
    """One program with the documents of the bench, and its words for ours."""

    name: str
    program: Path
    home: Path
    words: Mapping[str, tuple[str, ...]]

    @property
    def version(self) -> str:
        return self.run("--version").stdout.decode().strip()[:80]

    def run(self, *words: str) -> "subprocess.CompletedProcess[bytes]":
        """One command, to its end."""
        return subprocess.run(
            [str(self.program), *words],
            env={"PATH": f"{self.program.parent}:{os.environ['PATH']}", "HOME": str(self.home)},
            cwd=self.home,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=LIMIT_S,
            check=False,
        )

    def measure(self, ours: str, runs: int) -> dict[str, Any]:
        """The least CPU and wall seconds of its words for ours, and how it ended."""
        timed: list[tuple[float, float, int]] = []
        for _ in range(runs):
            used, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
            code = self.run(*self.words[ours]).returncode
            now = resource.getrusage(resource.RUSAGE_CHILDREN)
            cpu = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
            timed.append((cpu, time.monotonic() - began, code))
        return {
            "words": " ".join(self.words[ours]),
            "exit": timed[-1][2],
            "cpu_s": round(min(it[0] for it in timed), 3),
            "wall_s": round(min(it[1] for it in timed), 3),
        }


def open_peers(programs: Path, scratch: Path, documents: Path) -> list[Peer]:
    """Those that are installed, each with the documents indexed in a home of its own."""
    found: list[Peer] = []
    for build in (_basic_memory, _datasette, _qmd):
        peer = build(programs, scratch)
        if peer.program.exists():
            # A copy: some write into the files that they index.
            own = shutil.copytree(documents, peer.home / "handbook")
            SETUPS[peer.name](peer, own)
            found.append(peer)
    return found


def _basic_memory(programs: Path, scratch: Path) -> Peer:
    here = ("--project", "handbook")
    words = {
        "--help": ("--help",),
        "start --help": ("mcp", "--help"),
        "source --help": ("project", "--help"),
        "source list": ("project", "list"),
        "status": ("status", *here),
        "search stolen bike": ("tool", "search-notes", "stolen bike", *here),
        "read wiki:handbook/runbooks/stolen-bike.md": (
            *("tool", "read-note", "runbooks/stolen-bike"),
            *here,
        ),
        "recall loan bikes": ("tool", "search-notes", "loan bikes", *here),
    }
    program = programs / "basic-memory" / "bin" / "basic-memory"
    return Peer("basic-memory", program, scratch / "basic-memory", words)


def _datasette(programs: Path, scratch: Path) -> Peer:
    get = ("docs.db", "--get")
    words = {
        "--help": ("--help",),
        "start --help": ("serve", "--help"),
        "call --list": ("plugins",),
        "source list": (*get, "/-/databases.json"),
        "search stolen bike": (*get, "/docs/docs.json?_search=stolen+bike"),
        "read wiki:handbook/runbooks/stolen-bike.md": (
            *get,
            "/docs/docs.json?path=runbooks/stolen-bike.md",
        ),
    }
    program = programs / "datasette" / "bin" / "datasette"
    return Peer("datasette", program, scratch / "datasette", words)


def _qmd(programs: Path, scratch: Path) -> Peer:
    words = {
        "--help": ("--help",),
        "source list": ("collection", "list"),
        "status": ("status",),
        "search stolen bike": ("search", "stolen bike"),
        "read wiki:handbook/runbooks/stolen-bike.md": (
            "get",
            "qmd://handbook/runbooks/stolen-bike.md",
        ),
    }
    return Peer("qmd", programs / "qmd" / "node_modules" / ".bin" / "qmd", scratch / "qmd", words)


def _index_basic_memory(peer: Peer, documents: Path) -> None:
    """Added, and not indexed: its MCP server does that, and no command of its own. A search finds
    nothing then, which takes no longer."""
    peer.run("project", "add", "handbook", str(documents))


def _index_datasette(peer: Peer, documents: Path) -> None:
    """A table with a full-text index, as `sqlite-utils` would make it."""
    with sqlite3.connect(peer.home / "docs.db") as made:
        made.execute("CREATE TABLE docs (path TEXT PRIMARY KEY, text TEXT)")
        for it in sorted(documents.rglob("*.md")):
            row = (str(it.relative_to(documents)), it.read_text(encoding="utf-8"))
            made.execute("INSERT INTO docs VALUES (?, ?)", row)
        made.execute("CREATE VIRTUAL TABLE docs_fts USING fts5(path, text, content=docs)")
        made.execute("INSERT INTO docs_fts (docs_fts) VALUES ('rebuild')")


def _index_qmd(peer: Peer, documents: Path) -> None:
    peer.run("collection", "add", str(documents), "--name", "handbook")
    peer.run("update")


SETUPS = {
    "basic-memory": _index_basic_memory,
    "datasette": _index_datasette,
    "qmd": _index_qmd,
}
