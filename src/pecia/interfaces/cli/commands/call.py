"""`pecia call`: any tool from a shell."""

import typer

from pecia.interfaces.cli.output.render import show_rows
from pecia.interfaces.cli.output.terminal import Terminal, terminal_of
from pecia.interfaces.cli.settings import load_settings
from pecia.interfaces.cli.tools.backend import describe_tools
from pecia.interfaces.cli.tools.help import tool_document
from pecia.interfaces.cli.tools.run import ToolCommand, run_tool

RAW_ARGUMENTS = {
    "ignore_unknown_options": True,
    "allow_extra_args": True,
    "allow_interspersed_args": False,
}
"""Typer settings for arguments that only the tool can parse."""


HELP = (
    "Call any tool: pecia call TOOL --name value …\n\n"
    "TOOL is a full (lake.list_files), prefixed (lake__list_files) or bare name. "
    "pecia call TOOL --help shows its arguments. Repeat a flag for a list, give an object "
    "as JSON; all arguments at once with --args JSON, or from stdin with --args -. "
    "A value that begins with two dashes is given as --name=--value."
)


def add_to(app: typer.Typer) -> None:
    app.command(context_settings=RAW_ARGUMENTS, help=HELP)(call)


def call(
    ctx: typer.Context,
    list_tools: bool = typer.Option(False, "--list", help="List the tools instead."),
) -> None:
    terminal = terminal_of(ctx)
    if list_tools:
        show_tools(terminal)
    elif not ctx.args:
        terminal.info(ctx.get_help())
        raise typer.Exit(2)
    else:
        tool, *words = ctx.args
        run_tool(terminal, ToolCommand(tool, f"pecia call {tool}"), words)


def show_tools(terminal: Terminal) -> None:
    """Every tool, one a line."""
    found = sorted(describe_tools(load_settings(terminal)), key=lambda it: it.full_name)
    rows = [{"tool": it.full_name, "description": it.description} for it in found]
    terminal.print_result([tool_document(it) for it in found], lambda it: show_rows(it, rows))
