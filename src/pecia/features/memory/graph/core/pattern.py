"""The few patterns that `query_graph` supports: parser and matcher. Pure.

`(a:Label {name: "x"})`, `(a:Label)-[r:TYPE]->(b:Label)` with `MATCH … RETURN …` around them or not,
and `START -> END` for a path. Anything else is an error, never guessed at.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from pecia.features.memory.graph.core.match import matches_filter
from pecia.features.memory.graph.model import GraphEdge, GraphNode, KnowledgeGraph
from pecia.kernel.errors import Json

SUPPORTED_PATTERNS = (
    '`(n:Label {name: "x"})`, `(a:Label)-[r:TYPE]->(b:Label)`, both also in `MATCH … RETURN …`, '
    "and `START -> END` for a path"
)

_NODE = r"\(\s*\w*\s*(?::\s*(?P<{0}label>[\w-]+))?\s*(?P<{0}props>\{{[^}}]*\}})?\s*\)"
_EDGE = r"(?P<back><)?-\s*(?:\[\s*\w*\s*(?::\s*(?P<type>[\w-]+))?\s*\])?\s*-(?P<on>>)?"
_WHOLE = re.compile(
    r"\s*(?:MATCH\s+)?" + _NODE.format("a") + rf"(?P<edge>\s*{_EDGE}\s*" + _NODE.format("b") + r")?"
    r"\s*(?:RETURN\b[\w\s,.*]*)?;?\s*",
    re.IGNORECASE,
)
_PROPERTY = re.compile(
    r"\s*[\"']?(\w+)[\"']?\s*:\s*(?:\$(\w+)|\"([^\"]*)\"|'([^']*)'|(-?\d+(?:\.\d+)?)|(true|false))\s*",
    re.IGNORECASE,
)
_PATH = re.compile(r"\s*(\S+)\s*(?:->|-->|\bto\b)\s*(\S+)\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class NodePattern:
    label: str = ""
    properties: Mapping[str, Json] = field(default_factory=dict[str, Json])

    def matches(self, node: GraphNode) -> bool:
        return (not self.label or self.label in node.labels) and matches_filter(
            node.properties, self.properties
        )


@dataclass(frozen=True, slots=True)
class GraphPattern:
    """Nodes with a label or, with `end`, edges between two labels."""

    start: NodePattern
    end: NodePattern | None = None
    type: str = ""
    backwards: bool = False
    either_way: bool = False


def parse_pattern(query: str, parameters: Mapping[str, Json]) -> GraphPattern | None:
    """The pattern, or None where it is not supported."""
    found = _WHOLE.fullmatch(query)
    if not found:
        return None
    start = _properties(found["aprops"], parameters)
    end = _properties(found["bprops"], parameters)
    if start is None or end is None:
        return None
    first = NodePattern(found["alabel"] or "", start)
    if not found["edge"]:
        return GraphPattern(first)
    second = NodePattern(found["blabel"] or "", end)
    backwards = found["back"] is not None
    either_way = backwards == (found["on"] is not None)
    return GraphPattern(first, second, found["type"] or "", backwards, either_way)


def parse_path(query: str) -> tuple[str, str] | None:
    found = _PATH.fullmatch(query)
    return (found[1], found[2]) if found else None


def match_pattern(
    graph: KnowledgeGraph, pattern: GraphPattern
) -> tuple[list[GraphNode], list[GraphEdge]]:
    """The matching nodes, and with an edge in the pattern the matching edges."""
    end = pattern.end
    if end is None:
        return [it for it in graph.nodes.values() if pattern.start.matches(it)], []
    edges = [it for it in graph.edges.values() if _edge_matches(graph, it, pattern, end)]
    ids = dict.fromkeys(id_ for it in edges for id_ in (it.start_id, it.end_id))
    return [graph.nodes[it] for it in ids], edges


def _edge_matches(
    graph: KnowledgeGraph, edge: GraphEdge, pattern: GraphPattern, end: NodePattern
) -> bool:
    if pattern.type and edge.type != pattern.type:
        return False
    a, b = graph.nodes[edge.start_id], graph.nodes[edge.end_id]
    on = pattern.start.matches(a) and end.matches(b)
    back = pattern.start.matches(b) and end.matches(a)
    if pattern.either_way:
        return on or back
    return back if pattern.backwards else on


def _properties(text: str | None, parameters: Mapping[str, Json]) -> dict[str, Json] | None:
    """The properties in braces; None where they do not parse or name an unknown parameter."""
    found: dict[str, Json] = {}
    inside = (text or "{}").strip()[1:-1].strip()
    while inside:
        one = _PROPERTY.match(inside)
        if not one or (one[2] and one[2] not in parameters):
            return None
        found[one[1]] = parameters[one[2]] if one[2] else _value(one)
        rest = inside[one.end() :]
        if rest and not rest.startswith(","):
            return None
        inside = rest[1:]
    return found


def _value(found: re.Match[str]) -> Json:
    if found[5] is not None:
        return float(found[5]) if "." in found[5] else int(found[5])
    if found[6] is not None:
        return found[6].lower() == "true"
    return found[3] if found[3] is not None else found[4]
