"""`pecia secret set` and `rotate`: a value is read from stdin or a variable, never from a flag."""

import getpass
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from pecia.interfaces.cli.output.render import show_document
from pecia.interfaces.cli.output.terminal import CommandUsageError, Terminal, terminal_of
from pecia.interfaces.cli.server.home import require_home
from pecia.interfaces.cli.server.lock import claim_home
from pecia.interfaces.cli.settings import environ, load_settings
from pecia.interfaces.cli.tools.backend import open_backend, require_tools
from pecia.kernel.errors import Conflict, Json, MissingField, NotFound
from pecia.kernel.settings.account import create_home, login_name

if TYPE_CHECKING:
    from pecia.kernel.secrets.keyring import Purpose
    from pecia.kernel.settings.kernel import KernelSettings

SEALED_PURPOSES = ("source", "upstream")
"""The purposes whose secrets are in the database."""


def add_to(group: typer.Typer) -> None:
    group.command("set")(set_secret)
    group.command()(rotate)


def set_secret(
    ctx: typer.Context,
    name: str,
    purpose: str = typer.Option(..., help="What it is for: source or upstream."),
    from_env: str | None = typer.Option(None, help="The variable that holds the value."),
) -> None:
    """Store a credential. Its value comes from stdin, or the variable that --from-env names."""
    terminal = terminal_of(ctx)
    require_tools(terminal)
    value = read_secret_value(from_env)
    arguments: dict[str, Json] = {"name": name, "purpose": purpose, "value": value}
    with open_backend(terminal) as tools:
        tool = tools.find_tool("admin.set_secret")
        answer = tools.call(tool, arguments)
    terminal.print_result(answer, lambda it: show_document(it, answer))


def rotate(
    ctx: typer.Context,
    purpose: str | None = typer.Option(None, help="source or upstream; both when left out."),
    retire: bool = typer.Option(
        False, help="Delete the old keys: secrets in older backups are then lost."
    ),
) -> None:
    """Make a new key and encrypt every secret with it. Run it again if it was interrupted.

    No server may run meanwhile. Where several machines serve one database, stop all of them, and
    copy the key file to each before they start again.
    """
    import anyio

    from pecia.kernel.secrets.keyring import Purpose

    terminal = terminal_of(ctx)
    settings = load_settings(terminal)
    purposes = [Purpose.from_name(it) for it in ((purpose,) if purpose else SEALED_PURPOSES)]
    require_home(settings.kernel)
    create_home(settings.kernel.home)
    with claim_home(settings.kernel.home) as ours:
        if not ours:
            raise Conflict("a server is running, and uses the old key", hint="pecia stop")
        document = anyio.run(_rotate, terminal, settings.kernel, purposes, retire)
    terminal.print_result(document, lambda it: show_document(it, document))


def read_secret_value(from_env: str | None) -> str:
    """The value, from stdin or the variable."""
    if from_env is not None:
        value = environ().get(from_env)
        if not value:
            raise NotFound(f"the variable {from_env} is not set", field="from_env")
        return value
    value = getpass.getpass("value: ") if sys.stdin.isatty() else sys.stdin.read()
    value = value.removesuffix("\n")
    if not value:
        raise CommandUsageError(MissingField("no value came on stdin", field="value"))
    return value


async def _rotate(
    terminal: Terminal, kernel: "KernelSettings", purposes: "Sequence[Purpose]", retire: bool
) -> Json:
    from pecia.app.operator.key_rotation import rotate_keys
    from pecia.app.operator.session import open_operator_session

    done: list[Json] = []
    who = login_name()
    async with open_operator_session(kernel, who=who, report=terminal.info) as operating:
        for it in purposes:
            made = await rotate_keys(operating, kernel.home / "keys.json", it, retire=retire)
            done.append({"purpose": it.value, "key_id": made.key_id, "resealed": made.resealed})
    return {"rotated": done}
