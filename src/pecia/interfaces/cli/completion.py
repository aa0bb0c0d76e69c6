"""Completion for bash, zsh and fish: candidates for the word at the cursor, one a line.

Commands and groups come from the tables; tools, flags and names of things from the running server,
if one answers quickly. It starts nothing, prints no error, and without candidates the shell
completes file names.
"""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from pecia.interfaces.cli.command_table import GROUPS, CommandEntry, ToolShortcut
from pecia.interfaces.cli.help_text import SUMMARIES, list_commands

if TYPE_CHECKING:
    from pecia.interfaces.cli.output.terminal import Terminal
    from pecia.interfaces.cli.tools.backend import ServerBackend, ToolInfo

MAX_CANDIDATES = 500
GLOBAL_FLAGS = {
    "--json": "one JSON document on stdout",
    "--plain": "plain text for pipes",
    "--help": "help",
}
ROOT_FLAGS = {"--config": "a configuration file", "--version": "the version", **GLOBAL_FLAGS}
CALL_FLAGS = {"--args": "all arguments as JSON", "--yes": "do not ask", **GLOBAL_FLAGS}

# By the name of an argument: the tool that lists what it may be, its list, and the field of a row.
NAMED_THINGS: Mapping[str, tuple[str, str, str]] = {
    "source_id": ("lake.list_sources", "sources", "source_id"),
    "user": ("admin.list_users", "users", "name"),
    "author": ("admin.list_users", "users", "name"),
    "group": ("admin.list_groups", "groups", "name"),
    "space": ("admin.list_spaces", "spaces", "name"),
    "secret": ("admin.list_secrets", "secrets", "name"),
    "server": ("hub.list_servers", "servers", "server"),
    "id": ("admin.list_tokens", "tokens", "id"),
}

SCRIPTS: Mapping[str, str] = {
    "bash": """_pecia() {
  # Not COMP_WORDS: bash splits those at colons, and names of sources have one.
  local line=${COMP_LINE:0:COMP_POINT} name lead= current
  local -a typed
  read -ra typed <<< "$line"
  [[ $line == *[[:blank:]] ]] && typed+=("")
  current=${typed[${#typed[@]}-1]}
  # It replaces only what follows the last colon, where it splits there.
  [[ $COMP_WORDBREAKS == *:* && $current == *:* ]] && lead=${current%"${current##*:}"}
  COMPREPLY=()
  while IFS=$'\\t' read -r name _; do
    [[ $name == "$current"* ]] && COMPREPLY+=("${name#"$lead"}")
  done < <(pecia __complete "${typed[@]:1}" 2>/dev/null)
}
complete -o default -F _pecia pecia
""",
    "zsh": """#compdef pecia
_pecia() {
  local -a found
  local name about
  while IFS=$'\\t' read -r name about; do
    found+=("${name//:/\\\\:}:${about}")
  done < <(pecia __complete "${(@)words[2,CURRENT]}" 2>/dev/null)
  if (( ${#found} )); then _describe pecia found; else _files; fi
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _pecia "$@"; else compdef _pecia pecia; fi
""",
    "fish": """function __pecia_complete
  set -l typed (commandline -opc) (commandline -ct)
  pecia __complete $typed[2..-1] 2>/dev/null
end
complete -c pecia -a '(__pecia_complete)'
""",
}
INSTALL = {
    "bash": 'eval "$(pecia completion bash)"   # in ~/.bashrc',
    "zsh": 'eval "$(pecia completion zsh)"    # in ~/.zshrc, after compinit',
    "fish": "pecia completion fish > ~/.config/fish/completions/pecia.fish",
}


def print_script(terminal: "Terminal", words: Sequence[str]) -> int:
    """The script for a shell; without one, how each is set up. Returns the exit code."""
    from pecia.interfaces.cli.output.terminal import CommandUsageError
    from pecia.kernel.errors import InvalidEnum

    if not words or words[0] in ("--help", "-h"):
        terminal.print_line("Usage: pecia completion SHELL\n\nFor good:")
        for shell, line in INSTALL.items():
            terminal.print_line(f"  {shell:<5} {line}")
        return 0 if words else 2
    if words[0] not in SCRIPTS or words[1:]:
        raise CommandUsageError(
            InvalidEnum(
                f"{' '.join(words)!r} is not a shell that is known: bash, zsh, fish",
                field="shell",
                got=words[0],
                allowed=[*SCRIPTS],
            ),
            hint="pecia completion --help",
        )
    script = SCRIPTS[words[0]]
    terminal.print_result({"shell": words[0], "script": script}, lambda it: it.print_line(script))
    return 0


def print_candidates(typed: Sequence[str]) -> None:
    """Print what the last word may become, with a description after a tab."""
    lines: list[str] = []
    # A shell must not be disturbed by a completion that failed.
    with suppress(Exception):
        lines = [f"{name}\t{about}" for name, about in _list_matches(typed)]
    sys.stdout.write("".join(f"{it}\n" for it in lines[:MAX_CANDIDATES]))


