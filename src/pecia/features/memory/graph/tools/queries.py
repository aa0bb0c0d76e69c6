"""Read-only tools of the graph."""

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pecia.features.memory.core.format import format_now
from pecia.features.memory.graph.core.match import require_filter
from pecia.features.memory.graph.core.pattern import (
    SUPPORTED_PATTERNS,
    match_pattern,
    parse_path,
    parse_pattern,
)
from pecia.features.memory.graph.core.search import (
    GraphFilter,
    ScoredNode,
    TextMatchOptions,
    find_edges,
    find_nodes,
    score_nodes,
    suggest_names,
)
from pecia.features.memory.graph.model import (
    GraphEdge,
    GraphNode,
    KnowledgeGraph,
    shortest_path,
    traverse,
)
from pecia.features.memory.graph.store import load_graph
from pecia.features.memory.graph.tools.schemas import (
    EnhancedOut,
    EnhancedSearch,
    GetNeighbors,
    GraphSearchOut,
    NeighborsOut,
    QueryGraph,
    SearchGraph,
)
from pecia.features.memory.tools.search import FEATURE
from pecia.kernel.identity.caller import Scope
from pecia.kernel.store.store import Store
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, Tool

MAX_PATH_LENGTH = 6

_ASKING = re.compile(
    r"^\s*(?:(?:what|who|where|which|how|show|find|list|tell)\b|(?:is|are|do|does|me|all|the)\b|\s)+|\?+\s*$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class GraphQueryTools:
    """The handlers."""

    store: Store

    async def get_neighbors(self, call: Call, ask: GetNeighbors) -> NeighborsOut:
        """The neighbors of a node, with their edges."""
        graph = await self._graph(call)
        if ask.nodeId not in graph.nodes:
            message = f"Node '{ask.nodeId}' is not in the knowledge graph"
            return NeighborsOut(success=False, message=message, neighbors=[])
        edges = [
            it
            for it in graph.edges_at(ask.nodeId, ask.direction)
            if not ask.edgeTypes or it.type in ask.edgeTypes
        ]
        shown = [
            {"node": graph.nodes[it.other_end(ask.nodeId)].to_json(), "edge": it.to_json()}
            for it in edges[: ask.limit]
        ]
        return NeighborsOut(
            success=True, message=_format_count(len(edges), len(shown)), neighbors=shown
        )

    async def search_graph(self, call: Call, ask: SearchGraph) -> GraphSearchOut:
        """Find nodes and edges by labels, types, properties or text."""
        require_filter(ask.properties, "properties")
        graph = await self._graph(call)
        labels = [*ask.nodeLabels, *ask.labels]
        wanted = GraphFilter(labels, ask.edgeTypes, ask.properties, ask.textSearch)
        nodes = find_nodes(graph, wanted) if ask.searchType != "edges" else []
        edges = find_edges(graph, wanted) if ask.searchType != "nodes" else []
        return _search_out(nodes, edges, ask.limit, {"searchType": ask.searchType})

    async def query_graph(self, call: Call, ask: QueryGraph) -> GraphSearchOut:
        """Query by a simple pattern: (n:Label {name: "x"}), (a)-[r:TYPE]->(b), or START -> END for
        the shortest path."""
        graph = await self._graph(call)
        facts = {"queryType": ask.queryType, "query": ask.query}
        if ask.queryType == "path":
            return _query_path(graph, ask, facts)
        pattern = parse_pattern(ask.query, ask.parameters)
        if pattern is not None:
            nodes, edges = match_pattern(graph, pattern)
            return _search_out(nodes, edges, ask.limit, facts)
        if ask.queryType == "cypher" or "(" in ask.query:
            return _failed_out(f"Unsupported pattern. Supported: {SUPPORTED_PATTERNS}", facts)
        by_label = GraphFilter(labels=[ask.query.strip()], types=[ask.query.strip()])
        nodes = find_nodes(graph, by_label) if ask.queryType == "node" else []
        edges = find_edges(graph, by_label) if ask.queryType == "edge" else []
        return _search_out(nodes, edges, ask.limit, facts)

    async def enhanced_search(self, call: Call, ask: EnhancedSearch) -> EnhancedOut:
        """Find nodes by a question in natural language, tolerant of spelling, with related
        nodes."""
        started = time.perf_counter()
        graph = await self._graph(call)
        options = ask.options
        question = _ASKING.sub("", ask.query).strip() if options.naturalLanguage else ask.query
        question = question or ask.query
        manner = TextMatchOptions(
            options.semanticSearch,
            options.fuzzyMatching,
            options.fuzzyThreshold,
            options.searchProperties,
        )
        nodes: list[ScoredNode] = []
        if ask.searchType != "edges":
            named = find_nodes(graph, GraphFilter(labels=ask.nodeLabels))
            nodes = score_nodes(named, question, manner)[: ask.limit]
        edges: list[GraphEdge] = []
        if ask.searchType in ("edges", "both"):
            edges = find_edges(graph, GraphFilter(types=ask.edgeTypes, text=question))[: ask.limit]
        related = _related_nodes(
            graph, nodes, options.relationDepth if options.includeRelated else 0
        )
        return EnhancedOut(
            success=True,
            message=_format_count(len(nodes) + len(edges), len(nodes) + len(edges)),
            timestamp=format_now(),
            query={
                "original": ask.query,
                "processed": question,
                "type": ask.searchType,
                "confidence": nodes[0].score if nodes else 0.0,
            },
            results={
                "nodes": [_scored_out(it) for it in nodes],
                "edges": [it.to_json() for it in edges],
                "related": related[: ask.limit],
                "totalCount": len(nodes) + len(edges),
                "executionTime": round((time.perf_counter() - started) * 1000, 3),
            },
            suggestions=[] if nodes else suggest_names(graph, question),
        )

    async def _graph(self, call: Call) -> KnowledgeGraph:
        async with self.store.reading(call.caller) as tx:
            return await load_graph(tx)


def graph_query_tools(reading: GraphQueryTools) -> tuple[AnyTool, ...]:
    it, scope = reading, Scope.READ
    return (
        Tool(FEATURE, "cipher_get_neighbors", scope, GetNeighbors, NeighborsOut, it.get_neighbors),
        Tool(FEATURE, "cipher_search_graph", scope, SearchGraph, GraphSearchOut, it.search_graph),
        Tool(FEATURE, "cipher_query_graph", scope, QueryGraph, GraphSearchOut, it.query_graph),
        Tool(
            FEATURE,
            "cipher_enhanced_search",
            scope,
            EnhancedSearch,
            EnhancedOut,
            it.enhanced_search,
        ),
    )


def _query_path(graph: KnowledgeGraph, ask: QueryGraph, facts: dict[str, Any]) -> GraphSearchOut:
    ends = parse_path(ask.query)
    if ends is None or not {*ends} <= graph.nodes.keys():
        return _failed_out("A path is START -> END, with ids of existing nodes", facts)
    edges = shortest_path(graph, *ends, MAX_PATH_LENGTH)
    if edges is None:
        return _failed_out(f"No path of at most {MAX_PATH_LENGTH} steps", facts)
    ids = dict.fromkeys([ends[0], *(id_ for it in edges for id_ in (it.start_id, it.end_id))])
    return _search_out([graph.nodes[it] for it in ids], edges, ask.limit, facts)


def _related_nodes(
    graph: KnowledgeGraph, found: Sequence[ScoredNode], depth: int
) -> list[dict[str, Any]]:
    starts = [it.node.id for it in found]
    return [
        {"entity": graph.nodes[id_].to_json(), "relationship": edge.type, "distance": far}
        for id_, edge, far in traverse(graph, starts, depth)
    ]


def _scored_out(it: ScoredNode) -> dict[str, Any]:
    return {**it.node.to_json(), "score": it.score, "matchReason": it.reason}


def _search_out(
    nodes: Sequence[GraphNode], edges: Sequence[GraphEdge], limit: int, facts: dict[str, Any]
) -> GraphSearchOut:
    total = len(nodes) + len(edges)
    kept = [*nodes, *edges][:limit]
    results = {
        "nodes": [it.to_json() for it in kept if isinstance(it, GraphNode)],
        "edges": [it.to_json() for it in kept if isinstance(it, GraphEdge)],
        "totalCount": total,
        "searchMetadata": {**facts, "limit": limit, "truncated": total > len(kept)},
    }
    message = _format_count(total, len(kept))
    return GraphSearchOut(success=True, message=message, timestamp=format_now(), results=results)


def _failed_out(message: str, facts: dict[str, Any]) -> GraphSearchOut:
    results: dict[str, Any] = {
        "nodes": [],
        "edges": [],
        "totalCount": 0,
        "searchMetadata": facts,
    }
    return GraphSearchOut(success=False, message=message, timestamp=format_now(), results=results)


def _format_count(total: int, shown: int) -> str:
    return f"{total} found" if shown == total else f"{shown} of {total} shown"
