"""`pecia cascade`: a cascade on this machine listed, read, searched, compared and trusted."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from pecia.doors.cli.cascade_serve import serve
from pecia.doors.cli.cascading import Asked, on_view
from pecia.doors.cli.configured import settled
from pecia.doors.cli.render import show, show_rows
from pecia.doors.cli.terminal import Terminal, terminal_of
from pecia.kernel.errors import Json, NotFound

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from pecia.rooms.cascade.view import View

    Work = Callable[[View], Awaitable[list[dict[str, Json]]]]

MANIFEST = typer.Option(None, "--manifest", help="The manifest of the cascade.")
PERSONAL = typer.Option(None, "--personal", help="Your own folder, over --shared.")
SHARED = typer.Option(None, "--shared", help="The folder that others share with you.")


def add_to(app: typer.Typer) -> None:
    group = typer.Typer(no_args_is_help=True, help="Layered knowledge, resolved when it is read.")
    group.command("list")(list_concepts)
    group.command("show")(show_concept)
    for command in (search, links, diff, conflicts, stale, problems, trust, serve):
        group.command()(command)
    app.add_typer(group, name="cascade")


def list_concepts(
    ctx: typer.Context,
    kind: str | None = typer.Option(None, "--type", help="Only this resolved type."),
    manifest: Path | None = MANIFEST,
    personal: Path | None = PERSONAL,
    shared: Path | None = SHARED,
) -> None:
    """Every effective concept, with its type, title and layers."""

    async def work(view: "View") -> list[dict[str, Json]]:
        return [it.value() for it in view.cards() if kind is None or it.type == kind]

    _rows(terminal_of(ctx), Asked(manifest, personal, shared), "concepts", work)


def show_concept(
    ctx: typer.Context,
    concept: str,
    layer: str | None = typer.Option(None, help="This layer alone, as it is written."),
    manifest: Path | None = MANIFEST,
    personal: Path | None = PERSONAL,
    shared: Path | None = SHARED,
) -> None:
    """One concept, resolved: Markdown with dissent in quotes, or with --json every detail."""
    from pecia.rooms.cascade.identity import concept_id
    from pecia.rooms.cascade.render import effective_value, raw_value

    async def work(view: "View") -> dict[str, Json]:
        wanted = concept_id(concept)
        if layer is not None:
            return raw_value(layer, view.in_layer(wanted, layer).document)
        degraded = view.degraded(wanted)
        value = effective_value(view.effective(wanted))
        return {**value, "degraded": degraded} if degraded else value

    terminal = terminal_of(ctx)
    value = on_view(terminal, Asked(manifest, personal, shared), work)
    _warn(terminal, value.get("degraded"))
    shown = value.get("markdown") or value
    terminal.give(value, lambda it: show(it, shown))


def search(
    ctx: typer.Context,
    query: str,
    limit: int = typer.Option(10, min=1, max=100),
    manifest: Path | None = MANIFEST,
    personal: Path | None = PERSONAL,
    shared: Path | None = SHARED,
) -> None:
    """Find concepts by words, in every layer."""
    from pecia.rooms.cascade.search import Searcher

    async def work(view: "View") -> list[dict[str, Json]]:
        return await Searcher().search(view, query, limit)

    _rows(terminal_of(ctx), Asked(manifest, personal, shared), "results", work)


def links(
    ctx: typer.Context,
    concept: str,
    manifest: Path | None = MANIFEST,
    personal: Path | None = PERSONAL,
    shared: Path | None = SHARED,
) -> None:
    """What a concept points to, and who points back."""
    from pecia.rooms.cascade.identity import concept_id

    async def work(view: "View") -> list[dict[str, Json]]:
        wanted = concept_id(concept)
        out = [{"way": "out", **it} for it in view.outgoing(wanted)]
        back: list[dict[str, Json]] = [
            {"way": "in", "raw": it.raw, "id": it.id, "layers": [it.layer]}
            for it in view.incoming(wanted)
        ]
        return [*out, *back]

    _rows(terminal_of(ctx), Asked(manifest, personal, shared), "links", work)


def diff(
    ctx: typer.Context,
    layer: str = typer.Option(..., help="The layer that is added or moved."),
    level: int | None = typer.Option(None, help="Where it moves to. Unset: it is added."),
    manifest: Path | None = MANIFEST,
    personal: Path | None = PERSONAL,
    shared: Path | None = SHARED,
) -> None:
    """What the effective view gains, loses and changes when a layer is added, or moved."""
    from pecia.rooms.cascade.survey import compare

    async def work(view: "View") -> list[dict[str, Json]]:
        if layer not in view.layers:
            raise NotFound(f"Unknown layer: {layer}", layer=layer, known=[*sorted(view.layers)])
        without, moved = view.without(layer), view.moved(layer, level or 0)
        pair = (without, view) if level is None else (view, moved)
        return [it.value() for it in compare(*pair)]

    _rows(terminal_of(ctx), Asked(manifest, personal, shared), "changes", work)


def conflicts(
    ctx: typer.Context,
    manifest: Path | None = MANIFEST,
    personal: Path | None = PERSONAL,
    shared: Path | None = SHARED,
) -> None:
    """Every contradiction between layers, the oldest first, with who could settle it."""
    from pecia.rooms.cascade.survey import conflicts as find

    async def work(view: "View") -> list[dict[str, Json]]:
        found = [*find(view, datetime.now(UTC))]
        return sorted(found, key=lambda it: -int(str(it["days"] or 0)))

    _rows(terminal_of(ctx), Asked(manifest, personal, shared), "conflicts", work)


def stale(
    ctx: typer.Context,
    manifest: Path | None = MANIFEST,
    personal: Path | None = PERSONAL,
    shared: Path | None = SHARED,
) -> None:
    """Concepts that should not be relied on any more, or changed since they were verified."""
    from pecia.rooms.cascade.survey import stale as find

    async def work(view: "View") -> list[dict[str, Json]]:
        return [*find(view, datetime.now(UTC))]

    _rows(terminal_of(ctx), Asked(manifest, personal, shared), "stale", work)


def problems(
    ctx: typer.Context,
    manifest: Path | None = MANIFEST,
    personal: Path | None = PERSONAL,
    shared: Path | None = SHARED,
) -> None:
    """Files that give no concept, and layers that are not whole, each with the reason."""

    async def work(view: "View") -> list[dict[str, Json]]:
        layers: list[dict[str, Json]] = [
            {"layer": it["layer"], "path": "", "code": "degraded", "message": it["reason"]}
            for it in view.degraded()
            if isinstance(it, dict)
        ]
        files: list[dict[str, Json]] = [
            {"layer": it.layer, "path": it.path, "code": it.code, "message": it.message}
            for it in view.problems()
        ]
        return [*layers, *files]

    _rows(terminal_of(ctx), Asked(manifest, personal, shared), "problems", work)


def trust(ctx: typer.Context, manifest: Path) -> None:
    """Let a manifest start the programs it names, as it is now. A changed one is not trusted."""
    from pecia.app.layers import trust_file
    from pecia.rooms.cascade.manifest import Kind, read_manifest

    terminal = terminal_of(ctx)
    read = read_manifest(manifest)
    trust_file(settled(terminal).kernel.home).add(read)
    programs: list[Json] = [
        {"layer": it.name, "argv": [*it.argv]} for it in read.layers if it.kind is Kind.MCP
    ]
    value: dict[str, Json] = {"manifest": str(read.file), "sha256": read.sha256}
    terminal.give({**value, "programs": programs}, lambda it: show(it, value))


def _rows(terminal: Terminal, asked: Asked, name: str, work: "Work") -> None:
    """A list of things, as a table or as one JSON document that says what is missing too."""

    async def both(view: "View") -> tuple[list[dict[str, Json]], list[Json]]:
        return await work(view), view.degraded()

    rows, degraded = on_view(terminal, asked, both)
    _warn(terminal, degraded)
    document: dict[str, Json] = {name: [*rows]}
    if degraded:
        document["degraded"] = degraded
    terminal.give(document, lambda it: show_rows(it, rows))


def _warn(terminal: Terminal, degraded: Json) -> None:
    for it in degraded if isinstance(degraded, list) else ():
        if isinstance(it, dict):
            terminal.say(f"degraded: {it['layer']}: {it['reason']}")
