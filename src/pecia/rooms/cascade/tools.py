"""The four tools, thin: a concept is found, resolved and shown. Text blocks hold the bare value."""

import json
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from pecia.kernel.errors import InvalidInput, Json
from pecia.kernel.identity.caller import Scope
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, Content, Result, Text, Tool
from pecia.rooms.cascade.cascades import Cascades, Seen
from pecia.rooms.cascade.identity import concept_id
from pecia.rooms.cascade.links import incoming_value
from pecia.rooms.cascade.render import contributors_value, effective_value, raw_value
from pecia.rooms.cascade.search import Searcher
from pecia.rooms.cascade.shapes import (
    ConceptOut,
    GetLinks,
    LinksOut,
    ListConcepts,
    ListOut,
    ReadFile,
    Search,
    SearchOut,
)
from pecia.rooms.cascade.view import View

ROOM = "cascade"


@dataclass(frozen=True, slots=True)
class Desk:
    """The handlers."""

    cascades: Cascades
    searcher: Searcher

    async def search(self, call: Call, ask: Search) -> Result:
        """Full-text search across all layers; one result a concept, with its contributing layers.

        Start here. Then read_file gives the whole concept, resolved.
        """
        if not ask.query.strip():
            raise InvalidInput("search requires a non-empty query string", field="query")
        seen = await self.cascades.seen(call.caller, ask.cascade)
        found: list[Json] = [*await self.searcher.search(seen.view, ask.query, ask.limit)]
        _returned(call, seen, [str(it["id"]) for it in found if isinstance(it, dict)])
        return _given(found, {"results": found}, seen.view.degraded(), problems_value(seen.view))

    async def read_file(self, call: Call, ask: ReadFile) -> Result:
        """Read the effective concept: layers merged by section, with provenance and dissent.

        Pass layer to read one layer's raw, unmerged concept instead.
        """
        concept = concept_id(ask.concept_id)
        seen = await self.cascades.seen(call.caller, ask.cascade, concept)
        if ask.layer is not None:
            value = raw_value(ask.layer, seen.view.in_layer(concept, ask.layer).document)
        else:
            value = effective_value(seen.view.effective(concept))
            if degraded := seen.view.degraded(concept):
                value["degraded"] = degraded
        _returned(call, seen, [concept])
        return _given(value, value, [])

    async def list_concepts(self, call: Call, ask: ListConcepts) -> Result:
        """Every effective concept with its type, title and contributing layers, sorted by id."""
        seen = await self.cascades.seen(call.caller, ask.cascade)
        cards = [it for it in seen.view.cards() if ask.type is None or it.type == ask.type]
        start = bisect_right(cards, ask.cursor, key=lambda it: it.id) if ask.cursor else 0
        page = cards[start : start + ask.limit] if ask.limit else cards[start:]
        listed: list[Json] = [it.value() for it in page]
        value: dict[str, Json] = {"concepts": listed}
        if start + len(page) < len(cards):
            value["next_cursor"] = page[-1].id
        _returned(call, seen, [it.id for it in page])
        return _given(listed, value, seen.view.degraded(), problems_value(seen.view))

    async def get_links(self, call: Call, ask: GetLinks) -> Result:
        """Outgoing and incoming links of a concept, resolved against the effective graph."""
        concept = concept_id(ask.concept_id)
        seen = await self.cascades.seen(call.caller, ask.cascade, concept)
        effective = seen.view.effective(concept)
        value: dict[str, Json] = {
            "source": {"id": concept, "contributors": contributors_value(effective)},
            "outgoing": [*seen.view.outgoing(concept)],
            "incoming": [incoming_value(it) for it in seen.view.incoming(concept)],
        }
        if degraded := seen.view.degraded(concept):
            value["degraded"] = degraded
        _returned(call, seen, [concept])
        return _given(value, value, [])


def cascade_tools(cascades: Cascades, searcher: Searcher) -> tuple[AnyTool, ...]:
    """Exactly the tools of the reference."""
    it = Desk(cascades, searcher)
    return (
        Tool(ROOM, "search", Scope.SEARCH, Search, SearchOut, it.search, idempotent=True),
        Tool(ROOM, "read_file", Scope.READ, ReadFile, ConceptOut, it.read_file, idempotent=True),
        Tool(
            ROOM,
            "list_concepts",
            Scope.READ,
            ListConcepts,
            ListOut,
            it.list_concepts,
            idempotent=True,
        ),
        Tool(ROOM, "get_links", Scope.READ, GetLinks, LinksOut, it.get_links, idempotent=True),
    )


MOST_PROBLEMS = 20


def problems_value(view: View) -> list[Json]:
    """Files of the layers that could not be read as they are written: which, where and why."""
    found: list[Json] = [
        {"layer": it.layer, "path": it.path, "code": it.code, "message": it.message}
        for it in view.problems()[:MOST_PROBLEMS]
    ]
    if (left := len(view.problems()) - MOST_PROBLEMS) > 0:
        found.append({"more": left, "message": "the report `problems` lists them all"})
    return found


def _given(
    shown: Json,
    structured: dict[str, Json],
    degraded: list[Json],
    problems: Sequence[Json] = (),
) -> Result:
    """Whoever reads only text learns too that a layer is missing, or that a file is broken."""
    content: list[Content] = [Text(json.dumps(shown, ensure_ascii=False, indent=2))]
    for name, told in (("degraded", degraded), ("problems", [*problems])):
        if told:
            structured = {**structured, name: told}
            content.append(Text(f"{name}: {json.dumps(told, ensure_ascii=False)}"))
    return Result(structured, tuple(content))


def _returned(call: Call, seen: Seen, concepts: list[str]) -> None:
    call.returned(f"cascade:{seen.name}", concepts)
