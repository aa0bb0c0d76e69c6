"""What a person is told when the server runs: where it is, how to wire a client, what to try."""

import json
import os
import shutil
import sys
from pathlib import Path

from pecia.doors.cli.lock import ServerLock
from pecia.doors.cli.render import printable
from pecia.doors.cli.terminal import Terminal
from pecia.kernel.errors import Json


def welcome(terminal: Terminal, lock: ServerLock, space: Json) -> None:
    """Print it once, as soon as requests are answered."""
    terminal.give(document(lock, space), lambda it: _show(it, lock, space))


def document(lock: ServerLock, space: Json) -> dict[str, Json]:
    """The same for a program."""
    return {**lock.as_json(), "space": space, "mcp": snippets(lock.url)}


def snippets(url: str) -> dict[str, Json]:
    """What goes into the configuration of each client: by address, or as a process it starts."""
    address: dict[str, Json] = {"url": f"{url}/mcp"}
    typed: dict[str, Json] = {"type": "http", **address}
    return {
        "claude-code": {"mcpServers": {"pecia": typed}},
        "claude-desktop": {"mcpServers": {"pecia": _stdio()}},
        "cursor": {"mcpServers": {"pecia": address}},
        "vscode": {"servers": {"pecia": typed}},
        "windsurf": {"mcpServers": {"pecia": {"serverUrl": f"{url}/mcp"}}},
        "stdio": {"mcpServers": {"pecia": _stdio()}},
    }


def program(*, for_another: bool) -> str:
    """How this program is called: by name where that finds it, else by its path.

    Another program that starts it may stand in another folder, so it needs the whole path.
    """
    own = Path(sys.argv[0]).absolute()
    found = shutil.which("pecia")
    if found and Path(found).absolute() == own:
        return "pecia"
    if own.name != "pecia":
        return "pecia"
    return str(own) if for_another else os.path.relpath(own)


def _stdio() -> dict[str, Json]:
    return {"command": program(for_another=True), "args": ["mcp"]}


def _show(terminal: Terminal, lock: ServerLock, space: Json) -> None:
    terminal.line(f"Pecia {lock.version} is at {lock.url}")
    if isinstance(space, dict):
        terminal.line(f"serving {printable(str(space['folder']))} as {space['source_id']}")
    terminal.line()
    terminal.line("Give it to an agent, by address or as a process that it starts; `pecia init`")
    terminal.line("adds it to every editor found here:")
    terminal.line(f"  Claude Code     claude mcp add --transport http pecia {lock.url}/mcp")
    terminal.line(
        f"  Cursor          {_json({'mcpServers': {'pecia': {'url': lock.url + '/mcp'}}})}"
    )
    terminal.line(f"  VS Code         {_json(snippets(lock.url)['vscode'])}")
    terminal.line(f"  Windsurf        {_json(snippets(lock.url)['windsurf'])}")
    terminal.line(f"  Claude Desktop  {_json(snippets(lock.url)['stdio'])}")
    terminal.line()
    terminal.line("Try:")
    terminal.line(f"  {program(for_another=False)} call lake.search_content --query WORDS")
    terminal.line(f"  {program(for_another=False)} call lake.list_sources")
    terminal.line(f"  curl {lock.url}/api/v1/lake/list_sources")
    terminal.out.flush()


def _json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)
