"""Finds nodes and edges by labels, types, properties and text. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher, get_close_matches
from typing import Any

import orjson

from pecia.features.memory.core.compare.similarity import term_coverage
from pecia.features.memory.graph.core.match import matches_filter
from pecia.features.memory.graph.model import GraphEdge, GraphNode, KnowledgeGraph
from pecia.kernel.errors import Json

NAME_PROPERTIES = ("name", "description", "content", "title")
MIN_SCORE = 0.1


@dataclass(frozen=True, slots=True)
class GraphFilter:
    labels: Sequence[str] = ()
    types: Sequence[str] = ()
    properties: Mapping[str, Json] = field(default_factory=dict[str, Json])
    text: str = ""


@dataclass(frozen=True, slots=True)
class TextMatchOptions:
    """How texts are matched."""

    words: bool = True
    fuzzy: bool = True
    fuzzy_threshold: float = 0.6
    properties: Sequence[str] = NAME_PROPERTIES


@dataclass(frozen=True, slots=True)
class ScoredNode:
    node: GraphNode
    score: float
    reason: str


def find_nodes(graph: KnowledgeGraph, wanted: GraphFilter) -> list[GraphNode]:
    return [
        it
        for it in graph.nodes.values()
        if (not wanted.labels or {*wanted.labels} & {*it.labels})
        and matches_filter(it.properties, wanted.properties)
        and _contains_text(wanted.text, it.id, *it.labels, it.properties)
    ]


def find_edges(graph: KnowledgeGraph, wanted: GraphFilter) -> list[GraphEdge]:
    return [
        it
        for it in graph.edges.values()
        if (not wanted.types or it.type in wanted.types)
        and matches_filter(it.properties, wanted.properties)
        and _contains_text(wanted.text, it.id, it.type, it.properties)
    ]


def score_nodes(
    nodes: Sequence[GraphNode], query: str, manner: TextMatchOptions
) -> list[ScoredNode]:
    """Nodes matching a query, best first, each with the reason."""
    found = [_score_node(it, query, manner) for it in nodes]
    kept = [it for it in found if it.score >= MIN_SCORE]
    return sorted(kept, key=lambda it: (-it.score, it.node.id))


def suggest_names(graph: KnowledgeGraph, query: str) -> list[str]:
    """Similar names, as suggestions."""
    names = {name_of(it): None for it in graph.nodes.values()}
    return get_close_matches(query, [*names], n=3, cutoff=0.5)


def name_of(node: GraphNode) -> str:
    found = node.properties.get("name") or node.properties.get("title")
    return found if isinstance(found, str) and found else node.id


def _score_node(node: GraphNode, query: str, manner: TextMatchOptions) -> ScoredNode:
    plain = query.casefold().strip()
    best = ScoredNode(node, 0.0, "")
    for field_, text in _texts(node, manner.properties):
        for score, reason in _score_text(text, plain, manner):
            if score > best.score:
                best = ScoredNode(node, round(score, 6), f"{reason} in {field_}")
    return best


def _score_text(text: str, query: str, manner: TextMatchOptions) -> list[tuple[float, str]]:
    low = text.casefold()
    found = [(1.0, "the same")] if low == query else []
    if query and query in low:
        found.append((0.9, "exact phrase"))
    if manner.words:
        found.append((0.8 * term_coverage(query, text), "words"))
    if manner.fuzzy and len(text) <= 200:
        ratio = SequenceMatcher(None, low, query).ratio()
        if ratio >= manner.fuzzy_threshold:
            found.append((0.85 * ratio, "similar spelling"))
    return found


def _texts(node: GraphNode, properties: Sequence[str]) -> list[tuple[str, str]]:
    values = [(it, node.properties.get(it)) for it in properties]
    texts = [(name, text) for name, text in values if isinstance(text, str)]
    return [("id", node.id), *(("labels", it) for it in node.labels), *texts]


def _contains_text(text: str, *held: Any) -> bool:
    if not text:
        return True
    whole = " ".join(it if isinstance(it, str) else orjson.dumps(it).decode() for it in held)
    return text.casefold() in whole.casefold()
