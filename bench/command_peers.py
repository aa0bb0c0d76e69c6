"""The commands of other programs that come nearest to ours, over the same handbook.

Each is prepared as its documentation says, and its search is tried before anything is measured:
a program that searches an index it never built would be fast for nothing.
"""

import os
import resource
import shlex
import shutil
import sqlite3
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

LIMIT_S = 300
PROOF = "Stolen or missing bike"
"""The title of what a search for `stolen bike` must find."""


@dataclass(frozen=True, slots=True)
class Peer:
    """A program, the words for each of our commands that it has a like of, and its preparation."""

    words: Mapping[str, str]
    prepare: Callable[["PreparedPeer", Path], None]


@dataclass(frozen=True, slots=True)
class PreparedPeer:
    program: tuple[str, ...]
    home: Path

    @property
    def version(self) -> str:
        """What it says of itself, in one line."""
        _, _, printed = self.run("--version")
        return printed.strip().partition("\n")[0]

    def run(self, words: str, given: str = "") -> tuple[float, float, str]:
        """CPU and wall seconds of one command, and what it printed."""
        used, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        done = subprocess.run(
            [*self.program, *shlex.split(words)],
            env={"PATH": os.environ["PATH"], "HOME": str(self.home)},
            cwd=self.home,
            input=given,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
        now = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
        return cpu, time.monotonic() - began, done.stdout + done.stderr


def prepare_peer(name: str, program: str, root: Path, handbook: Path) -> PreparedPeer:
    """The program over a copy of the handbook, with a home of its own; its search works."""
    home = root / name
    shutil.copytree(handbook, home / "handbook")
    peer = PreparedPeer(tuple(shlex.split(program)), home)
    PEERS[name].prepare(peer, home / "handbook")
    _, _, found = peer.run(PEERS[name].words["search stolen bike"])
    if PROOF not in found:
        raise RuntimeError(f"{name} does not find {PROOF!r}:\n{found[-2000:]}")
    return peer


def _fill_table(peer: PreparedPeer, handbook: Path) -> None:
    with sqlite3.connect(peer.home / "notes.db") as database:
        database.execute("CREATE TABLE documents (path TEXT PRIMARY KEY, text TEXT)")
        database.executemany(
            "INSERT INTO documents VALUES (?, ?)",
            [
                (it.relative_to(handbook).as_posix(), it.read_text())
                for it in handbook.rglob("*.md")
            ],
        )
        database.execute("CREATE VIRTUAL TABLE documents_fts USING fts5(text, content=documents)")
        database.execute("INSERT INTO documents_fts (documents_fts) VALUES ('rebuild')")


def _add_collection(peer: PreparedPeer, handbook: Path) -> None:
    peer.run(f"collection add {handbook} --name handbook")


def _add_project(peer: PreparedPeer, handbook: Path) -> None:
    peer.run(f"project add handbook {handbook} --default")
    peer.run("reset --reindex", given="y\n")


PEERS = {
    "datasette": Peer(
        {
            "--help": "--help",
            "start --help": "serve --help",
            "call --list": "plugins --all",
            "call lake.list_sources": "notes.db --get /-/databases.json",
            "status": "notes.db --get /-/versions.json",
            "search stolen bike": "notes.db --get '/notes/documents.json?_search=stolen+bike'",
            "read wiki:handbook/runbooks/stolen-bike.md": (
                "notes.db --get '/notes/documents.json?path=runbooks/stolen-bike.md'"
            ),
        },
        _fill_table,
    ),
    "qmd": Peer(
        {
            "--help": "--help",
            "call lake.list_sources": "collection list",
            "source list": "collection list",
            "status": "status",
            "search stolen bike": "search 'stolen bike'",
            "read wiki:handbook/runbooks/stolen-bike.md": (
                "get qmd://handbook/runbooks/stolen-bike.md"
            ),
        },
        _add_collection,
    ),
    "basic-memory": Peer(
        {
            "--help": "--help",
            "start --help": "mcp --help",
            "source --help": "project --help",
            "source add --help": "project add --help",
            "call --list": "tool --help",
            "call lake.list_sources": "project list",
            "source list": "project list",
            "status": "status",
            "search stolen bike": "tool search-notes 'stolen bike'",
            "read wiki:handbook/runbooks/stolen-bike.md": "tool read-note runbooks/stolen-bike",
            "recall loan bikes": "tool search-notes 'loan bikes'",
        },
        _add_project,
    ),
}
