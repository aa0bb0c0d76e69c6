"""The link graph: who links to whom, what leads nowhere, and where a link is missing."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from anyio.to_thread import run_sync

from pecia.kernel.errors import Json, PeciaError
from pecia.kernel.identity.caller import Scope
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, Result, Tool
from pecia.rooms.wiki import disk
from pecia.rooms.wiki.names import document_name
from pecia.rooms.wiki.stored import readable
from pecia.rooms.wiki.suggest import Suggested, suggest
from pecia.rooms.wiki.tools.reading import ROOM, backlink_rows, forward_rows, listed
from pecia.rooms.wiki.tools.shapes import (
    BacklinksOut,
    DeadLinksOut,
    ForwardOut,
    GetDeadLinks,
    GetHubs,
    GetOrphans,
    HubsOut,
    OneDocument,
    OrphansOut,
    SuggestOut,
)
from pecia.rooms.wiki.wiki import Opened, Wiki

BUDGET_S = 0.5


@dataclass(frozen=True, slots=True)
class Graphing:
    """The handlers."""

    wiki: Wiki

    async def get_backlinks(self, call: Call, ask: OneDocument) -> Result:
        """The documents that link to one, each with the sentence of its first link."""
        opened = await self.wiki.open(call, ask.cwd, ask.space)
        name = opened.find(ask.docName).name
        rows = backlink_rows(opened, await opened.graph(), name)
        _note(opened, [_text(it, "source") for it in rows])
        return Result({"docName": name, "backlinks": rows, **listed(opened)})

    async def get_forward_links(self, call: Call, ask: OneDocument) -> Result:
        """The documents and addresses that one links to. `dead` marks those that are not there."""
        opened = await self.wiki.open(call, ask.cwd, ask.space)
        name = opened.find(ask.docName).name
        rows = forward_rows(opened, await opened.graph(), name)
        _note(opened, [name])
        return Result({"docName": name, "forwardLinks": rows, **listed(opened)})

    async def get_hubs(self, call: Call, ask: GetHubs) -> Result:
        """Documents by the number of others that link to them, the most first."""
        opened = await self.wiki.open(call, ask.cwd, ask.space)
        graph = await opened.graph()
        rows: list[Json] = [
            {"docName": it, "title": graph.title(it), "count": count, **opened.preview.link(it)}
            for it, count in graph.hubs(ask.limit)
        ]
        _note(opened, [_text(it, "docName") for it in rows])
        return Result({"hubs": rows, **listed(opened)})

    async def get_orphans(self, call: Call, ask: GetOrphans) -> Result:
        """Documents that nothing links to, that link to nothing, or both (the default)."""
        opened = await self.wiki.open(call, ask.cwd, ask.space)
        graph = await opened.graph()
        names = graph.orphans(ask.mode)
        rows: list[Json] = [
            {"docName": it, "title": graph.title(it), **opened.preview.link(it)} for it in names
        ]
        _note(opened, names)
        return Result({"orphans": rows, **listed(opened)})

    async def get_dead_links(self, call: Call, ask: GetDeadLinks) -> Result:
        """Link targets that no document answers, with who links there. `candidates` are named
        where a link could mean several."""
        opened = await self.wiki.open(call, ask.cwd, ask.space)
        wanted = ask.sourceDocNames
        sources = None if wanted is None else {document_name(it, "sourceDocNames") for it in wanted}
        graph = await opened.graph()
        rows: list[Json] = []
        for dead in graph.dead(sources):
            edges: list[Json] = [
                {
                    "source": it.source,
                    "title": graph.title(it.source),
                    "snippet": it.snippet,
                    **({"candidates": [*it.candidates]} if it.candidates else {}),
                    **opened.preview.link(it.source),
                }
                for it in dead.edges
            ]
            rows.append({"target": dead.target, "sources": edges})
            _note(opened, [it.source for it in dead.edges])
        return Result({"deadLinks": rows, **listed(opened)})

    async def suggest_links(self, call: Call, ask: OneDocument) -> Result:
        """Places in other documents that name this one, by title or alias, without a link; each
        with its offset for edit_document and the link to put there."""
        opened = await self.wiki.open(call, ask.cwd, ask.space)
        document = opened.find(ask.docName)
        facts = (await opened.graph()).facts[document.name]
        title = facts.shown_title(document.name)
        labels = [title, *facts.aliases]
        found = await run_sync(_suggested, opened, document.name, labels, _clock(BUDGET_S))
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
        _note(opened, [it.source for it in found.mentions])
        target: Json = {"docName": document.name, "title": title, "aliases": [*facts.aliases]}
        told: dict[str, Json] = {"target": target, "mentions": rows, "truncated": found.truncated}
        return Result({**told, **opened.preview.link(document.name), **listed(opened)})


def graphing_tools(wiki: Wiki) -> tuple[AnyTool, ...]:
    it = Graphing(wiki)
    read = Scope.READ
    return (
        Tool(ROOM, "get_backlinks", read, OneDocument, BacklinksOut, it.get_backlinks),
        Tool(ROOM, "get_forward_links", read, OneDocument, ForwardOut, it.get_forward_links),
        Tool(ROOM, "get_hubs", read, GetHubs, HubsOut, it.get_hubs),
        Tool(ROOM, "get_orphans", read, GetOrphans, OrphansOut, it.get_orphans),
        Tool(ROOM, "get_dead_links", read, GetDeadLinks, DeadLinksOut, it.get_dead_links),
        Tool(ROOM, "suggest_links", read, OneDocument, SuggestOut, it.suggest_links),
    )


def _clock(budget_s: float) -> Callable[[], bool]:
    end = time.monotonic() + budget_s
    return lambda: time.monotonic() > end


def _suggested(
    opened: Opened, name: str, labels: list[str], is_time_up: Callable[[], bool]
) -> Suggested:
    return suggest(name, labels, _texts(opened, name), is_time_up)


def _texts(opened: Opened, but: str) -> Iterator[tuple[str, str]]:
    for it in opened.documents.values():
        if it.name == but:
            continue
        try:
            text = readable(disk.read(opened.root, it.path))
        except PeciaError:
            continue
        if text is not None:
            yield it.name, text


def _note(opened: Opened, names: list[str]) -> None:
    opened.returned([opened.documents[it].path for it in names if it in opened.documents])


def _text(row: Json, key: str) -> str:
    assert isinstance(row, dict)
    return str(row[key])
