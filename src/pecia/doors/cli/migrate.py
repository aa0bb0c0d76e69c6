"""`pecia migrate`: brings a database up to date, or prints what its administrator must run."""

import typer

from pecia.doors.cli.configured import settled
from pecia.doors.cli.terminal import Terminal, terminal_of
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
        from pecia.doors.cli.schema import whole_schema

        text = whole_schema()
        terminal.give({"sql": text}, lambda it: it.line(text))
        return
    applied = anyio.run(_migrate, terminal)
    document: Json = {"applied": [*applied]}
    terminal.give(
        document, lambda it: it.line("\n".join(applied) if applied else "all is up to date")
    )


async def _migrate(terminal: Terminal) -> list[str]:
    from pecia.app.app import open_logins, parts
    from pecia.kernel.store.migrate import migrate as bring_up_to_date

    async with open_logins(settled(terminal).kernel, terminal.say) as logins:
        done = await bring_up_to_date(logins.owner, parts())
    return [f"{it.part}/{it.name}" for it in done]