def _list_matches(typed: Sequence[str]) -> Iterator[tuple[str, str]]:
    *before, current = typed or [""]
    words = [it for it in before if it not in GLOBAL_FLAGS]
    for name, about in _candidates(words, current).items():
        if name.startswith(current) and name.isprintable():
            yield name, " ".join(about.split())[:100]


def _candidates(words: list[str], current: str) -> Mapping[str, str]:
    from pecia.interfaces.cli.main import ENTRIES

    group = " ".join(words)
    if words and words[0] == "help":
        words, group = words[1:], " ".join(words[1:])
    if not group or group in GROUPS:
        flags = GLOBAL_FLAGS if group else ROOT_FLAGS
        below = {it: SUMMARIES[f"{group} {it}".strip()] for it in list_commands(group)}
        return flags if current.startswith("-") else below
    if words == ["completion"]:
        return dict.fromkeys(SCRIPTS, "")
    for length in (3, 2, 1):
        if entry := ENTRIES.get(" ".join(words[:length])):
            return _argument_candidates(entry, words[length:], current)
    return {}


def _argument_candidates(
    entry: CommandEntry | ToolShortcut, words: list[str], current: str
) -> Mapping[str, str]:
    if isinstance(entry, ToolShortcut):
        return _tool_candidates(entry, words, current)
    if entry.words == "call":
        if words:
            return _tool_candidates(ToolShortcut("call", words[0], ""), words[1:], current)
        return {it.full_name: it.description for it in _list_tools()} | {"--list": "list them"}
    return _command_candidates(entry, words, current)


def _tool_candidates(entry: ToolShortcut, words: list[str], current: str) -> Mapping[str, str]:
    server = _find_server()
    if server is None:
        return CALL_FLAGS if current.startswith("-") else {}
    from pecia.interfaces.cli.tools.arguments import ToolInputSchema

    tool = server.find_tool(entry.tool)
    shape = ToolInputSchema(tool.schema)
    if words and words[-1].startswith("--") and (name := shape.argument_name(words[-1][2:])):
        return _value_candidates(server, shape, name)
    if current.startswith("-"):
        own = {f"--{it.replace('_', '-')}": _about(tool, it) for it in shape.properties}
        return own | CALL_FLAGS
    place = sum(not it.startswith("-") for it in words)
    rest = entry.positional[place:]
    return _value_candidates(server, shape, rest[0], entry) if rest else {}


def _value_candidates(
    server: "ServerBackend", shape: Any, name: str, entry: ToolShortcut | None = None
) -> Mapping[str, str]:
    kinds = shape.value_types(name)
    if "array" in kinds:
        kinds = shape.item_types(name)
    if "enum" in kinds:
        return {str(it): "" for it in kinds["enum"].get("enum", ())}
    # `pecia user set NAME`: the name of a user; a new one has no candidates.
    subject = entry.words.partition(" ")[0] if entry and name == "name" else name
    if subject not in NAMED_THINGS or (entry and entry.words.endswith((" add", " make"))):
        return {}
    return dict.fromkeys(_list_names(server, subject), "")


def _list_names(server: "ServerBackend", subject: str) -> Iterable[str]:
    tool, rows, field = NAMED_THINGS[subject]
    found = server.call(server.find_tool(tool), {"limit": 200} if subject != "server" else {})
    return [str(it[field]) for it in cast(Any, found)[rows]]


def _command_candidates(entry: CommandEntry, words: list[str], current: str) -> Mapping[str, str]:
    from pecia.interfaces.cli.recorded_help import recorded_help

    own = recorded_help(entry.words)
    if own is None:
        return {}
    last = words[-1] if words else ""
    if last in own.choices:
        return dict.fromkeys(own.choices[last], "")
    if last in own.things:
        return _named_candidates(own.things[last])
    if current.startswith("-"):
        return {**own.flags, **GLOBAL_FLAGS}
    place = sum(not it.startswith("-") for it in words)
    [name] = own.arguments[place : place + 1] or [""]
    return _named_candidates(own.things[name]) if name in own.things else {}


def _named_candidates(subject: str) -> Mapping[str, str]:
    server = _find_server()
    return dict.fromkeys(_list_names(server, subject), "") if server else {}


def _about(tool: "ToolInfo", argument: str) -> str:
    return str(tool.schema["properties"][argument].get("description", ""))


def _list_tools() -> "Sequence[ToolInfo]":
    server = _find_server()
    return server.list_tools() if server else []


def _find_server() -> "ServerBackend | None":
    from pecia.interfaces.cli.output.terminal import Terminal
    from pecia.interfaces.cli.tools.backend import find_server_backend

    return find_server_backend(Terminal())
