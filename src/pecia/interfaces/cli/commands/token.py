"""`pecia token make`: a token for a person or a program, and how a client is given it."""

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any, cast

from pecia.interfaces.cli.editors import can_ask
from pecia.interfaces.cli.output.render import show_facts
from pecia.interfaces.cli.output.terminal import Terminal
from pecia.interfaces.cli.tools.backend import ServerBackend, open_backend
from pecia.interfaces.cli.tools.direct import CommandArguments, DirectCommand
from pecia.kernel.errors import InvalidEnum, Json

TOOL = "admin.make_token"
SCOPES: Mapping[str, tuple[str, ...]] = {
    "read": ("pecia.search", "pecia.read"),
    "write": ("pecia.search", "pecia.read", "pecia.write"),
    "admin": ("pecia.search", "pecia.read", "pecia.write", "pecia.admin"),
}
"""What a person says, and the scopes that it takes: who may write may read."""

CAPABILITIES: Mapping[str, str] = {
    "pecia.search": "search",
    "pecia.read": "read",
    "pecia.write": "write documents and memories",
    "pecia.admin": "administer sources, users and rights",
}
NAMES = (*SCOPES, *CAPABILITIES)


def make_token(terminal: Terminal, given: CommandArguments) -> None:
    wanted = given["scopes"] or (_ask_scopes() if can_ask(terminal) else ["read"])
    asked: dict[str, Json] = {
        "label": given["label"],
        "scopes": [*expand_scopes(wanted)],
        **{it: given[it] for it in ("user", "expires_in_days") if given[it] is not None},
    }
    with open_backend(terminal) as tools:
        made = cast(dict[str, Any], tools.call(tools.find_tool(TOOL), asked))
        url = tools.server.url if isinstance(tools, ServerBackend) else "http://127.0.0.1:7324"
    can, cannot = describe_scopes(made["scopes"])
    document: dict[str, Json] = {
        **made,
        "can": [*can],
        "cannot": [*cannot],
        "client": client_block(url, made["token"]),
    }
    terminal.print_result(document, lambda it: _show_token(it, document))


def expand_scopes(words: Sequence[str]) -> list[str]:
    """`write` as the scopes that it takes; the full names of scopes as they are."""
    found = dict.fromkeys(scope for it in words for scope in SCOPES.get(it, (it,)))
    return [it for it in CAPABILITIES if it in found]


def describe_scopes(scopes: Sequence[str]) -> tuple[list[str], list[str]]:
    """What a token can do, and what it cannot."""
    can = [about for it, about in CAPABILITIES.items() if it in scopes]
    return can, [about for about in CAPABILITIES.values() if about not in can]


def client_block(url: str, token: str) -> dict[str, Json]:
    """The entry of an MCP client that sends this token."""
    headers: dict[str, Json] = {"Authorization": f"Bearer {token}"}
    entry: dict[str, Json] = {"type": "http", "url": f"{url}/mcp", "headers": headers}
    return {"mcpServers": {"pecia": entry}}


def _ask_scopes() -> list[str]:
    sys.stderr.write("What may it do? read, write (and read), or admin (everything) [read]: ")
    sys.stderr.flush()
    said = sys.stdin.readline().strip().lower() or "read"
    if said not in SCOPES:
        raise InvalidEnum(
            f"{said!r} is none of read, write, admin; no token was made",
            field="scopes",
            got=said,
            allowed=[*SCOPES],
            hint="pecia token make LABEL --scopes read",
        )
    return [said]


def _show_token(terminal: Terminal, document: dict[str, Json]) -> None:
    nested = ("can", "cannot", "client")
    show_facts(terminal, {name: it for name, it in document.items() if name not in nested})
    can, cannot = (cast(list[str], document[it]) for it in ("can", "cannot"))
    terminal.info(f"It can {', '.join(can)}." + (f" It cannot {', '.join(cannot)}." * bool(cannot)))
    if cannot:
        more = "--scopes admin" if len(cannot) == 1 else "--scopes write, or --scopes admin"
        terminal.info(f"For more: {more}.")
    terminal.info("It is shown only this once. In the configuration of an MCP client:")
    terminal.info(json.dumps(document["client"], indent=2))


COMMANDS = {
    "token make": DirectCommand(
        make_token,
        "Make a token; it is shown only once. On a terminal it asks what the token may do; else\n"
        "it may read. --json: the token and its facts, can, cannot, and client: the entry for an\n"
        "MCP client.",
        {
            "label": {"type": "string", "description": "What it is for."},
            "scopes": {
                "type": "array",
                "items": {"enum": [*NAMES]},
                "description": "write includes read; admin includes both.",
            },
            "user": {"type": "string", "description": "For somebody else: an administrator may."},
            "expires_in_days": {"type": "integer", "description": "90 unless given."},
        },
        ("label",),
        ("label",),
    )
}
