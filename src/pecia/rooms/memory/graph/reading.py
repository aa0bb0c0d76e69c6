"""The tools that look into a graph. They change nothing."""

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pecia.kernel.identity.caller import Scope
from pecia.kernel.store.store import Store
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, Tool
from pecia.rooms.memory.graph.match import require_filter
from pecia.rooms.memory.graph.model import Edge, Graph, Node, reached, shortest_path
from pecia.rooms.memory.graph.pattern import UNDERSTOOD, answer, read_path, read_pattern
from pecia.rooms.memory.graph.search import (
    Manner,
    Scored,
    Wanted,
    find_edges,
    find_nodes,
    near_names,
    scored_nodes,
)
from pecia.rooms.memory.graph.shapes import (
    EnhancedOut,
    EnhancedSearch,
    FoundOut,
    GetNeighbors,
    NeighborsOut,
    QueryGraph,
    SearchGraph,
)
from pecia.rooms.memory.graph.store import read_graph
from pecia.rooms.memory.recall import ROOM
from pecia.rooms.memory.shown import now

LONGEST_PATH = 6

_ASKING = re.compile(
    r"^\s*(?:(?:what|who|where|which|how|show|find|list|tell)\b|(?:is|are|do|does|me|all|the)\b|\s)+|\?+\s*$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Reading:
    """The handlers."""

    store: Store

    async def get_neighbors(self, call: Call, ask: GetNeighbors) -> NeighborsOut:
        """What hangs together with a node, and how."""
        graph = await self._graph(call)
        if ask.nodeId not in graph.nodes:
            message = f"Node '{ask.nodeId}' is not in the knowledge graph"
            return NeighborsOut(success=False, message=message, neighbors=[])
        edges = [
            it
            for it in graph.around(ask.nodeId, ask.direction)
            if not ask.edgeTypes or it.type in ask.edgeTypes
        ]
        shown = [
            {"node": graph.nodes[it.other(ask.nodeId)].shown(), "edge": it.shown()}
            for it in edges[: ask.limit]
        ]
        return NeighborsOut(success=True, message=_count(len(edges), len(shown)), neighbors=shown)

    async def search_graph(self, call: Call, ask: SearchGraph) -> FoundOut:
        """Find nodes and edges by labels, types, properties or words in them."""
        require_filter(ask.properties, "properties")
        graph = await self._graph(call)
        labels = [*ask.nodeLabels, *ask.labels]
        wanted = Wanted(labels, ask.edgeTypes, ask.properties, ask.textSearch)
        nodes = find_nodes(graph, wanted) if ask.searchType != "edges" else []
        edges = find_edges(graph, wanted) if ask.searchType != "nodes" else []
        return _found(nodes, edges, ask.limit, {"searchType": ask.searchType})

    async def query_graph(self, call: Call, ask: QueryGraph) -> FoundOut:
        """Ask by a simple pattern: (n:Label {name: "x"}), (a)-[r:TYPE]->(b), or START -> END for
        the shortest path."""
        graph = await self._graph(call)
        facts = {"queryType": ask.queryType, "query": ask.query}
        if ask.queryType == "path":
            return _path(graph, ask, facts)
        pattern = read_pattern(ask.query, ask.parameters)
        if pattern is not None:
            nodes, edges = answer(graph, pattern)
            return _found(nodes, edges, ask.limit, facts)
        if ask.queryType == "cypher" or "(" in ask.query:
            return _refused(f"The pattern is none that is understood: {UNDERSTOOD}", facts)
        by_label = Wanted(labels=[ask.query.strip()], types=[ask.query.strip()])
        nodes = find_nodes(graph, by_label) if ask.queryType == "node" else []
        edges = find_edges(graph, by_label) if ask.queryType == "edge" else []
        return _found(nodes, edges, ask.limit, facts)

    async def enhanced_search(self, call: Call, ask: EnhancedSearch) -> EnhancedOut:
        """Find things by a question in plain words, though they are spelled or worded otherwise,
        and what hangs together with them."""
        started = time.perf_counter()
        graph = await self._graph(call)
        options = ask.options
        asked = _ASKING.sub("", ask.query).strip() if options.naturalLanguage else ask.query
        asked = asked or ask.query
        manner = Manner(
            options.semanticSearch,
            options.fuzzyMatching,
            options.fuzzyThreshold,
            options.searchProperties,
        )
        nodes: list[Scored] = []
        if ask.searchType != "edges":
            named = find_nodes(graph, Wanted(labels=ask.nodeLabels))
            nodes = scored_nodes(named, asked, manner)[: ask.limit]
        edges: list[Edge] = []
        if ask.searchType in ("edges", "both"):
            edges = find_edges(graph, Wanted(types=ask.edgeTypes, text=asked))[: ask.limit]
        related = _related(graph, nodes, options.relationDepth if options.includeRelated else 0)
        return EnhancedOut(
            success=True,
            message=_count(len(nodes) + len(edges), len(nodes) + len(edges)),
            timestamp=now(),
            query={
                "original": ask.query,
                "processed": asked,
                "type": ask.searchType,
                "confidence": nodes[0].score if nodes else 0.0,
            },
            results={
                "nodes": [_scored(it) for it in nodes],
                "edges": [it.shown() for it in edges],
                "related": related[: ask.limit],
                "totalCount": len(nodes) + len(edges),
                "executionTime": round((time.perf_counter() - started) * 1000, 3),
            },
            suggestions=[] if nodes else near_names(graph, asked),
        )

    async def _graph(self, call: Call) -> Graph:
        async with self.store.reading(call.caller) as tx:
            return await read_graph(tx)


def reading_tools(reading: Reading) -> tuple[AnyTool, ...]:
    it, scope = reading, Scope.READ
    return (
        Tool(ROOM, "cipher_get_neighbors", scope, GetNeighbors, NeighborsOut, it.get_neighbors),
        Tool(ROOM, "cipher_search_graph", scope, SearchGraph, FoundOut, it.search_graph),
        Tool(ROOM, "cipher_query_graph", scope, QueryGraph, FoundOut, it.query_graph),
        Tool(
            ROOM, "cipher_enhanced_search", scope, EnhancedSearch, EnhancedOut, it.enhanced_search
        ),
    )


def _path(graph: Graph, ask: QueryGraph, facts: dict[str, Any]) -> FoundOut:
    ends = read_path(ask.query)
    if ends is None or not {*ends} <= graph.nodes.keys():
        return _refused(
            "A path is asked for as START -> END, by ids of nodes that are there", facts
        )
    edges = shortest_path(graph, *ends, LONGEST_PATH)
    if edges is None:
        return _refused(f"No path of at most {LONGEST_PATH} steps", facts)
    ids = dict.fromkeys([ends[0], *(id_ for it in edges for id_ in (it.start_id, it.end_id))])
    return _found([graph.nodes[it] for it in ids], edges, ask.limit, facts)


def _related(graph: Graph, found: Sequence[Scored], depth: int) -> list[dict[str, Any]]:
    starts = [it.node.id for it in found]
    return [
        {"entity": graph.nodes[id_].shown(), "relationship": edge.type, "distance": far}
        for id_, edge, far in reached(graph, starts, depth)
    ]


def _scored(it: Scored) -> dict[str, Any]:
    return {**it.node.shown(), "score": it.score, "matchReason": it.reason}


def _found(
    nodes: Sequence[Node], edges: Sequence[Edge], limit: int, facts: dict[str, Any]
) -> FoundOut:
    total = len(nodes) + len(edges)
    kept = [*nodes, *edges][:limit]
    results = {
        "nodes": [it.shown() for it in kept if isinstance(it, Node)],
        "edges": [it.shown() for it in kept if isinstance(it, Edge)],
        "totalCount": total,
        "searchMetadata": {**facts, "limit": limit, "truncated": total > len(kept)},
    }
    message = _count(total, len(kept))
    return FoundOut(success=True, message=message, timestamp=now(), results=results)


def _refused(message: str, facts: dict[str, Any]) -> FoundOut:
    results: dict[str, Any] = {
        "nodes": [],
        "edges": [],
        "totalCount": 0,
        "searchMetadata": facts,
    }
    return FoundOut(success=False, message=message, timestamp=now(), results=results)


def _count(total: int, shown: int) -> str:
    return f"{total} found" if shown == total else f"{shown} of {total} shown"
