"""Compares what a server offers now with what was approved. Pure: returns the rows to write."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from pecia.features.hub.core.tool_name import ToolNamePolicy
from pecia.features.hub.model import OfferedTool, StoredTool
from pecia.kernel.errors import Conflict


def detect_drift(
    server: str,
    offers: Sequence[OfferedTool],
    known: Iterable[StoredTool],
    naming: ToolNamePolicy,
    *,
    takes_changes: bool,
    is_initial: bool,
) -> list[StoredTool]:
    """The tools of a server that changed. `known` are those of every server.

    With `is_initial`, the tools of a server without any are approved with the server itself.
    Otherwise new and changed tools wait for approval, unless the server has `takes_changes`.
    """
    every = [*known]
    mine = {it.name: it for it in every if it.server == server}
    taken = {it.exposed: it.server for it in every if it.exposed}
    is_trusted = takes_changes or (is_initial and not mine)
    found: list[StoredTool] = []
    for it in offers:
        was = mine.get(it.name) or StoredTool(server, it.name, None, None, it)
        now = replace(was, offered=None if was.approved == it else it, is_gone=False)
        if is_trusted and now.offered is not None:
            now = approve_tool(now, naming, taken, must_be_named=not mine)
        if now.exposed:
            taken[now.exposed] = server
        if now != was or it.name not in mine:
            found.append(now)
    offered = {it.name for it in offers}
    gone = [it for it in mine.values() if it.name not in offered and not it.is_gone]
    return [*found, *(replace(it, is_gone=True) for it in gone)]


def approve_tool(
    tool: StoredTool, naming: ToolNamePolicy, taken: dict[str, str], *, must_be_named: bool = True
) -> StoredTool:
    """The tool with its current offer approved; its name, once assigned, stays."""
    held = tool.offered or tool.approved
    exposed = tool.exposed
    if exposed is None:
        try:
            exposed = naming.choose_name(tool.server, tool.name, taken)
        except Conflict:
            if must_be_named:
                raise
            # A name conflict here drops this tool only, not the whole refresh.
            return tool
    return replace(tool, exposed=exposed, approved=held, offered=None)
