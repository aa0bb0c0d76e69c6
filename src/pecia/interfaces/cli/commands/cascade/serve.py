"""`pecia cascade serve`: MCP over stdio for one cascade, with or without a running server."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from pecia.interfaces.cli.commands.cascade.selection import (
    CascadeSelection,
    load_view,
    local_caller,
    open_local_cascades,
)
from pecia.interfaces.cli.output.terminal import terminal_of

if TYPE_CHECKING:
    from pecia.features.cascade.registry import CascadeRegistry
    from pecia.interfaces.mcp.transport.stdio.server import NotifyChanges

POLL_INTERVAL_S = 0.2


def serve(
    ctx: typer.Context,
    manifest: Path | None = typer.Option(None, help="The manifest of the cascade."),
    personal: Path | None = typer.Option(None, help="Your own folder, over --shared."),
    shared: Path | None = typer.Option(None, help="The folder that others share with you."),
) -> None:
    """Speak MCP on stdin and stdout, with exactly the four tools of the cascade."""
    import anyio

    from pecia.features.cascade.feature import cascade_feature
    from pecia.features.cascade.search import ConceptSearcher
    from pecia.interfaces.mcp.transport.stdio.server import serve_stdio

    terminal = terminal_of(ctx)
    cascades = open_local_cascades(terminal, CascadeSelection(manifest, personal, shared))
    names = ", ".join(cascades.origins)
    terminal.info(f"serving the cascade {names} over stdio")

    searcher = ConceptSearcher()

    async def watch(tell: "NotifyChanges") -> None:
        # Warm up: reading and indexing a large cascade takes a while.
        await load_view(terminal, cascades, searcher)
        await _notify_changes(cascades, tell)

    anyio.run(serve_stdio, cascade_feature(cascades, searcher), local_caller(), watch)


async def _notify_changes(cascades: "CascadeRegistry", tell: "NotifyChanges") -> None:
    """Report changes in the layers."""
    import anyio

    from pecia.features.cascade.resources import concept_uri

    known = await _concept_ids(cascades)
    while True:
        await anyio.sleep(POLL_INTERVAL_S)
        for name, concepts in (await cascades.take_changes()).items():
            now = await _concept_ids(cascades)
            await tell([concept_uri(name, it) for it in sorted(concepts)], now != known)
            known = now


async def _concept_ids(cascades: "CascadeRegistry") -> list[str]:
    return (await cascades.find_visible(local_caller(), None)).view.ids
