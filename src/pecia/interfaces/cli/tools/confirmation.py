"""A person's yes at the command line: to what a command asks for itself, and to what agents did."""

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
    id: str | None = typer.Argument(None, help="Which one; unset: list what waits."),
    yes: bool = typer.Option(False, "--yes", help="Ask nothing more."),
    refuse: bool = typer.Option(False, "--refuse", help="Say no."),
) -> None:
    """Say yes to what an agent asked for: a program to run, a folder to read, tools to approve."""
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
                f"nothing waits under {id!r}: it was answered, or is too old", hint="pecia confirm"
            )
        said = "refuse" if refuse else "confirm"
        if not refuse and not yes:
            _require_yes(terminal, str(found["question"]), hint=f"pecia confirm {id} --yes")
        tools.answer_confirmation(id, said)
    told = "Confirmed: the same call now does it." if said == "confirm" else "Refused."
    terminal.print_result({"confirmation": id, "answer": said}, lambda it: it.print_line(told))


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
    """What the tool gives. Where it wants a person's yes, the one who typed the command gives it.

    Who names a folder in a command has said all there is to say; a program and the words of a
    server are shown first.
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
    """The same for a command that the owner ran with these very words, or wrote into a file."""
    for _ in range(MAX_CONFIRMATIONS):
        try:
            return server.call(path, arguments)
        except ConfirmationRequired as asked:
            # Another command with the same words may spend this yes before us.
            server.answer_confirmation(str(asked.fields["confirmation"]), "confirm")
    return server.call(path, arguments)


def _require_yes(terminal: Terminal, question: str, *, hint: str) -> None:
    if not can_ask(terminal):
        raise ConfirmationRequired(f"nobody is here to be asked: {question}", hint=hint)
    terminal.info(question)
    sys.stderr.write("[y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in YES_ANSWERS:
        raise Forbidden("you said no", hint=hint)


def _show_pending(terminal: Terminal, waiting: list[dict[str, Json]]) -> None:
    if not waiting:
        terminal.print_line("Nothing waits for you.")
    for it in waiting:
        terminal.print_line(f"{it['id']}  {it['tool']}, asked as {it['user']}")
        for line in str(it["question"]).splitlines():
            terminal.print_line(f"    {line}")
        terminal.print_line(f"  Yes: pecia confirm {it['id']}")


def _find_server(terminal: Terminal, settings: "Settings") -> ServerClient:
    from pecia.interfaces.cli.server.credentials import read_owner_token
    from pecia.interfaces.cli.server.discover import find_running_server, warn_version_mismatch
    from pecia.interfaces.cli.server.home import START, require_home

    found = find_running_server(settings.kernel.home)
    if found is None:
        require_home(settings.kernel)
        raise Unavailable(f"no server runs for {settings.kernel.home}", hint=START)
    warn_version_mismatch(terminal, found)
    return ServerClient(found.lock.url, read_owner_token(settings.kernel.home))
