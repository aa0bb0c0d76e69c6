"""`pecia group import`: groups from a file that a directory wrote."""

from pathlib import Path

import typer

from pecia.adapters.directory import read_directory
from pecia.doors.cli.configured import settled
from pecia.doors.cli.reach import found_tool, reached
from pecia.doors.cli.render import show
from pecia.doors.cli.terminal import terminal_of
from pecia.kernel.errors import InvalidFormat, Json, NotFound


def add_to(group: typer.Typer) -> None:
    group.command("import")(import_groups)


def import_groups(
    ctx: typer.Context,
    file: Path = typer.Argument(..., help='LDIF, or JSON such as {"staff": ["ana", "bo"]}.'),
) -> None:
    """Make groups what a directory's file says. Groups that it does not name stay."""
    terminal = terminal_of(ctx)
    groups: list[Json] = [
        {"name": name, "members": [*members]}
        for name, members in read_directory(_text(file)).items()
    ]
    with reached(terminal, settled(terminal)) as tools:
        tool = found_tool(tools.listing(), "office.set_groups")
        found = tools.call(tool, {"groups": groups})
    terminal.give(found, lambda it: show(it, found))


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise InvalidFormat(f"{file} is not UTF-8", field="file") from None
    except OSError as error:
        reason = (error.strerror or "cannot be read").lower()
        raise NotFound(f"{file}: {reason}", field="file") from None
