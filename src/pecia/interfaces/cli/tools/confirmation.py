"""Confirmations at the command line: what a tool asks for, and what would be removed."""

import sys
from collections.abc import Mapping

from pecia.interfaces.cli.editors import can_ask
from pecia.interfaces.cli.output.terminal import Terminal
from pecia.interfaces.cli.server.client import ServerClient
from pecia.interfaces.cli.tools.backend import ToolBackend, ToolInfo
from pecia.interfaces.cli.tools.space_choice import call_in_space
from pecia.kernel.errors import ConfirmationRequired, Forbidden, Json

MAX_CONFIRMATIONS = 5
YES_ANSWERS = frozenset({"y", "yes"})
SELF_EVIDENT = frozenset({"folder", "removal"})
"""Kinds of actions that the command itself says in full."""


def call_with_confirmation(
    terminal: Terminal,
    tools: ToolBackend,
    tool: ToolInfo,
    arguments: Mapping[str, Json],
    *,
    yes: bool,
    command: str,
) -> Json:
    """The result of the tool. Confirmations are answered by the person who typed the command.

    A folder, or a server to remove or switch off, that the command names needs no further question;
    a program and the descriptions of a server are shown first.
    """
    try:
        return call_in_space(tools, tool, arguments, command)
    except ConfirmationRequired as asked:
        name = str(asked.fields["confirmation"])
        if not yes and asked.fields.get("kind") not in SELF_EVIDENT:
            hint = f"add --yes, or: pecia confirm {name}"
            require_yes(terminal, str(asked.fields["question"]), hint=hint)
        tools.answer_confirmation(name, "confirm")
    return tools.call(tool, arguments)


def call_as_owner(server: ServerClient, path: str, arguments: Mapping[str, Json]) -> Json:
    """The same for arguments that the owner typed or wrote into a file."""
    for _ in range(MAX_CONFIRMATIONS):
        try:
            return server.call(path, arguments)
        except ConfirmationRequired as asked:
            # Another command with the same arguments may use up this confirmation first.
            server.answer_confirmation(str(asked.fields["confirmation"]), "confirm")
    return server.call(path, arguments)


def require_yes(terminal: Terminal, question: str, *, hint: str) -> None:
    if not can_ask(terminal):
        raise ConfirmationRequired(
            f"stdin is not a terminal, so this cannot be confirmed here: {question}", hint=hint
        )
    terminal.info(question)
    sys.stderr.write("[y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in YES_ANSWERS:
        raise Forbidden("you answered no: nothing was done", hint=hint)
