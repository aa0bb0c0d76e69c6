"""`pecia okf`: a bundle checked and indexed, as a person or a pull request needs it."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from pecia import __version__
from pecia.doors.cli.render import show_rows
from pecia.doors.cli.terminal import FAILED, Terminal, terminal_of
from pecia.kernel.errors import InvalidEnum, InvalidInput, Json, NotFound

if TYPE_CHECKING:
    from pecia.rooms.cascade.okf.lint.bundle import Bundle
    from pecia.rooms.cascade.okf.lint.finding import Finding

FORMATS = ("table", "json", "sarif")
FOLDER = typer.Argument(Path(), help="The folder of the bundle.")
FORMAT = typer.Option("table", "--format", help="table, json or sarif.")
STRICT = typer.Option(False, help="Guides without frontmatter are errors; warnings fail too.")


def add_to(app: typer.Typer) -> None:
    group = typer.Typer(no_args_is_help=True, help="Check and index bundles in OKF.")
    for command in (validate, lint, index):
        group.command()(command)
    app.add_typer(group, name="okf")


def validate(
    ctx: typer.Context, folder: Path = FOLDER, shape: str = FORMAT, strict: bool = STRICT
) -> None:
    """Check a bundle against the specification: only what it forbids. Fails on any error."""
    from pecia.rooms.cascade.okf.lint.run import validate as check

    _give(terminal_of(ctx), check(_bundle(folder), strict=strict), shape, strict=strict)


def lint(
    ctx: typer.Context, folder: Path = FOLDER, shape: str = FORMAT, strict: bool = STRICT
) -> None:
    """Check a bundle and advise: errors, warnings and notes. Fails on errors."""
    from pecia.rooms.cascade.okf.lint.run import lint as check

    _give(terminal_of(ctx), check(_bundle(folder), strict=strict), shape, strict=strict)


def index(
    ctx: typer.Context,
    folder: Path = FOLDER,
    write: bool = typer.Option(False, help="Write the index files; else only show them."),
) -> None:
    """Make the index.md of every folder from the concepts in it."""
    from pecia.rooms.cascade.okf.index import make_indexes

    terminal = terminal_of(ctx)
    made = make_indexes(_bundle(folder))
    if write:
        for path, text in made.items():
            (folder / path).write_text(text, encoding="utf-8")
    rows: list[Json] = [{"path": path, "text": text} for path, text in made.items()]

    def show(it: Terminal) -> None:
        for path, text in made.items():
            it.line(path if write else f"== {path}\n{text}")

    terminal.give({"indexes": rows, "written": write}, show)


def _table(terminal: Terminal, rows: list[dict[str, Json]]) -> None:
    if rows:
        show_rows(terminal, rows)
    else:
        terminal.say("nothing is wrong")


def _bundle(folder: Path) -> "Bundle":
    from pecia.rooms.cascade.layers.bundle import bundle_files
    from pecia.rooms.cascade.okf.lint.bundle import read_bundle

    if folder.is_file():
        raise InvalidInput(f"{folder} is a file: name the folder it lies in", field="folder")
    if not folder.is_dir():
        raise NotFound(f"there is no folder {folder}", field="folder")
    return read_bundle(bundle_files(folder), datetime.now(UTC))


def _give(terminal: Terminal, found: "list[Finding]", shape: str, *, strict: bool) -> None:
    from pecia.rooms.cascade.okf.lint.finding import Severity
    from pecia.rooms.cascade.okf.lint.sarif import sarif

    if shape not in FORMATS:
        raise InvalidEnum(f"there is no format {shape!r}", field="format", allowed=[*FORMATS])
    rows = [it.value() for it in found]
    if shape == "sarif":
        terminal.line(json.dumps(sarif(found, __version__), ensure_ascii=False, indent=2))
    elif shape == "json" and not terminal.as_json:
        terminal.line(json.dumps({"findings": rows}, ensure_ascii=False, indent=2))
    else:
        terminal.give({"findings": [*rows]}, lambda it: _table(it, rows))
    failing = (Severity.ERROR, Severity.WARNING) if strict else (Severity.ERROR,)
    if any(it.severity in failing for it in found):
        raise typer.Exit(FAILED)
