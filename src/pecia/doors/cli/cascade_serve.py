"""`pecia cascade serve`: one cascade spoken over stdio, with or without a running server."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from pecia.doors.cli.cascading import Asked, alone, opened, typist
from pecia.doors.cli.terminal import terminal_of

if TYPE_CHECKING:
    from pecia.doors.mcp.alone import Tell
    from pecia.rooms.cascade.cascades import Cascades

LOOK_EVERY_S = 0.2


def serve(
    ctx: typer.Context,
    manifest: Path | None = typer.Option(None, help="The manifest of the cascade."),
    personal: Path | None = typer.Option(None, help="Your own folder, over --shared."),
    shared: Path | None = typer.Option(None, help="The folder that others share with you."),
) -> None:
    """Speak MCP on stdin and stdout, with exactly the four tools of the cascade."""
    import anyio

    from pecia.doors.mcp.alone import serve_alone
    from pecia.rooms.cascade.room import room_over
    from pecia.rooms.cascade.search import Searcher

    terminal = terminal_of(ctx)
    cascades = alone(terminal, Asked(manifest, personal, shared))
    names = ", ".join(cascades.places)
    terminal.say(f"serving the cascade {names} over stdio")

    searcher = Searcher()

    async def watching(tell: "Tell") -> None:
        # Before somebody asks: reading and indexing a large cascade takes a while.
        await opened(terminal, cascades, searcher)
        await _watch(cascades, tell)

    anyio.run(serve_alone, room_over(cascades, searcher), typist(), watching)


async def _watch(cascades: "Cascades", tell: "Tell") -> None:
    """Tell what changes in the layers."""
    import anyio

    from pecia.rooms.cascade.resources import uri_of

    known = await _ids(cascades)
    while True:
        await anyio.sleep(LOOK_EVERY_S)
        for name, concepts in (await cascades.news()).items():
            now = await _ids(cascades)
            await tell([uri_of(name, it) for it in sorted(concepts)], now != known)
            known = now


async def _ids(cascades: "Cascades") -> list[str]:
    return (await cascades.seen(typist(), None)).view.ids
