"""The link graph: backlinks, dead links, orphans, and suggestions."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby

from anyio.to_thread import run_sync

from pecia.features.wiki.core.document import decode_any_charset
from pecia.features.wiki.core.graph import LinkGraph
from pecia.features.wiki.core.suggest import SuggestionResult, suggest_links
from pecia.features.wiki.space import OpenSpace, Wiki
from pecia.features.wiki.storage import disk
from pecia.features.wiki.tools.documents import (
    FEATURE,
    list_backlinks,
    list_forward_links,
    listing_fields,
)
from pecia.features.wiki.tools.pagination import MAX_ROWS, RowsPage, paginate_ranked
from pecia.features.wiki.tools.schemas import (
    BacklinksOut,
    ContextOut,
    DeadLinksOut,
    DocumentInput,
    ForwardOut,
    GetContext,
    GetDeadLinks,
    GetHubs,
    GetOrphans,
    HubsOut,
    LinksInput,
    ListingInput,
    OrphansOut,
    SuggestOut,
)
from pecia.kernel.errors import Json, PeciaError
from pecia.kernel.identity.caller import Scope
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, Tool, ToolResult

SUGGEST_BUDGET_S = 0.5
MAX_SUGGEST_S = 10.0
"""While there is nothing to show: mentions that are links already must not use up the budget."""


@dataclass(frozen=True, slots=True)
class LinkTools:
    """The handlers."""

    wiki: Wiki

    async def get_backlinks(self, call: Call, ask: LinksInput) -> ToolResult:
        """The documents that link to one, each with the sentence of its first link."""
        opened = await self.wiki.open_early(call, ask.cwd, ask.space, ask.docName)
        name = opened.find(ask.docName).name
        rows = list_backlinks(opened, await opened.graph(), name)
        page = _paginate(rows, [str(it["source"]) for it in rows], ask)
        _record_returned(opened, [str(it["source"]) for it in page.rows])
        return _page_result(opened, page, len(rows), docName=name, backlinks=[*page.rows])

    async def get_forward_links(self, call: Call, ask: LinksInput) -> ToolResult:
        """The documents and URLs that one links to. `dead` marks missing ones."""
        opened = await self.wiki.open_early(call, ask.cwd, ask.space, ask.docName)
        name = opened.find(ask.docName).name
        rows = list_forward_links(opened, await opened.graph(), name)
        page = _paginate(rows, [str(it.get("docName") or it.get("url")) for it in rows], ask)
        _record_returned(opened, [name])
        return _page_result(opened, page, len(rows), docName=name, forwardLinks=[*page.rows])

    async def get_hubs(self, call: Call, ask: GetHubs) -> ToolResult:
        """Documents by number of backlinks, most first."""
        opened = await self.wiki.open_early(call, ask.cwd, ask.space)
        graph = await opened.graph()
        rows: list[Json] = [
            {"docName": it, "title": graph.title(it), "count": count, **opened.preview.link(it)}
            for it, count in graph.hubs(ask.limit)
        ]
        _record_returned(opened, [_text(it, "docName") for it in rows])
        return ToolResult({"hubs": rows, **listing_fields(opened)})

    async def get_orphans(self, call: Call, ask: GetOrphans) -> ToolResult:
        """Documents that nothing links to, that link to nothing, or both (the default)."""
        opened = await self.wiki.open_early(call, ask.cwd, ask.space)
        graph = await opened.graph()
        templates = opened.template_names
        names = [it for it in graph.orphans(ask.mode) if it not in templates]
        rows: list[dict[str, Json]] = [
            {"docName": it, "title": graph.title(it), **opened.preview.link(it)} for it in names
        ]
        page = _paginate(rows, names, ask)
        _record_returned(opened, [str(it["docName"]) for it in page.rows])
        return _page_result(opened, page, len(rows), orphans=[*page.rows])

    async def get_dead_links(self, call: Call, ask: GetDeadLinks) -> ToolResult:
        """Link targets without a document, with who links there. `candidates` are named
        where a link is ambiguous."""
        opened = await self.wiki.open_early(call, ask.cwd, ask.space)
        wanted = ask.sourceDocNames
        sources = (
            None if wanted is None else {opened.parse_name(it, "sourceDocNames") for it in wanted}
        )
        graph = await opened.graph()
        if sources is None:
            # The links of a template mean something in the documents that are made of it.
            templates = opened.template_names
            sources = {it for it in graph.facts if it not in templates}
        rows: list[dict[str, Json]] = [
            {
                "target": dead.target,
                "source": it.source,
                "title": graph.title(it.source),
                "snippet": it.snippet,
                **({"candidates": [*it.candidates]} if it.candidates else {}),
                **opened.preview.link(it.source),
            }
            for dead in graph.dead_links(sources)
            if not opened.has_place(dead.target)
            for it in dead.edges
        ]
        page = _paginate(rows, [f"{it['target']}\0{it['source']}" for it in rows], ask)
        _record_returned(opened, [str(it["source"]) for it in page.rows])
        found: list[Json] = [
            {"target": target, "sources": [_without(it, "target") for it in links]}
            for target, links in groupby(page.rows, lambda it: it["target"])
        ]
        more: dict[str, Json] = _anchor_fields(opened, graph, sources) if ask.anchors else {}
        return _page_result(opened, page, len(rows), deadLinks=found, **more)

    async def get_context(self, call: Call, ask: GetContext) -> ToolResult:
        """The documents around one: those within some links of it, in either direction, nearest
        first, with title, description and how they are reached."""
        opened = await self.wiki.open_early(call, ask.cwd, ask.space, ask.docName)
        name = opened.find(ask.docName).name
        graph = await opened.graph()
        near = graph.find_near(name, ask.depth)
        rows: list[Json] = [
            {
                "docName": it.name,
                "title": graph.title(it.name),
                "description": graph.facts[it.name].description,
                "distance": it.distance,
                "via": it.via,
                **({} if it.relation is None else {"relation": it.relation}),
                **opened.preview.link(it.name),
            }
            for it in near[: ask.limit]
        ]
        _record_returned(opened, [name, *(_text(it, "docName") for it in rows)])
        fields: dict[str, Json] = {"docName": name, "documents": rows, "total": len(near)}
        return ToolResult({**fields, **listing_fields(opened)})

    async def suggest_links(self, call: Call, ask: DocumentInput) -> ToolResult:
        """Unlinked mentions of this document in others, by title or alias; each with its offset for
        edit_document and the link to insert."""
        opened = await self.wiki.open_early(call, ask.cwd, ask.space, ask.docName)
        document = opened.find(ask.docName)
        facts = (await opened.graph()).facts[document.name]
        title = facts.display_title(document.name)
        labels = [title, *facts.aliases]
        found = await run_sync(_suggest, opened, document.name, labels, _deadline_check())
        rows: list[Json] = [
            {
                "source": it.source,
                "excerpt": it.excerpt,
                "offset": it.offset,
                "line": it.line,
                "column": it.column,
                "text": it.text,
                "replacement": it.replacement,
                **opened.preview.link(it.source),
            }
            for it in found.mentions
        ]
        _record_returned(opened, [it.source for it in found.mentions])
        target: Json = {"docName": document.name, "title": title, "aliases": [*facts.aliases]}
        fields: dict[str, Json] = {"target": target, "mentions": rows, "truncated": found.truncated}
        return ToolResult(
            {**fields, **opened.preview.link(document.name), **listing_fields(opened)}
        )


def link_tools(wiki: Wiki) -> tuple[AnyTool, ...]:
    it = LinkTools(wiki)
    read = Scope.READ
    return (
        Tool(FEATURE, "get_backlinks", read, LinksInput, BacklinksOut, it.get_backlinks),
        Tool(FEATURE, "get_forward_links", read, LinksInput, ForwardOut, it.get_forward_links),
        Tool(FEATURE, "get_hubs", read, GetHubs, HubsOut, it.get_hubs),
        Tool(FEATURE, "get_orphans", read, GetOrphans, OrphansOut, it.get_orphans),
        Tool(FEATURE, "get_dead_links", read, GetDeadLinks, DeadLinksOut, it.get_dead_links),
        Tool(FEATURE, "get_context", read, GetContext, ContextOut, it.get_context),
        Tool(FEATURE, "suggest_links", read, DocumentInput, SuggestOut, it.suggest_links),
    )


def _deadline_check() -> Callable[[bool], bool]:
    begun = time.monotonic()

    def is_time_up(has_some: bool) -> bool:
        return time.monotonic() - begun > (SUGGEST_BUDGET_S if has_some else MAX_SUGGEST_S)

    return is_time_up


def _suggest(
    opened: OpenSpace, name: str, labels: list[str], is_time_up: Callable[[bool], bool]
) -> SuggestionResult:
    return suggest_links(name, labels, _texts(opened, name), is_time_up)


def _texts(opened: OpenSpace, but: str) -> Iterator[tuple[str, str]]:
    templates = opened.template_names
    for it in opened.documents.values():
        if it.name == but or it.name in templates:
            continue
        try:
            text = decode_any_charset(disk.read(opened.root, it.path))
        except PeciaError:
            continue
        if text is not None:
            yield it.name, text


def _anchor_fields(
    opened: OpenSpace, graph: LinkGraph, sources: set[str] | None
) -> dict[str, Json]:
    found = graph.dead_anchors(sources)
    rows: list[Json] = [
        {
            "source": it.source,
            "target": it.target,
            "anchor": it.anchor,
            "snippet": it.snippet,
            **opened.preview.link(it.source),
        }
        for it in found[:MAX_ROWS]
    ]
    _record_returned(opened, [_text(it, "source") for it in rows])
    return {"deadAnchors": rows, "deadAnchorTotal": len(found)}


def _paginate(rows: list[dict[str, Json]], keys: list[str], ask: ListingInput) -> RowsPage:
    return paginate_ranked(rows, keys, ask.cursor, ask.limit)


def _page_result(opened: OpenSpace, page: RowsPage, total: int, **fields: Json) -> ToolResult:
    ends: dict[str, Json] = {"total": total, "nextCursor": page.next_cursor}
    return ToolResult({**fields, **ends, **listing_fields(opened)})


def _without(row: dict[str, Json], key: str) -> Json:
    return {name: it for name, it in row.items() if name != key}


def _record_returned(opened: OpenSpace, names: list[str]) -> None:
    opened.record_returned([opened.documents[it].path for it in names if it in opened.documents])


def _text(row: Json, key: str) -> str:
    assert isinstance(row, dict)
    return str(row[key])
