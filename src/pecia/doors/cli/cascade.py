"""`pecia cascade`: a cascade listed, read, searched, compared and trusted."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from pecia.doors.cli.cascade_serve import serve
from pecia.doors.cli.cascading import Asked, called, on_view, reported, server_of
from pecia.doors.cli.configured import settled
from pecia.doors.cli.render import show, show_rows
from pecia.doors.cli.terminal import Terminal, terminal_of
from pecia.kernel.errors import Json

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from pecia.rooms.cascade.search import Searcher
    from pecia.rooms.cascade.view import View

    Work = Callable[[View], Awaitable[list[dict[str, Json]]]]

CASCADE = typer.Option(None, "--cascade", help="A cascade of the running server, by its name.")
MANIFEST = typer.Option(None, "--manifest", help="The manifest of a cascade of this machine.")
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
    cascade: str | None = CASCADE,
    manifest: Path | None = MANIFEST,
    personal: Path | None = PERSONAL,
    shared: Path | None = SHARED,
) -> None:
    """Every effective concept, with its type, title and layers."""
    terminal, asked = terminal_of(ctx), Asked(manifest, personal, shared, cascade)
    if server := server_of(terminal, asked):
        _give(terminal, "concepts", called(server, asked, "list_concepts", type=kind))
        return

    async def work(view: "View") -> list[dict[str, Json]]:
        return [it.value() for it in view.cards() if kind is None or it.type == kind]

    _rows(terminal, asked, "concepts", work)


def show_concept(
    ctx: typer.Context,
    concept: str,
    layer: str | None = typer.Option(None, help="This layer alone, as it is written."),
    cascade: str | None = CASCADE,
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

    terminal, asked = terminal_of(ctx), Asked(manifest, personal, shared, cascade)
    if server := server_of(terminal, asked):
        value = called(server, asked, "read_file", concept_id=concept, layer=layer)
    else:
        value = on_view(terminal, asked, work)
    _warn(terminal, value.get("degraded"))
    shown = value.get("markdown") or value
    terminal.give(value, lambda it: show(it, shown))


def search(
    ctx: typer.Context,
    query: str,
    limit: int = typer.Option(10, min=1, max=100),
    cascade: str | None = CASCADE,
    manifest: Path | None = MANIFEST,
    personal: Path | None = PERSONAL,
    shared: Path | None = SHARED,
) -> None:
    """Find concepts by words, in every layer."""
    from pecia.rooms.cascade.search import Searcher

    terminal, asked = terminal_of(ctx), Asked(manifest, personal, shared, cascade)
    if server := server_of(terminal, asked):
        _give(terminal, "results", called(server, asked, "search", query=query, limit=limit))
        return
    searcher = Searcher()

    async def work(view: "View") -> list[dict[str, Json]]:
        return await searcher.search(view, query, limit)

    _rows(terminal, asked, "results", work, searcher)


def links(
    ctx: typer.Context,
    concept: str,
    cascade: str | None = CASCADE,
    manifest: Path | None = MANIFEST,
    personal: Path | None = PERSONAL,
    shared: Path | None = SHARED,
) -> None:
    """What a concept points to, and who points back."""
    from pecia.rooms.cascade.identity import concept_id
    from pecia.rooms.cascade.links import incoming_value

    terminal, asked = terminal_of(ctx), Asked(manifest, personal, shared, cascade)
    if server := server_of(terminal, asked):
        found = called(server, asked, "get_links", concept_id=concept)
        rows = _both_ways(found["outgoing"], found["incoming"])
        _give(terminal, "links", {"links": rows, "degraded": found.get("degraded")})
        return

    async def work(view: "View") -> list[dict[str, Json]]:
        wanted = concept_id(concept)
        back = [incoming_value(it) for it in view.incoming(wanted)]
        return _both_ways(view.outgoing(wanted), back)

    _rows(terminal, asked, "links", work)


def diff(
    ctx: typer.Context,
    layer: str = typer.Option(..., help="The layer that is added or moved."),
    level: int | None = typer.Option(None, help="Where it moves to. Unset: it is added."),
    cascade: str | None = CASCADE,
    manifest: Path | None = MANIFEST,
    personal: Path | None = PERSONAL,
    shared: Path | None = SHARED,
) -> None:
    """What the effective view gains, loses and changes when a layer is added, or moved."""
    asked = Asked(manifest, personal, shared, cascade)
    _report(terminal_of(ctx), asked, "diff", layer, level)


def conflicts(
    ctx: typer.Context,
    cascade: str | None = CASCADE,
    manifest: Path | None = MANIFEST,
    personal: Path | None = PERSONAL,
    shared: Path | None = SHARED,
) -> None:
    """Every contradiction between layers, the oldest first, with who could settle it."""
    _report(terminal_of(ctx), Asked(manifest, personal, shared, cascade), "conflicts")


def stale(
    ctx: typer.Context,
    cascade: str | None = CASCADE,
    manifest: Path | None = MANIFEST,
    personal: Path | None = PERSONAL,
    shared: Path | None = SHARED,
) -> None:
    """Concepts that should not be relied on any more, or changed since they were verified."""
    _report(terminal_of(ctx), Asked(manifest, personal, shared, cascade), "stale")


def problems(
    ctx: typer.Context,
    cascade: str | None = CASCADE,
    manifest: Path | None = MANIFEST,
    personal: Path | None = PERSONAL,
    shared: Path | None = SHARED,
) -> None:
    """Files that give no concept, and layers that are not whole, each with the reason."""
    _report(terminal_of(ctx), Asked(manifest, personal, shared, cascade), "problems")


def trust(ctx: typer.Context, manifest: Path) -> None:
    """Let a manifest start the programs it names, as it is now. A changed one is not trusted."""
    from pecia.app.layers import trust_file
    from pecia.rooms.cascade.manifest import Kind, read_manifest

    terminal = terminal_of(ctx)
    read = read_manifest(manifest)
    trust_file(settled(terminal).kernel.home).add(read)
    programs: list[dict[str, Json]] = [
        {"layer": it.name, "argv": [*it.argv]} for it in read.layers if it.kind is Kind.MCP
    ]
    value: dict[str, Json] = {"manifest": str(read.file), "sha256": read.sha256}
    started: dict[str, Json] = {f"starts for {it['layer']}": it["argv"] for it in programs} or {
        "starts": None
    }
    terminal.give({**value, "programs": [*programs]}, lambda it: show(it, {**value, **started}))


def _report(
    terminal: Terminal, asked: Asked, name: str, layer: str | None = None, level: int | None = None
) -> None:
    from pecia.rooms.cascade.reports import Wanted, rows_of

    shown = "changes" if name == "diff" else name
    if server := server_of(terminal, asked):
        found = reported(server, asked, name, layer=layer, level=level)
        _give(terminal, shown, {**found, shown: found[name]})
        return

    async def work(view: "View") -> list[dict[str, Json]]:
        return rows_of(view, Wanted(name, layer, level))

    _rows(terminal, asked, shown, work)


def _rows(
    terminal: Terminal, asked: Asked, name: str, work: "Work", searcher: "Searcher | None" = None
) -> None:
    """A list of things, of a cascade that is read here."""

    async def both(view: "View") -> dict[str, Any]:
        from pecia.rooms.cascade.tools import problems_value

        found = {name: await work(view), "degraded": view.degraded()}
        return found if name == "problems" else {**found, "problems": problems_value(view)}

    _give(terminal, name, on_view(terminal, asked, both, searcher))


def _give(terminal: Terminal, name: str, found: dict[str, Any]) -> None:
    """A list of things, as a table or as one JSON document that says what is missing too."""
    rows, degraded = found[name], found.get("degraded")
    _warn(terminal, degraded)
    document: dict[str, Json] = {name: [*rows]}
    if degraded:
        document["degraded"] = degraded
    if name != "problems" and (broken := found.get("problems")):
        document["problems"] = broken
        for it in broken:
            where = f"{it['layer']}: {it['path']}: " if "path" in it else f"{it['more']} more: "
            terminal.say(f"problem: {where}{it['message']}")
    terminal.give(document, lambda it: show_rows(it, [_on_one_line(row) for row in rows]))


def _on_one_line(row: dict[str, Json]) -> dict[str, Json]:
    return {
        name: it.replace("\n", " ⏎ ") if isinstance(it, str) else it for name, it in row.items()
    }


def _both_ways(
    outgoing: list[dict[str, Json]], incoming: list[dict[str, Json]]
) -> list[dict[str, Json]]:
    out = [{"way": "out", **it} for it in outgoing]
    back: list[dict[str, Json]] = [
        {"way": "in", "raw": it["raw"], "id": it["id"], "layers": [it["layer"]]} for it in incoming
    ]
    return [*out, *back]


def _warn(terminal: Terminal, degraded: Json) -> None:
    for it in degraded if isinstance(degraded, list) else ():
        if isinstance(it, dict):
            terminal.say(f"degraded: {it['layer']}: {it['reason']}")
