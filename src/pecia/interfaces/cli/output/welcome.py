"""The message when the server is up: its address, how to connect a client, what to try."""

import json
import shutil
import sys
from pathlib import Path

from pecia.interfaces.cli.output.render import escape_unprintable
from pecia.interfaces.cli.output.terminal import Terminal
from pecia.interfaces.cli.server.lock import ServerLock
from pecia.kernel.errors import Json


def print_welcome(terminal: Terminal, lock: ServerLock, space: Json) -> None:
    """Print it once, as soon as requests are answered."""
    terminal.print_result(
        welcome_document(lock, space), lambda it: _print_instructions(it, lock, space)
    )


def welcome_document(lock: ServerLock, space: Json) -> dict[str, Json]:
    """The same for a program."""
    return {**lock.as_json(), "space": space, "mcp": client_snippets(lock.url)}


def client_snippets(url: str) -> dict[str, Json]:
    """The configuration snippet of each client: by URL, or as a process that it starts."""
    address: dict[str, Json] = {"url": f"{url}/mcp"}
    typed: dict[str, Json] = {"type": "http", **address}
    return {
        "claude-code": {"mcpServers": {"pecia": typed}},
        "claude-desktop": {"mcpServers": {"pecia": _stdio_entry()}},
        "cursor": {"mcpServers": {"pecia": address}},
        "vscode": {"servers": {"pecia": typed}},
        "windsurf": {"mcpServers": {"pecia": {"serverUrl": f"{url}/mcp"}}},
        "stdio": {"mcpServers": {"pecia": _stdio_entry()}},
    }


def program_name() -> str:
    """The command for this program, from any folder: its name if on PATH, else its full path."""
    own = Path(sys.argv[0]).absolute()
    found = shutil.which("pecia")
    if found and Path(found).absolute() == own:
        return "pecia"
    if own.name != "pecia":
        return "pecia"
    return str(own)


def _stdio_entry() -> dict[str, Json]:
    return {"command": program_name(), "args": ["mcp"]}


def _print_instructions(terminal: Terminal, lock: ServerLock, space: Json) -> None:
    terminal.print_line(f"Pecia {lock.version} is at {lock.url}")
    if isinstance(space, dict):
        terminal.print_line(
            f"serving {escape_unprintable(str(space['folder']))} as {space['source_id']}"
        )
        if note := space.get("note"):
            terminal.print_line(f"note: {escape_unprintable(str(note))}")
    terminal.print_line()
    terminal.print_line("Connect an agent by URL or as a process that it starts; `pecia init`")
    terminal.print_line("adds it to every editor found here:")
    terminal.print_line(f"  Claude Code     claude mcp add --transport http pecia {lock.url}/mcp")
    terminal.print_line(
        f"  Cursor          {_json({'mcpServers': {'pecia': {'url': lock.url + '/mcp'}}})}"
    )
    terminal.print_line(f"  VS Code         {_json(client_snippets(lock.url)['vscode'])}")
    terminal.print_line(f"  Windsurf        {_json(client_snippets(lock.url)['windsurf'])}")
    terminal.print_line(f"  Claude Desktop  {_json(client_snippets(lock.url)['stdio'])}")
    terminal.print_line()
    terminal.print_line("Try:")
    terminal.print_line(f"  {program_name()} search WORDS")
    terminal.print_line(f"  {program_name()} open          the console, in a browser")
    terminal.print_line(f"  curl {lock.url}/api/v1/lake/list_sources")
    terminal.stdout.flush()


def _json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)
