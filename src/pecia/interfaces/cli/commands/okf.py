"""`pecia okf`: checks and indexes a bundle, for a person or a pull request."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from pecia import __version__
from pecia.interfaces.cli.output.render import show_rows
from pecia.interfaces.cli.output.terminal import EXIT_FAILED, Terminal, terminal_of
from pecia.kernel.errors import InvalidEnum, InvalidInput, Json, NotFound

if TYPE_CHECKING:
    from pecia.features.cascade.okf.lint.bundle import OkfBundle
    from pecia.features.cascade.okf.lint.findings import LintFinding

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
    from pecia.features.cascade.okf.lint.runner import validate_bundle as check

    _print_findings(
        terminal_of(ctx), check(_load_bundle(folder), strict=strict), shape, strict=strict
    )


def lint(
    ctx: typer.Context, folder: Path = FOLDER, shape: str = FORMAT, strict: bool = STRICT
) -> None:
    """Check a bundle and advise: errors, warnings and notes. Fails on errors."""
    from pecia.features.cascade.okf.lint.runner import lint_bundle as check

    _print_findings(
        terminal_of(ctx), check(_load_bundle(folder), strict=strict), shape, strict=strict
    )


def index(
    ctx: typer.Context,
    folder: Path = FOLDER,
    write: bool = typer.Option(False, help="Write the index files; else only show them."),
) -> None:
    """Make the index.md of every folder from the concepts in it."""
    from pecia.features.cascade.okf.index import render_indexes

    terminal = terminal_of(ctx)
    made = render_indexes(_load_bundle(folder))
    if write:
        for path, text in made.items():
            (folder / path).write_text(text, encoding="utf-8")
    rows: list[Json] = [{"path": path, "text": text} for path, text in made.items()]

    def show(it: Terminal) -> None:
        for path, text in made.items():
            it.print_line(path if write else f"== {path}\n{text}")

    terminal.print_result({"indexes": rows, "written": write}, show)


def _print_table(terminal: Terminal, rows: list[dict[str, Json]]) -> None:
    if rows:
        show_rows(terminal, rows)
    else:
        terminal.info("no problems found")


def _load_bundle(folder: Path) -> "OkfBundle":
    from pecia.features.cascade.layers.folder import read_bundle_files
    from pecia.features.cascade.okf.lint.bundle import parse_bundle

    if folder.is_file():
        raise InvalidInput(f"{folder} is a file: name the folder it lies in", field="folder")
    if not folder.is_dir():
        raise NotFound(f"there is no folder {folder}", field="folder")
    bundle = parse_bundle(read_bundle_files(folder), datetime.now(UTC))
    if not bundle.concepts:
        raise NotFound(
            f"there is no concept in {folder}: none of its files is a Markdown document",
            field="folder",
        )
    return bundle


def _print_findings(
    terminal: Terminal, found: "list[LintFinding]", shape: str, *, strict: bool
) -> None:
    from pecia.features.cascade.okf.lint.findings import LintSeverity
    from pecia.features.cascade.okf.lint.sarif import build_sarif

    if shape not in FORMATS:
        raise InvalidEnum(f"there is no format {shape!r}", field="format", allowed=[*FORMATS])
    rows = [it.to_json() for it in found]
    if shape == "sarif":
        terminal.print_line(
            json.dumps(build_sarif(found, __version__), ensure_ascii=False, indent=2)
        )
    elif shape == "json" and not terminal.as_json:
        terminal.print_line(json.dumps({"findings": rows}, ensure_ascii=False, indent=2))
    else:
        terminal.print_result({"findings": [*rows]}, lambda it: _print_table(it, rows))
    failing = (LintSeverity.ERROR, LintSeverity.WARNING) if strict else (LintSeverity.ERROR,)
    if any(it.severity in failing for it in found):
        raise typer.Exit(EXIT_FAILED)
