"""`pecia migrate`: migrates a database, or prints the SQL for its administrator."""

import typer

from pecia.interfaces.cli.output.terminal import Terminal, terminal_of
from pecia.interfaces.cli.settings import load_settings
from pecia.kernel.errors import Json


def add_to(app: typer.Typer) -> None:
    app.command()(migrate)


def migrate(
    ctx: typer.Context,
    print_sql: bool = typer.Option(
        False, "--print-sql", help="Print everything, from the roles on, and run nothing."
    ),
) -> None:
    """Apply the migrations that are missing, as the owner of the database."""
    import anyio

    terminal = terminal_of(ctx)
    if print_sql:
        from pecia.interfaces.cli.commands.admin.schema_script import build_schema_script

        text = build_schema_script(load_settings(terminal))
        terminal.print_result({"sql": text}, lambda it: it.print_line(text))
        return
    applied = anyio.run(_migrate, terminal)
    document: Json = {"applied": [*applied]}
    terminal.print_result(
        document,
        lambda it: it.print_line("\n".join(applied) if applied else "the database is up to date"),
    )


async def _migrate(terminal: Terminal) -> list[str]:
    from pecia.app.app import migration_parts, open_logins
    from pecia.kernel.store.migrate import migrate as bring_up_to_date

    settings = load_settings(terminal)
    async with open_logins(settings.kernel, terminal.info) as logins:
        done = await bring_up_to_date(logins.owner, migration_parts(settings))
    return [f"{it.part}/{it.name}" for it in done]
