"""The help of the program and of its groups, from the tables. Pure."""

from collections.abc import Iterator

from pecia.interfaces.cli.command_table import BUILT_IN, COMMANDS, GROUPS, SECTIONS
from pecia.interfaces.cli.commands.shortcuts import SHORTCUTS

WIDTH = 88

INTRODUCTION = """Usage: pecia COMMAND [ARGUMENTS]

Find, read, compile, write, layer and remember knowledge.
"""

OPTIONS = """Options of every command:
  --json         One JSON document on stdout, in the same shape every time.
  --plain        Plain text for pipes: no colour, no wrapping, tabs between columns.
  --debug        Tracebacks.
  --config FILE  Before the command: a configuration file, in place of the user's.
  -h, --help     The help of the program, a group or a command.

Exit codes: 0 done, 1 failed, 2 wrong words, 130 stopped by Ctrl-C.
"""

SUMMARIES: dict[str, str] = {
    **BUILT_IN,
    **GROUPS,
    **{it.words: it.summary for it in COMMANDS},
    **{it.words: it.summary for it in SHORTCUTS},
}


def root_help() -> str:
    """What the program can do, by task."""
    width = max(len(it) for _, names in SECTIONS for it in names)
    parts = [INTRODUCTION]
    for title, names in SECTIONS:
        lines = [line for it in names for line in _row(it, SUMMARIES[it], width)]
        parts.append("\n".join([f"{title}:", *lines]) + "\n")
    return "\n".join([*parts, OPTIONS])


def group_help(group: str) -> str:
    """The commands of a group."""
    names = list_commands(group)
    width = max(map(len, names))
    lines = [line for it in names for line in _row(it, SUMMARIES[f"{group} {it}"], width)]
    return "\n".join(
        [
            f"Usage: pecia {group} COMMAND [ARGUMENTS]",
            "",
            GROUPS[group],
            "",
            "Commands:",
            *lines,
            "",
            f"Help of one: pecia {group} COMMAND --help",
            "",
        ]
    )


def list_commands(group: str = "") -> list[str]:
    """The commands and groups right below a group; of the program where none is named."""
    lead = f"{group} " if group else ""
    below = [it.removeprefix(lead) for it in SUMMARIES if it.startswith(lead)]
    return sorted(it for it in below if " " not in it)


def _row(name: str, summary: str, width: int) -> Iterator[str]:
    import textwrap

    lead = f"  {name:<{width}}  "
    lines = textwrap.wrap(summary, WIDTH - len(lead))
    yield lead + lines[0]
    yield from (" " * len(lead) + it for it in lines[1:])
