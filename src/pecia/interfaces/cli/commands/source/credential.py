"""`pecia source credential`: the credential of a source, from stdin or a variable."""

import typer

from pecia.interfaces.cli.commands.admin.secrets import read_secret_value
from pecia.interfaces.cli.output.render import show_document
from pecia.interfaces.cli.output.terminal import CommandUsageError, terminal_of
from pecia.interfaces.cli.tools.backend import open_backend, require_tools
from pecia.kernel.errors import InvalidInput, Json


def add_to(group: typer.Typer) -> None:
    group.command()(credential)


def credential(
    ctx: typer.Context,
    source_id: str,
    from_env: str | None = typer.Option(None, help="The variable that holds the value."),
    remove: bool = typer.Option(False, help="Forget it."),
) -> None:
    """Store the credential of a source, from stdin or --from-env. Only workers can use it.

    Its format depends on the kind of the source: `pecia call admin.set_credential --help`.
    """
    if remove and from_env is not None:
        raise CommandUsageError(InvalidInput("--remove takes no value", field="from_env"))
    terminal = terminal_of(ctx)
    require_tools(terminal)
    arguments: dict[str, Json] = {"source_id": source_id}
    if not remove:
        arguments["value"] = read_secret_value(from_env)
    with open_backend(terminal) as tools:
        name = "admin.remove_credential" if remove else "admin.set_credential"
        answer = tools.call(tools.find_tool(name), arguments)
    terminal.print_result(answer, lambda it: show_document(it, answer))
