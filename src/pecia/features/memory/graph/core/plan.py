"""Plans a graph change before anything is written. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from pecia.features.memory.graph.core.search import name_of
from pecia.features.memory.graph.model import GraphEdge, GraphNode, KnowledgeGraph
from pecia.kernel.errors import Json

GraphOperation: TypeAlias = Literal[
    "replace_entity",
    "update_relationship",
    "merge_entities",
    "delete_relationships",
    "bulk_update",
    "conditional_update",
    "auto",
]


@dataclass(frozen=True, slots=True)
class GraphChange:
    """A requested change. Nodes are given by id or by name."""

    operation: GraphOperation
    one: str = ""
    other: str = ""
    type: str = ""
    new_type: str = ""
    labels: Sequence[str] = ()
    set: Mapping[str, Json] = field(default_factory=dict[str, Json])


@dataclass(frozen=True, slots=True)
class GraphPlan:
    """What would be written and deleted. `problem` says why nothing would."""

    nodes: tuple[GraphNode, ...] = ()
    edges: tuple[GraphEdge, ...] = ()
    gone_nodes: tuple[str, ...] = ()
    gone_edges: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    problem: str = ""

    @property
    def size(self) -> int:
        return sum(map(len, (self.nodes, self.edges, self.gone_nodes, self.gone_edges)))


def plan_change(graph: KnowledgeGraph, change: GraphChange) -> GraphPlan:
    """The plan for a change."""
    match change.operation:
        case "merge_entities":
            return _plan_merge(graph, change)
        case "replace_entity":
            return _plan_replace(graph, change)
        case "delete_relationships":
            gone = _select_edges(graph, change)
            return GraphPlan(
                gone_edges=tuple(it.id for it in gone), changes=_describe_changes("delete", gone)
            )
        case "update_relationship":
            return _plan_retype(graph, change)
        case "bulk_update" | "conditional_update":
            return _plan_update(graph, change)
        case "auto":
            return GraphPlan(problem="the operation is not supported")


def find_node(graph: KnowledgeGraph, name: str) -> GraphNode | None:
    """A node by its id, else the only one with that name."""
    if name in graph.nodes:
        return graph.nodes[name]
    named = [it for it in graph.nodes.values() if name_of(it).casefold() == name.casefold()]
    # `C` and `c` may both exist: an exact match wins.
    named = [it for it in named if name_of(it) == name] or named
    return named[0] if len(named) == 1 else None


def _plan_merge(graph: KnowledgeGraph, change: GraphChange) -> GraphPlan:
    """Merge the first into the second: its edges, and properties that the second lacks."""
    one, other = find_node(graph, change.one), find_node(graph, change.other)
    if one is None or other is None or one.id == other.id:
        return GraphPlan(problem="a merge needs two different nodes that exist")
    labels = tuple(dict.fromkeys((*other.labels, *one.labels)))
    kept = GraphNode(other.id, labels, {**one.properties, **other.properties})
    moved = [_reattach_edge(it, one.id, other.id) for it in graph.edges_at(one.id, "both")]
    loops = tuple(it.id for it in moved if it.start_id == it.end_id)
    edges = tuple(it for it in moved if it.id not in loops)
    summary = (f"merge {one.id} into {other.id}, with {len(edges)} edges",)
    return GraphPlan((kept,), edges, (one.id,), loops, summary)


def _plan_replace(graph: KnowledgeGraph, change: GraphChange) -> GraphPlan:
    """Move all edges of the first to the second, which is created if missing."""
    one = find_node(graph, change.one)
    if one is None or not change.other:
        return GraphPlan(problem="the node to replace does not exist, or no replacement is given")
    other = find_node(graph, change.other) or GraphNode(
        change.other[:200], one.labels, {"name": change.other}
    )
    if other.id == one.id:
        return GraphPlan(problem="a node cannot be replaced with itself")
    edges = tuple(_reattach_edge(it, one.id, other.id) for it in graph.edges_at(one.id, "both"))
    summary = (f"replace {one.id} with {other.id} in {len(edges)} edges",)
    new = () if other.id in graph.nodes else (other,)
    return GraphPlan(new, edges, (one.id,), (), summary)


def _plan_retype(graph: KnowledgeGraph, change: GraphChange) -> GraphPlan:
    edges = _select_edges(graph, change)
    if not change.new_type and not change.set:
        return GraphPlan(problem="give a new type or properties")
    changed = tuple(
        replace(it, type=change.new_type or it.type, properties={**it.properties, **change.set})
        for it in edges
    )
    return GraphPlan(edges=changed, changes=_describe_changes("update", edges))


def _plan_update(graph: KnowledgeGraph, change: GraphChange) -> GraphPlan:
    if not change.set:
        return GraphPlan(problem="properties are required")
    if change.operation == "conditional_update" and not (change.labels or change.one):
        return GraphPlan(problem="a condition is required: labels, or a node")
    nodes = [
        it
        for it in graph.nodes.values()
        if (not change.labels or {*change.labels} & {*it.labels})
        and (not change.one or it == find_node(graph, change.one))
    ]
    changed = tuple(replace(it, properties={**it.properties, **change.set}) for it in nodes)
    return GraphPlan(changed, changes=tuple(f"update {it.id}" for it in nodes))


def _select_edges(graph: KnowledgeGraph, change: GraphChange) -> list[GraphEdge]:
    ends = [(find_node(graph, it), it) for it in (change.one, change.other) if it]
    if any(node is None for node, _ in ends) or not (ends or change.type):
        return []
    ids = {node.id for node, _ in ends if node}
    return [
        it
        for it in graph.edges.values()
        if (not change.type or it.type.casefold() == change.type.casefold())
        and ids <= {it.start_id, it.end_id}
    ]


def _reattach_edge(edge: GraphEdge, before: str, after: str) -> GraphEdge:
    start = after if edge.start_id == before else edge.start_id
    end = after if edge.end_id == before else edge.end_id
    return replace(edge, start_id=start, end_id=end)


def _describe_changes(verb: str, edges: Sequence[GraphEdge]) -> tuple[str, ...]:
    return tuple(f"{verb} {it.start_id} -{it.type}-> {it.end_id}" for it in edges)
