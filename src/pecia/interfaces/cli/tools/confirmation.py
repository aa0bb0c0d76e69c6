"""Confirmations at the command line: for a command's own calls, and for those of agents."""

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

import typer

from pecia.interfaces.cli.editors import can_ask
from pecia.interfaces.cli.output.terminal import Terminal, terminal_of
from pecia.interfaces.cli.server.client import API, ServerClient
from pecia.interfaces.cli.settings import load_settings
from pecia.interfaces.cli.tools.backend import ToolBackend, ToolInfo, open_backend
from pecia.kernel.errors import ConfirmationRequired, Forbidden, Json, NotFound, Unavailable

if TYPE_CHECKING:
    from pecia.kernel.settings.load import Settings

MAX_CONFIRMATIONS = 5
YES_ANSWERS = frozenset({"y", "yes"})


def add_to(app: typer.Typer) -> None:
    app.command()(confirm)
    app.command("open")(open_console)


def confirm(
    ctx: typer.Context,
    id: str | None = typer.Argument(None, help="Which one. Unset: list the pending ones."),
    yes: bool = typer.Option(False, "--yes", help="Do not ask."),
    refuse: bool = typer.Option(False, "--refuse", help="Say no."),
) -> None:
    """Confirm what an agent requested: a program to run, a folder to read, tools to approve."""
    terminal = terminal_of(ctx)
    with open_backend(terminal, load_settings(terminal)) as tools:
        waiting = tools.list_confirmations()
        if id is None:
            terminal.print_result(
                {"confirmations": [*waiting]}, lambda it: _show_pending(it, waiting)
            )
            return
        found = next((it for it in waiting if it["id"] == id), None)
        if found is None:
            raise NotFound(
                f"no pending confirmation {id!r}: it was answered, or has expired",
                hint="pecia confirm",
            )
        answer = "refuse" if refuse else "confirm"
        if not refuse and not yes:
            _require_yes(terminal, str(found["question"]), hint=f"pecia confirm {id} --yes")
        tools.answer_confirmation(id, answer)
    message = "Confirmed: the agent can now repeat the call." if answer == "confirm" else "Refused."
    terminal.print_result({"confirmation": id, "answer": answer}, lambda it: it.print_line(message))


def open_console(
    ctx: typer.Context,
    browser: bool = typer.Option(True, help="Open it; else only print the link."),
) -> None:
    """Sign a browser in to the console of this machine's server, by a link that works once."""
    terminal = terminal_of(ctx)
    server = _find_server(terminal, load_settings(terminal))
    made = cast(dict[str, str], server.call(f"{API}/session/link", {}))
    if browser and can_ask(terminal):
        import webbrowser

        webbrowser.open(made["url"])
    terminal.print_result({"url": made["url"]}, lambda it: it.print_line(made["url"]))


def call_with_confirmation(
    terminal: Terminal,
    tools: ToolBackend,
    tool: ToolInfo,
    arguments: Mapping[str, Json],
    *,
    yes: bool,
) -> Json:
    """The result of the tool. Confirmations are answered by the person who typed the command.

    A folder named in the command needs no further question; a program and the descriptions of
    a server are shown first.
    """
    try:
        return tools.call(tool, arguments)
    except ConfirmationRequired as asked:
        name = str(asked.fields["confirmation"])
        if not yes and asked.fields.get("kind") != "folder":
            hint = f"add --yes, or: pecia confirm {name}"
            _require_yes(terminal, str(asked.fields["question"]), hint=hint)
        tools.answer_confirmation(name, "confirm")
    return tools.call(tool, arguments)


def call_as_owner(server: ServerClient, path: str, arguments: Mapping[str, Json]) -> Json:
    """The same for arguments that the owner typed or wrote into a file."""
    for _ in range(MAX_CONFIRMATIONS):
        try:
            return server.call(path, arguments)
        except ConfirmationRequired as asked:
            # Another command with the same arguments may use up this confirmation first.
            server.answer_confirmation(str(asked.fields["confirmation"]), "confirm")
    return server.call(path, arguments)


def _require_yes(terminal: Terminal, question: str, *, hint: str) -> None:
    if not can_ask(terminal):
        raise ConfirmationRequired(
            f"stdin is not a terminal, so this cannot be confirmed here: {question}", hint=hint
        )
    terminal.info(question)
    sys.stderr.write("[y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in YES_ANSWERS:
        raise Forbidden("you refused", hint=hint)


def _show_pending(terminal: Terminal, waiting: list[dict[str, Json]]) -> None:
    if not waiting:
        terminal.print_line("No pending confirmations.")
    for it in waiting:
        terminal.print_line(f"{it['id']}  {it['tool']}, asked as {it['user']}")
        for line in str(it["question"]).splitlines():
            terminal.print_line(f"    {line}")
        terminal.print_line(f"  Confirm: pecia confirm {it['id']}")


def _find_server(terminal: Terminal, settings: "Settings") -> ServerClient:
    from pecia.interfaces.cli.server.credentials import read_owner_token
    from pecia.interfaces.cli.server.discover import find_running_server, warn_version_mismatch
    from pecia.interfaces.cli.server.home import START, require_home

    found = find_running_server(settings.kernel.home)
    if found is None:
        require_home(settings.kernel)
        raise Unavailable(f"no server is running for {settings.kernel.home}", hint=START)
    warn_version_mismatch(terminal, found)
    return ServerClient(found.lock.url, read_owner_token(settings.kernel.home))
