"""Which modules a command imports: counted, so that none grows slow unnoticed. Real processes."""

import json
import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from pecia import __version__
from pecia.interfaces.cli.command_table import COMMANDS
from pecia.interfaces.cli.server.lock import ServerLock, claim_home, home_lock_path, write_lock

# What no command needs that asks a running server.
HEAVY = (
    *("psycopg", "pydantic", "typer", "rich", "httpx", "httpx2", "anyio", "starlette", "mcp"),
    *("ruamel", "numpy", "orjson", "cryptography", "pecia.app", "pecia.features"),
)
MAX_FOR_HELP = 95
MAX_FOR_HELP_OF_A_COMMAND = 100
MAX_FOR_TOOL = 215
"""Modules in all, those of Python included."""

MODULES: dict[str, int] = {
    "completion bash": 110,
    "status": 205,
    "call --list": 210,
    "call lake.list_sources": 210,
    "search bike": 212,
    "ask bike": 210,
    "read papers/a.md": 207,
    "recall bike": 210,
    "remember bikes": 210,
    "source list": 210,
    "user list": 210,
    "space list": 210,
    "memory list": 210,
    "audit": 210,
    # Parsed by Typer, which takes pydantic.
    "init --dry-run": 345,
    "config home": 385,
}
"""How many modules a command may import beside a running server."""

REPORT = """
import sys
from pecia.interfaces.cli.main import run
code = run(sys.argv[1:])
sys.stdout.flush()
print("\\n" + " ".join(sys.modules), file=sys.stderr)
sys.exit(code)
"""

TOOL = {
    "name": "lake.list_sources",
    "toolset": "lake",
    "path": "/api/v1/lake/list_sources",
    "description": "Sources.",
    "scope": "pecia.read",
    "input_schema": {"properties": {"limit": {"type": "integer"}}},
    "output_schema": None,
}
HEALTH = {"status": "ok", "version": __version__, "mode": "local", "instance": "one"}
SOURCE = {"source_id": "papers", "title": "Papers"}
HIT = {"title": "A", "source_id": "papers", "key": "a.md", "page_no": 1, "snippet": "a", "rank": 1}
QUOTED = {"number": 1, "uri": "pecia://file/papers/a.md", "title": "A", "kind": "original"}
MEMORY = {"id": "1", "text": "a", "event": "ADD"}
CHUNK = {"char_start": 0, "char_end": 1, "page_no": 1, "text": "a"}
# Whatever a command asks for, all at once.
ANSWER: dict[str, Any] = {
    "sources": [SOURCE],
    "users": [],
    "hits": [HIT],
    "results": [MEMORY],
    "next_cursor": None,
    "outcome": "passages",
    "sentences": [],
    "used_model": False,
    "quotations": [{**QUOTED, "revision": 1, "start": 0, "end": 1, "text": "a"}],
    "memory": [MEMORY],
    "skippedReasons": [],
    "chunks": [CHUNK],
    "title": "A",
    "revision": 1,
    "status": "ok",
    "reason": "",
}


class Answers(BaseHTTPRequestHandler):
    """Answers as a server with one source does."""

    def do_GET(self) -> None:
        tools = {"tools": [TOOL], "next_cursor": None}
        pages: dict[str, Any] = {"/healthz": HEALTH, "/readyz": {"checks": {}}}
        is_list = self.path.startswith("/api/v1/tools?")
        self._send(pages.get(self.path) or (tools if is_list else TOOL))

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self._send(ANSWER)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""

    def _send(self, document: Any) -> None:
        body = json.dumps(document).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def served(home: Path) -> Generator[None]:
    home.mkdir()
    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server, claim_home(home):
        url = f"http://127.0.0.1:{server.server_port}"
        started = "2026-01-01T00:00:00+00:00"
        lock = ServerLock(
            url, server.server_port, os.getpid(), __version__, str(home), "one", started
        )
        write_lock(home_lock_path(home), lock)
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield
        server.shutdown()
        thread.join()


def imported(root: Path, *words: str) -> tuple[str, set[str]]:
    """What a command printed, and the modules of its process."""
    done = subprocess.run(
        [sys.executable, "-c", REPORT, *words],
        env={"PATH": os.environ["PATH"], "HOME": str(root), "PECIA_HOME": str(root / "home")},
        cwd=root,
        capture_output=True,
        text=True,
        timeout=60,
    )
    said, _, modules = done.stderr.rpartition("\n\n") if "\n\n" in done.stderr else ("", "", "")
    assert done.returncode in (0, 2), (said, done.stderr)
    return done.stdout, {*(modules or done.stderr).split()}


def heavy(modules: set[str]) -> set[str]:
    return {it for it in HEAVY if any(name == it or name.startswith(f"{it}.") for name in modules)}


@pytest.mark.parametrize(
    "words",
    [
        ("--help",),
        ("-h",),
        ("--version",),
        ("source", "--help"),
        ("__complete", "sou"),
        ("__complete", "source", ""),
    ],
    ids=" ".join,
)
def test_help_and_completion_of_commands_import_next_to_nothing(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    out, modules = imported(tmp_path, *words)
    assert out
    assert heavy(modules) == set()
    assert "pecia.kernel.errors" not in modules
    assert len(modules) <= MAX_FOR_HELP, len(modules)


@pytest.mark.parametrize(
    "words",
    [
        ("source", "list"),
        ("call", "lake.list_sources"),
        ("call", "lake.list_sources", "--help"),
        ("call", "--list"),
        ("status",),
        ("__complete", "call", ""),
        ("__complete", "source", "crawl", ""),
    ],
    ids=" ".join,
)
def test_a_command_that_asks_a_server_imports_neither_features_nor_the_database(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    with served(tmp_path / "home"):
        out, modules = imported(tmp_path, *words)
    assert out
    assert heavy(modules) == set()
    assert len(modules) <= MAX_FOR_TOOL, len(modules)


def test_a_configuration_file_without_a_home_is_not_parsed_to_ask_a_server(tmp_path: Path) -> None:
    file = tmp_path / "mine.yml"
    file.write_text("port: 7000\n")
    with served(tmp_path / "home"):
        _, modules = imported(tmp_path, "--config", str(file), "source", "list")
    assert heavy(modules) == set()


def test_one_that_may_name_a_home_is(tmp_path: Path) -> None:
    file = tmp_path / "mine.yml"
    file.write_text(f"home: {tmp_path / 'other'}\n")
    _, modules = imported(tmp_path, "--config", str(file), "config", "home", "--json")
    assert "ruamel" in heavy(modules)


@pytest.mark.parametrize("command", [it.words for it in COMMANDS if it.words != "call"])
def test_the_help_of_a_command_imports_next_to_nothing(command: str, tmp_path: Path) -> None:
    out, modules = imported(tmp_path, *command.split(), "--help")
    assert out.startswith(f"Usage: pecia {command} ")
    assert heavy(modules) == set()
    assert len(modules) <= MAX_FOR_HELP_OF_A_COMMAND, len(modules)


@pytest.mark.parametrize("command", MODULES)
def test_a_command_imports_no_more_modules_than_it_is_allowed(command: str, tmp_path: Path) -> None:
    with served(tmp_path / "home"):
        out, modules = imported(tmp_path, *command.split())
    assert out
    assert len(modules) <= MODULES[command], len(modules)
