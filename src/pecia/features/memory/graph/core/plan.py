"""Changes of a graph asked for in a sentence or by name, planned before anything is done. Pure."""

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
    """What is to be done. Names are ids, or what nodes are called."""

    operation: GraphOperation
    one: str = ""
    other: str = ""
    type: str = ""
    new_type: str = ""
    labels: Sequence[str] = ()
    set: Mapping[str, Json] = field(default_factory=dict[str, Json])


@dataclass(frozen=True, slots=True)
class GraphPlan:
    """What would be written and what would go. `problem` says why nothing would."""

    nodes: tuple[GraphNode, ...] = ()
    edges: tuple[GraphEdge, ...] = ()
    gone_nodes: tuple[str, ...] = ()
    gone_edges: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    problem: str = ""

    @property
    def size(self) -> int:
        return sum(map(len, (self.nodes, self.edges, self.gone_nodes, self.gone_edges)))


def plan_change(graph: KnowledgeGraph, wish: GraphChange) -> GraphPlan:
    """What the wish would change."""
    match wish.operation:
        case "merge_entities":
            return _plan_merge(graph, wish)
        case "replace_entity":
            return _plan_replace(graph, wish)
        case "delete_relationships":
            gone = _select_edges(graph, wish)
            return GraphPlan(
                gone_edges=tuple(it.id for it in gone), changes=_describe_changes("delete", gone)
            )
        case "update_relationship":
            return _plan_retype(graph, wish)
        case "bulk_update" | "conditional_update":
            return _plan_update(graph, wish)
        case "auto":
            return GraphPlan(problem="the instruction is none that is understood")


def find_node(graph: KnowledgeGraph, name: str) -> GraphNode | None:
    """A node by its id, else the only one of that name."""
    if name in graph.nodes:
        return graph.nodes[name]
    named = [it for it in graph.nodes.values() if name_of(it).casefold() == name.casefold()]
    # `C` and `c` may both be there: whoever writes one of them means that one.
    named = [it for it in named if name_of(it) == name] or named
    return named[0] if len(named) == 1 else None


def _plan_merge(graph: KnowledgeGraph, wish: GraphChange) -> GraphPlan:
    """The first becomes a part of the second: its edges, and what the second does not know."""
    one, other = find_node(graph, wish.one), find_node(graph, wish.other)
    if one is None or other is None or one.id == other.id:
        return GraphPlan(problem="two different nodes are merged, and one of them is not there")
    labels = tuple(dict.fromkeys((*other.labels, *one.labels)))
    kept = GraphNode(other.id, labels, {**one.properties, **other.properties})
    moved = [_reattach_edge(it, one.id, other.id) for it in graph.edges_at(one.id, "both")]
    loops = tuple(it.id for it in moved if it.start_id == it.end_id)
    edges = tuple(it for it in moved if it.id not in loops)
    told = (f"merge {one.id} into {other.id}, with {len(edges)} edges",)
    return GraphPlan((kept,), edges, (one.id,), loops, told)


def _plan_replace(graph: KnowledgeGraph, wish: GraphChange) -> GraphPlan:
    """All edges of the first go to the second, which is made where it is not there."""
    one = find_node(graph, wish.one)
    if one is None or not wish.other:
        return GraphPlan(problem="there is no such node to replace, or nothing to replace it with")
    other = find_node(graph, wish.other) or GraphNode(
        wish.other[:200], one.labels, {"name": wish.other}
    )
    if other.id == one.id:
        return GraphPlan(problem="a node is not replaced with itself")
    edges = tuple(_reattach_edge(it, one.id, other.id) for it in graph.edges_at(one.id, "both"))
    told = (f"replace {one.id} with {other.id} in {len(edges)} edges",)
    new = () if other.id in graph.nodes else (other,)
    return GraphPlan(new, edges, (one.id,), (), told)


def _plan_retype(graph: KnowledgeGraph, wish: GraphChange) -> GraphPlan:
    edges = _select_edges(graph, wish)
    if not wish.new_type and not wish.set:
        return GraphPlan(problem="neither a new type nor properties are given")
    changed = tuple(
        replace(it, type=wish.new_type or it.type, properties={**it.properties, **wish.set})
        for it in edges
    )
    return GraphPlan(edges=changed, changes=_describe_changes("update", edges))


def _plan_update(graph: KnowledgeGraph, wish: GraphChange) -> GraphPlan:
    if not wish.set:
        return GraphPlan(problem="no properties are given")
    if wish.operation == "conditional_update" and not (wish.labels or wish.one):
        return GraphPlan(problem="a condition is given: labels, or a node")
    nodes = [
        it
        for it in graph.nodes.values()
        if (not wish.labels or {*wish.labels} & {*it.labels})
        and (not wish.one or it == find_node(graph, wish.one))
    ]
    changed = tuple(replace(it, properties={**it.properties, **wish.set}) for it in nodes)
    return GraphPlan(changed, changes=tuple(f"update {it.id}" for it in nodes))


def _select_edges(graph: KnowledgeGraph, wish: GraphChange) -> list[GraphEdge]:
    ends = [(find_node(graph, it), it) for it in (wish.one, wish.other) if it]
    if any(node is None for node, _ in ends) or not (ends or wish.type):
        return []
    ids = {node.id for node, _ in ends if node}
    return [
        it
        for it in graph.edges.values()
        if (not wish.type or it.type.casefold() == wish.type.casefold())
        and ids <= {it.start_id, it.end_id}
    ]


def _reattach_edge(edge: GraphEdge, before: str, after: str) -> GraphEdge:
    start = after if edge.start_id == before else edge.start_id
    end = after if edge.end_id == before else edge.end_id
    return replace(edge, start_id=start, end_id=end)


def _describe_changes(verb: str, edges: Sequence[GraphEdge]) -> tuple[str, ...]:
    return tuple(f"{verb} {it.start_id} -{it.type}-> {it.end_id}" for it in edges)
