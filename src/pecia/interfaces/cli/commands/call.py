"""`pecia call`: any tool from a shell."""

from collections.abc import Sequence

from pecia.interfaces.cli.output.render import show_rows
from pecia.interfaces.cli.output.terminal import (
    EXIT_MISUSED,
    EXIT_OK,
    CommandUsageError,
    Terminal,
)
from pecia.interfaces.cli.tools.backend import describe_tools
from pecia.interfaces.cli.tools.help import tool_document
from pecia.interfaces.cli.tools.run import ToolCommand, run_tool
from pecia.kernel.errors import MissingField

HELP = """Usage: pecia call TOOL [ARGUMENTS]

Call any tool: pecia call TOOL --name value …

TOOL is a full (lake.list_files), prefixed (lake__list_files) or bare name.
pecia call TOOL --help shows its arguments. Repeat a flag for a list, give an object as JSON;
all arguments at once with --args JSON, or from stdin with --args -.
A value that begins with two dashes is given as --name=--value.

Options:
  --list      List the tools instead.
  -h, --help  Show this.
"""


def run_call(terminal: Terminal, words: Sequence[str]) -> int:
    """Call the tool of the first word; its exit code."""
    match [*words]:
        case [("--help" | "-h")]:
            terminal.print_line(HELP.rstrip())
        case []:
            terminal.info(HELP.rstrip())
            return EXIT_MISUSED
        case ["--list", *_]:
            show_tools(terminal)
        case ["", *_]:
            error = MissingField("TOOL is empty", field="tool")
            raise CommandUsageError(error, hint="list them with `pecia call --list`")
        case _:
            tool, *rest = words
            return run_tool(terminal, ToolCommand(tool, f"pecia call {tool}"), rest)
    return EXIT_OK


def show_tools(terminal: Terminal) -> None:
    """Every tool, one a line."""
    found = sorted(describe_tools(terminal), key=lambda it: it.full_name)
    rows = [{"tool": it.full_name, "description": it.description} for it in found]
    terminal.print_result([tool_document(it) for it in found], lambda it: show_rows(it, rows))
