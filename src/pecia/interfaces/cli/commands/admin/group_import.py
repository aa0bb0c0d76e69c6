"""`pecia group import`: groups from a directory export."""

from pathlib import Path

import typer

from pecia.features.admin.core.ldif import parse_directory
from pecia.interfaces.cli.output.render import show_document
from pecia.interfaces.cli.output.terminal import terminal_of
from pecia.interfaces.cli.tools.backend import open_backend
from pecia.kernel.errors import InvalidFormat, Json, NotFound


def add_to(group: typer.Typer) -> None:
    group.command("import")(import_groups)


def import_groups(
    ctx: typer.Context,
    file: Path = typer.Argument(..., help='LDIF, or JSON such as {"staff": ["ana", "bo"]}.'),
) -> None:
    """Set groups from a directory export. Groups that it does not name stay."""
    terminal = terminal_of(ctx)
    groups: list[Json] = [
        {"name": name, "members": [*members]}
        for name, members in parse_directory(_read_text(file)).items()
    ]
    with open_backend(terminal) as tools:
        tool = tools.find_tool("admin.set_groups")
        found = tools.call(tool, {"groups": groups})
    terminal.print_result(found, lambda it: show_document(it, found))


def _read_text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise InvalidFormat(f"{file} is not UTF-8", field="file") from None
    except OSError as error:
        reason = (error.strerror or "cannot be read").lower()
        raise NotFound(f"{file}: {reason}", field="file") from None
