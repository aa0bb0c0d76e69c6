"""What a server offers now, held against what was approved. Pure: it says what to write down."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from pecia.kernel.errors import Conflict
from pecia.rooms.hub.model import Kept, Offered
from pecia.rooms.hub.naming import Naming


def noticed(
    server: str,
    offers: Sequence[Offered],
    known: Iterable[Kept],
    naming: Naming,
    *,
    takes_changes: bool,
) -> list[Kept]:
    """The tools of a server that are not as they were. `known` are those of every server.

    What is seen at the first look is approved with the server itself. Of what comes later, a new
    tool and a changed one wait to be approved, unless the server's changes are taken.
    """
    every = [*known]
    mine = {it.name: it for it in every if it.server == server}
    taken = {it.exposed: it.server for it in every if it.exposed}
    is_trusted = takes_changes or not mine
    found: list[Kept] = []
    for it in offers:
        was = mine.get(it.name) or Kept(server, it.name, None, None, it)
        now = replace(was, offered=None if was.approved == it else it, is_gone=False)
        if is_trusted and now.offered is not None:
            now = approved(now, naming, taken, must_be_named=not mine)
        if now.exposed:
            taken[now.exposed] = server
        if now != was or it.name not in mine:
            found.append(now)
    offered = {it.name for it in offers}
    gone = [it for it in mine.values() if it.name not in offered and not it.is_gone]
    return [*found, *(replace(it, is_gone=True) for it in gone)]


def approved(
    tool: Kept, naming: Naming, taken: dict[str, str], *, must_be_named: bool = True
) -> Kept:
    """The tool with what is offered now as what holds; its name, once given, stays."""
    held = tool.offered or tool.approved
    exposed = tool.exposed
    if exposed is None:
        try:
            exposed = naming.exposed(tool.server, tool.name, taken)
        except Conflict:
            if must_be_named:
                raise
            # A conflict that nobody asked for costs this tool, and not the look at the others.
            return tool
    return replace(tool, exposed=exposed, approved=held, offered=None)
