"""`pecia confirm` and `pecia open`: what only a person does."""

from typing import cast

from pecia.interfaces.cli.editors import can_ask
from pecia.interfaces.cli.output.terminal import Terminal
from pecia.interfaces.cli.server.client import API, ServerClient
from pecia.interfaces.cli.server.credentials import read_owner_token
from pecia.interfaces.cli.server.discover import find_running_server, warn_version_mismatch
from pecia.interfaces.cli.server.home import START, require_home
from pecia.interfaces.cli.settings import find_home, load_settings
from pecia.interfaces.cli.tools.backend import open_backend
from pecia.interfaces.cli.tools.confirmation import require_yes
from pecia.interfaces.cli.tools.direct import CommandArguments, DirectCommand
from pecia.kernel.errors import Json, NotFound, Unavailable


def confirm(terminal: Terminal, given: CommandArguments) -> None:
    id, refuse, yes = given["id"], given["refuse"], given["yes"]
    with open_backend(terminal) as tools:
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
            require_yes(terminal, str(found["question"]), hint=f"pecia confirm {id} --yes")
        tools.answer_confirmation(id, answer)
    message = "Confirmed: the agent can now repeat the call." if answer == "confirm" else "Refused."
    terminal.print_result({"confirmation": id, "answer": answer}, lambda it: it.print_line(message))


def open_console(terminal: Terminal, given: CommandArguments) -> None:
    server = _find_server(terminal)
    made = cast(dict[str, str], server.call(f"{API}/session/link", {}))
    if given["browser"] and can_ask(terminal):
        import webbrowser

        webbrowser.open(made["url"])
    terminal.print_result({"url": made["url"]}, lambda it: it.print_line(made["url"]))


def _show_pending(terminal: Terminal, waiting: list[dict[str, Json]]) -> None:
    if not waiting:
        terminal.print_line("No pending confirmations.")
    for it in waiting:
        terminal.print_line(f"{it['id']}  {it['tool']}, asked as {it['user']}")
        for line in str(it["question"]).splitlines():
            terminal.print_line(f"    {line}")
        terminal.print_line(f"  Confirm: pecia confirm {it['id']}")


def _find_server(terminal: Terminal) -> ServerClient:
    home = find_home(terminal)
    found = find_running_server(home)
    if found is None:
        require_home(load_settings(terminal).kernel)
        raise Unavailable(f"no server is running for {home}", hint=START)
    warn_version_mismatch(terminal, found)
    return ServerClient(found.lock.url, read_owner_token(home))


COMMANDS = {
    "confirm": DirectCommand(
        confirm,
        "Confirm what an agent requested: a program to run, a folder to read, tools to approve.",
        {
            "id": {"type": "string", "description": "Which one. Unset: list the pending ones."},
            "yes": {"type": "boolean", "default": False, "description": "Do not ask."},
            "refuse": {"type": "boolean", "default": False, "description": "Say no."},
        },
        ("id",),
    ),
    "open": DirectCommand(
        open_console,
        "Sign a browser in to the console of this machine's server, by a link that works once.",
        {
            "browser": {
                "type": "boolean",
                "default": True,
                "description": "Open it; --no-browser only prints the link.",
            }
        },
    ),
}
