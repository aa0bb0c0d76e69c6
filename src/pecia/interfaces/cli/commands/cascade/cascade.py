"""`pecia cascade`: a cascade listed, read, searched, compared and trusted."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from pecia.interfaces.cli.commands.cascade.selection import (
    CascadeSelection,
    call_cascade_tool,
    fetch_report,
    run_on_view,
    select_server,
)
from pecia.interfaces.cli.commands.cascade.serve import serve
from pecia.interfaces.cli.output.render import show_document, show_rows
from pecia.interfaces.cli.output.terminal import Terminal, terminal_of
from pecia.interfaces.cli.settings import load_settings
from pecia.kernel.errors import Json

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from pecia.features.cascade.core.view import CascadeView
    from pecia.features.cascade.search import ConceptSearcher

    Work = Callable[[CascadeView], Awaitable[list[dict[str, Json]]]]

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
    terminal, asked = terminal_of(ctx), CascadeSelection(manifest, personal, shared, cascade)
    if server := select_server(terminal, asked):
        _print_rows(
            terminal, "concepts", call_cascade_tool(server, asked, "list_concepts", type=kind)
        )
        return

    async def work(view: "CascadeView") -> list[dict[str, Json]]:
        return [it.to_json() for it in view.list_cards() if kind is None or it.type == kind]

    _print_local_rows(terminal, asked, "concepts", work)


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
    from pecia.features.cascade.core.concept_id import parse_concept_id
    from pecia.features.cascade.core.render import effective_json, raw_json

    async def work(view: "CascadeView") -> dict[str, Json]:
        wanted = parse_concept_id(concept)
        if layer is not None:
            return raw_json(layer, view.get_layer_contribution(wanted, layer).document)
        degraded = view.list_degraded(wanted)
        value = effective_json(view.effective(wanted))
        return {**value, "degraded": degraded} if degraded else value

    terminal, asked = terminal_of(ctx), CascadeSelection(manifest, personal, shared, cascade)
    if server := select_server(terminal, asked):
        value = call_cascade_tool(server, asked, "read_file", concept_id=concept, layer=layer)
    else:
        value = run_on_view(terminal, asked, work)
    _warn_degraded(terminal, value.get("degraded"))
    shown = value.get("markdown") or value
    terminal.print_result(value, lambda it: show_document(it, shown))


def search(
    ctx: typer.Context,
    words: list[str] = typer.Argument(metavar="QUERY..."),
    limit: int = typer.Option(10, min=1, max=100),
    cascade: str | None = CASCADE,
    manifest: Path | None = MANIFEST,
    personal: Path | None = PERSONAL,
    shared: Path | None = SHARED,
) -> None:
    """Lexical search for concepts, in every layer."""
    from pecia.features.cascade.search import ConceptSearcher

    query = " ".join(words)
    terminal, asked = terminal_of(ctx), CascadeSelection(manifest, personal, shared, cascade)
    if server := select_server(terminal, asked):
        _print_rows(
            terminal,
            "results",
            call_cascade_tool(server, asked, "search", query=query, limit=limit),
        )
        return
    searcher = ConceptSearcher()

    async def work(view: "CascadeView") -> list[dict[str, Json]]:
        return await searcher.search(view, query, limit)

    _print_local_rows(terminal, asked, "results", work, searcher)


def links(
    ctx: typer.Context,
    concept: str,
    cascade: str | None = CASCADE,
    manifest: Path | None = MANIFEST,
    personal: Path | None = PERSONAL,
    shared: Path | None = SHARED,
) -> None:
    """The links of a concept, and its backlinks."""
    from pecia.features.cascade.core.concept_id import parse_concept_id
    from pecia.features.cascade.core.links import backlink_json

    terminal, asked = terminal_of(ctx), CascadeSelection(manifest, personal, shared, cascade)
    if server := select_server(terminal, asked):
        found = call_cascade_tool(server, asked, "get_links", concept_id=concept)
        rows = _merge_links(found["outgoing"], found["incoming"])
        _print_rows(terminal, "links", {"links": rows, "degraded": found.get("degraded")})
        return

    async def work(view: "CascadeView") -> list[dict[str, Json]]:
        wanted = parse_concept_id(concept)
        back = [backlink_json(it) for it in view.incoming_links(wanted)]
        return _merge_links(view.outgoing_links(wanted), back)

    _print_local_rows(terminal, asked, "links", work)


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
    asked = CascadeSelection(manifest, personal, shared, cascade)
    _print_report(terminal_of(ctx), asked, "diff", layer, level)


def conflicts(
    ctx: typer.Context,
    cascade: str | None = CASCADE,
    manifest: Path | None = MANIFEST,
    personal: Path | None = PERSONAL,
    shared: Path | None = SHARED,
) -> None:
    """Every contradiction between layers, the oldest first, with who could settle it."""
    _print_report(
        terminal_of(ctx), CascadeSelection(manifest, personal, shared, cascade), "conflicts"
    )


def stale(
    ctx: typer.Context,
    cascade: str | None = CASCADE,
    manifest: Path | None = MANIFEST,
    personal: Path | None = PERSONAL,
    shared: Path | None = SHARED,
) -> None:
    """Concepts that should not be relied on any more, or changed since they were verified."""
    _print_report(terminal_of(ctx), CascadeSelection(manifest, personal, shared, cascade), "stale")


def problems(
    ctx: typer.Context,
    cascade: str | None = CASCADE,
    manifest: Path | None = MANIFEST,
    personal: Path | None = PERSONAL,
    shared: Path | None = SHARED,
) -> None:
    """Files without a concept, and incomplete layers, each with the reason."""
    _print_report(
        terminal_of(ctx), CascadeSelection(manifest, personal, shared, cascade), "problems"
    )


def trust(ctx: typer.Context, manifest: Path) -> None:
    """Let a manifest start the programs it names, as it is now. A changed one is not trusted."""
    from pecia.app.composition.cascade import open_trust_file
    from pecia.features.cascade.manifest import LayerKind, read_manifest

    terminal = terminal_of(ctx)
    read = read_manifest(manifest)
    open_trust_file(load_settings(terminal).kernel.home).add(read)
    programs: list[dict[str, Json]] = [
        {"layer": it.name, "argv": [*it.argv]} for it in read.layers if it.kind is LayerKind.MCP
    ]
    value: dict[str, Json] = {"manifest": str(read.file), "sha256": read.sha256}
    started: dict[str, Json] = {f"starts for {it['layer']}": it["argv"] for it in programs} or {
        "starts": None
    }
    terminal.print_result(
        {**value, "programs": [*programs]}, lambda it: show_document(it, {**value, **started})
    )


def _print_report(
    terminal: Terminal,
    asked: CascadeSelection,
    name: str,
    layer: str | None = None,
    level: int | None = None,
) -> None:
    from pecia.features.cascade.reports import ReportRequest, build_report

    shown = "changes" if name == "diff" else name
    if server := select_server(terminal, asked):
        found = fetch_report(server, asked, name, layer=layer, level=level)
        _print_rows(terminal, shown, {**found, shown: found[name]})
        return

    async def work(view: "CascadeView") -> list[dict[str, Json]]:
        return build_report(view, ReportRequest(name, layer, level))

    _print_local_rows(terminal, asked, shown, work)


def _print_local_rows(
    terminal: Terminal,
    asked: CascadeSelection,
    name: str,
    work: "Work",
    searcher: "ConceptSearcher | None" = None,
) -> None:
    """Print a list from a cascade that is read here."""

    async def both(view: "CascadeView") -> dict[str, Any]:
        from pecia.features.cascade.tools.concepts import problems_json

        found = {name: await work(view), "degraded": view.list_degraded()}
        return found if name == "problems" else {**found, "problems": problems_json(view)}

    _print_rows(terminal, name, run_on_view(terminal, asked, both, searcher))


def _print_rows(terminal: Terminal, name: str, found: dict[str, Any]) -> None:
    """Print a list, as a table or as one JSON document that includes problems."""
    rows, degraded = found[name], found.get("degraded")
    _warn_degraded(terminal, degraded)
    document: dict[str, Json] = {name: [*rows]}
    if degraded:
        document["degraded"] = degraded
    if name != "problems" and (broken := found.get("problems")):
        document["problems"] = broken
        for it in broken:
            where = f"{it['layer']}: {it['path']}: " if "path" in it else f"{it['more']} more: "
            terminal.info(f"problem: {where}{it['message']}")
    terminal.print_result(document, lambda it: show_rows(it, [_flatten_row(row) for row in rows]))


def _flatten_row(row: dict[str, Json]) -> dict[str, Json]:
    return {
        name: it.replace("\n", " ⏎ ") if isinstance(it, str) else it for name, it in row.items()
    }


def _merge_links(
    outgoing: list[dict[str, Json]], incoming: list[dict[str, Json]]
) -> list[dict[str, Json]]:
    out = [{"way": "out", **it} for it in outgoing]
    back: list[dict[str, Json]] = [
        {"way": "in", "raw": it["raw"], "id": it["id"], "layers": [it["layer"]]} for it in incoming
    ]
    return [*out, *back]


def _warn_degraded(terminal: Terminal, degraded: Json) -> None:
    for it in degraded if isinstance(degraded, list) else ():
        if isinstance(it, dict):
            terminal.info(f"degraded: {it['layer']}: {it['reason']}")
