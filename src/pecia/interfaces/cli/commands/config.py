"""`pecia config`: every setting, its value, where that came from, and what it means."""

import typer

from pecia.interfaces.cli.output.render import show_facts, show_rows
from pecia.interfaces.cli.output.terminal import Terminal, terminal_of
from pecia.interfaces.cli.settings import load_settings, print_warnings
from pecia.kernel.errors import Json, NotFound


def add_to(app: typer.Typer) -> None:
    app.command()(config)


def config(
    ctx: typer.Context,
    name: str | None = typer.Argument(None, help="One setting; all of them when left out."),
) -> None:
    """Show the effective settings, and the origin of each: flag, environment or file."""
    from pecia.kernel.settings.catalog import find_nearest_name
    from pecia.kernel.settings.table import list_setting_rows

    terminal = terminal_of(ctx)
    settings = load_settings(terminal)
    print_warnings(terminal, settings)
    found = {it.name: it for it in list_setting_rows(settings)}
    if name is None:
        document: Json = {
            "settings": [it.as_json() for it in found.values()],
            "warnings": list(settings.warnings),
        }
        table = [
            {
                "setting": it.name,
                "value": it.value,
                "unit": it.unit,
                "from": str(it.origin),
                "meaning": it.meaning,
            }
            for it in found.values()
        ]
        terminal.print_result(document, lambda it: show_rows(it, table))
    elif name in found:
        _print_setting(terminal, found[name].as_json(), str(found[name].origin))
    else:
        meant = find_nearest_name(name, found)
        raise NotFound(
            f"there is no setting {name!r}" + (f"; did you mean {meant}?" if meant else ""),
            field=name,
            hint="pecia config",
        )


def _print_setting(terminal: Terminal, row: dict[str, Json], origin: str) -> None:
    terminal.print_result(row, lambda it: show_facts(it, {**row, "origin": origin}))
