"""`pecia source credential`: what a source shows to its place, from stdin or a variable."""

import typer

from pecia.doors.cli.configured import settled
from pecia.doors.cli.reach import found_tool, reached, require_tools
from pecia.doors.cli.render import show
from pecia.doors.cli.secrets import secret_value
from pecia.doors.cli.terminal import Misuse, terminal_of
from pecia.kernel.errors import InvalidInput, Json


def add_to(group: typer.Typer) -> None:
    group.command()(credential)


def credential(
    ctx: typer.Context,
    source_id: str,
    from_env: str | None = typer.Option(None, help="The variable that holds the value."),
    remove: bool = typer.Option(False, help="Forget it."),
) -> None:
    """Keep the credential of a source, from stdin or --from-env. Only workers can use it.

    A bucket takes KEY_ID:SECRET, a repository TOKEN or USER:TOKEN, a site Bearer TOKEN or
    Basic USER:PASSWORD.
    """
    if remove and from_env is not None:
        raise Misuse(InvalidInput("--remove takes no value", field="from_env"))
    terminal = terminal_of(ctx)
    settings = settled(terminal)
    require_tools(settings)
    arguments: dict[str, Json] = {"source_id": source_id}
    if not remove:
        arguments["value"] = secret_value(from_env)
    with reached(terminal, settings) as tools:
        name = "office.remove_credential" if remove else "office.set_credential"
        answer = tools.call(found_tool(tools.listing(), name), arguments)
    terminal.give(answer, lambda it: show(it, answer))
