"""Nodes and edges, and their traversal. Pure."""

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from pecia.kernel.errors import Json

Direction: TypeAlias = Literal["in", "out", "both"]


@dataclass(frozen=True, slots=True)
class GraphNode:
    id: str
    labels: tuple[str, ...]
    properties: Mapping[str, Json] = field(default_factory=dict[str, Json])

    def to_json(self) -> dict[str, Any]:
        return {"id": self.id, "labels": [*self.labels], "properties": dict(self.properties)}


@dataclass(frozen=True, slots=True)
class GraphEdge:
    id: str
    type: str
    start_id: str
    end_id: str
    properties: Mapping[str, Json] = field(default_factory=dict[str, Json])

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "type": self.type,
            "startNodeId": self.start_id,
            "endNodeId": self.end_id,
            "properties": dict(self.properties),
        }

    def other_end(self, node: str) -> str:
        return self.end_id if self.start_id == node else self.start_id


@dataclass(frozen=True, slots=True)
class KnowledgeGraph:
    """The whole graph of one owner."""

    nodes: Mapping[str, GraphNode]
    edges: Mapping[str, GraphEdge]

    def edges_at(self, node: str, direction: Direction) -> Iterator[GraphEdge]:
        """The edges at a node, in the order of their ids."""
        for it in self.edges.values():
            goes_out, comes_in = it.start_id == node, it.end_id == node
            if (goes_out and direction != "in") or (comes_in and direction != "out"):
                yield it

    def adjacency(self) -> dict[str, list[GraphEdge]]:
        """The edges at every node, for long traversals."""
        found: dict[str, list[GraphEdge]] = {it: [] for it in self.nodes}
        for edge in self.edges.values():
            found[edge.start_id].append(edge)
            if edge.end_id != edge.start_id:
                found[edge.end_id].append(edge)
        return found


def traverse(
    graph: KnowledgeGraph, starts: list[str], depth: int
) -> list[tuple[str, GraphEdge, int]]:
    """Breadth-first: nodes within so many steps, nearest first, each once, with its edge."""
    at = graph.adjacency()
    seen = {*starts}
    found: list[tuple[str, GraphEdge, int]] = []
    waiting = deque((it, 0) for it in starts if it in graph.nodes)
    while waiting:
        node, far = waiting.popleft()
        if far == depth:
            continue
        for edge in at[node]:
            other = edge.other_end(node)
            if other not in seen:
                seen.add(other)
                found.append((other, edge, far + 1))
                waiting.append((other, far + 1))
    return found


def shortest_path(
    graph: KnowledgeGraph, start: str, end: str, depth: int
) -> list[GraphEdge] | None:
    """The edges from one node to another, in either direction; None where it is too far."""
    if start == end:
        return []
    came: dict[str, GraphEdge] = {}
    for node, edge, _ in traverse(graph, [start], depth):
        came[node] = edge
        if node == end:
            break
    if end not in came:
        return None
    path: list[GraphEdge] = []
    while end != start:
        path.append(came[end])
        end = came[end].other_end(end)
    return path[::-1]
