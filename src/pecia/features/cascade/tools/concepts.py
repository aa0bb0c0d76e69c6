"""The four tools. Text blocks hold the bare value."""

import json
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from pecia.features.cascade.core.concept_id import parse_concept_id
from pecia.features.cascade.core.links import backlink_json
from pecia.features.cascade.core.render import contributors_json, effective_json, raw_json
from pecia.features.cascade.core.view import CascadeView
from pecia.features.cascade.registry import CascadeRegistry, VisibleCascade
from pecia.features.cascade.search import ConceptSearcher
from pecia.features.cascade.tools.schemas import (
    ConceptLinksOut,
    ConceptListOut,
    ConceptOut,
    ConceptSearch,
    ConceptSearchOut,
    GetLinks,
    ListConcepts,
    ReadConcept,
)
from pecia.kernel.errors import InvalidInput, Json
from pecia.kernel.identity.caller import Scope
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, Content, TextContent, Tool, ToolResult

FEATURE = "cascade"


@dataclass(frozen=True, slots=True)
class ConceptTools:
    """The handlers."""

    cascades: CascadeRegistry
    searcher: ConceptSearcher

    async def search(self, call: Call, ask: ConceptSearch) -> ToolResult:
        """Full-text search across all layers; one result per concept, with its contributing layers.

        Start here. Then read_file gives the whole concept, resolved.
        """
        if not ask.query.strip():
            raise InvalidInput("search requires a non-empty query string", field="query")
        seen = await self.cascades.find_visible(call.caller, ask.cascade)
        found: list[Json] = [*await self.searcher.search(seen.view, ask.query, ask.limit)]
        _record_returned(call, seen, [str(it["id"]) for it in found if isinstance(it, dict)])
        return _build_result(
            found, {"results": found}, seen.view.list_degraded(), problems_json(seen.view)
        )

    async def read_file(self, call: Call, ask: ReadConcept) -> ToolResult:
        """Read the effective concept: layers merged by section, with provenance and dissent.

        Pass layer to read one layer's raw, unmerged concept instead.
        """
        concept = parse_concept_id(ask.concept_id)
        seen = await self.cascades.find_visible(call.caller, ask.cascade, concept)
        if ask.layer is not None:
            value = raw_json(
                ask.layer, seen.view.get_layer_contribution(concept, ask.layer).document
            )
        else:
            value = effective_json(seen.view.effective(concept))
            if degraded := seen.view.list_degraded(concept):
                value["degraded"] = degraded
        _record_returned(call, seen, [concept])
        return _build_result(value, value, [])

    async def list_concepts(self, call: Call, ask: ListConcepts) -> ToolResult:
        """Every effective concept with its type, title and contributing layers, sorted by id."""
        seen = await self.cascades.find_visible(call.caller, ask.cascade)
        cards = [it for it in seen.view.list_cards() if ask.type is None or it.type == ask.type]
        start = bisect_right(cards, ask.cursor, key=lambda it: it.id) if ask.cursor else 0
        page = cards[start : start + ask.limit] if ask.limit else cards[start:]
        listed: list[Json] = [it.to_json() for it in page]
        value: dict[str, Json] = {"concepts": listed}
        if start + len(page) < len(cards):
            value["next_cursor"] = page[-1].id
        _record_returned(call, seen, [it.id for it in page])
        return _build_result(listed, value, seen.view.list_degraded(), problems_json(seen.view))

    async def get_links(self, call: Call, ask: GetLinks) -> ToolResult:
        """Outgoing and incoming links of a concept, resolved against the effective graph."""
        concept = parse_concept_id(ask.concept_id)
        seen = await self.cascades.find_visible(call.caller, ask.cascade, concept)
        effective = seen.view.effective(concept)
        value: dict[str, Json] = {
            "source": {"id": concept, "contributors": contributors_json(effective)},
            "outgoing": [*seen.view.outgoing_links(concept)],
            "incoming": [backlink_json(it) for it in seen.view.incoming_links(concept)],
        }
        if degraded := seen.view.list_degraded(concept):
            value["degraded"] = degraded
        _record_returned(call, seen, [concept])
        return _build_result(value, value, [])


def cascade_tools(cascades: CascadeRegistry, searcher: ConceptSearcher) -> tuple[AnyTool, ...]:
    """Exactly the tools of the reference."""
    it = ConceptTools(cascades, searcher)
    return (
        Tool(
            FEATURE,
            "search",
            Scope.SEARCH,
            ConceptSearch,
            ConceptSearchOut,
            it.search,
            idempotent=True,
        ),
        Tool(
            FEATURE, "read_file", Scope.READ, ReadConcept, ConceptOut, it.read_file, idempotent=True
        ),
        Tool(
            FEATURE,
            "list_concepts",
            Scope.READ,
            ListConcepts,
            ConceptListOut,
            it.list_concepts,
            idempotent=True,
        ),
        Tool(
            FEATURE,
            "get_links",
            Scope.READ,
            GetLinks,
            ConceptLinksOut,
            it.get_links,
            idempotent=True,
        ),
    )


MAX_PROBLEMS = 20


def problems_json(view: CascadeView) -> list[Json]:
    """Files of the layers that could not be read as written, with the reason."""
    found: list[Json] = [
        {"layer": it.layer, "path": it.path, "code": it.code, "message": it.message}
        for it in view.problems()[:MAX_PROBLEMS]
    ]
    if (left := len(view.problems()) - MAX_PROBLEMS) > 0:
        found.append({"more": left, "message": "the report `problems` lists them all"})
    return found


def _build_result(
    shown: Json,
    structured: dict[str, Json],
    degraded: list[Json],
    problems: Sequence[Json] = (),
) -> ToolResult:
    """Also as text, for clients that ignore structured content: degraded layers and problems."""
    content: list[Content] = [TextContent(json.dumps(shown, ensure_ascii=False, indent=2))]
    for name, values in (("degraded", degraded), ("problems", [*problems])):
        if values:
            structured = {**structured, name: values}
            content.append(TextContent(f"{name}: {json.dumps(values, ensure_ascii=False)}"))
    return ToolResult(structured, tuple(content))


def _record_returned(call: Call, seen: VisibleCascade, concepts: list[str]) -> None:
    call.record_returned(f"cascade:{seen.name}", concepts)
