"""The local name of an upstream tool: bare, or after a name collision (two servers have a tool of
the same name) prefixed, or none. Pure.

A name is assigned once, when the tool is approved, and stays: later tools get another.
"""

import hashlib
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from pecia.kernel.errors import Conflict

OnConflict: TypeAlias = Literal["prefix", "first-wins", "error"]

MAX_NAME_CHARS = 64
"""The strictest limit on tool names among model APIs."""
MAX_ALIAS_CHARS = 25
"""With its suffix, a server name is within the limit."""
SERVER_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]|_(?!_))*(?<!_)")

_AGENT_SERVER = re.compile(r".+-agent-[0-9a-f]{8}")


@dataclass(frozen=True, slots=True)
class ToolNamePolicy:
    """The conflict policy, and our own names, which no upstream tool may take."""

    on_conflict: OnConflict = "prefix"
    always_prefixed: bool = False
    built_in: Collection[str] = frozenset()

    def choose_name(self, server: str, tool: str, taken: Mapping[str, str]) -> str | None:
        """The name for a tool of a server. `taken` maps names in use to their owners.

        None: the name is taken, and the first keeps it. The prefixed form still works.
        """
        bare = shorten_name(tool)
        holder = "pecia" if bare in self.built_in else taken.get(bare)
        if holder is None and not self.always_prefixed:
            return bare
        if holder is not None and self.on_conflict == "error":
            raise Conflict(
                f"Tool name conflict: {tool} of {server} is already a tool of {holder}",
                tool=tool,
                servers=[holder, server],
                hint="Set hub.on_conflict to prefix or first-wins.",
            )
        if holder is not None and self.on_conflict == "first-wins":
            return None
        return self._choose_prefixed(server, tool, taken)

    def _choose_prefixed(self, server: str, tool: str, taken: Mapping[str, str]) -> str:
        name = prefix_name(server, tool)
        if name not in taken and name not in self.built_in:
            return name
        return shorten_name(f"{name}_{_short_hash(f'{server}/{tool}')}")


def prefix_name(server: str, tool: str) -> str:
    """The form that always works: `server__tool`."""
    return shorten_name(f"{server}__{tool}")


def agent_server_name(alias: str, mark: str) -> str:
    """The name of a server from an agent file: listed only in sessions with that file."""
    return f"{alias[:MAX_ALIAS_CHARS]}-agent-{mark}"


def is_agent_server(server: str) -> bool:
    return _AGENT_SERVER.fullmatch(server) is not None


def shorten_name(name: str) -> str:
    """The name within the limit of model APIs; a longer one is cut and ends in a hash."""
    return (
        name if len(name) <= MAX_NAME_CHARS else f"{name[: MAX_NAME_CHARS - 9]}_{_short_hash(name)}"
    )


def _short_hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]
