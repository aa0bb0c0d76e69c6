"""Nodes and edges found by labels, types, properties and words. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher, get_close_matches
from typing import Any

import orjson

from pecia.kernel.errors import Json
from pecia.rooms.memory.graph.match import matches
from pecia.rooms.memory.graph.model import Edge, Graph, Node
from pecia.rooms.memory.likeness import coverage

NAMES = ("name", "description", "content", "title")
LEAST = 0.1


@dataclass(frozen=True, slots=True)
class Wanted:
    labels: Sequence[str] = ()
    types: Sequence[str] = ()
    properties: Mapping[str, Json] = field(default_factory=dict[str, Json])
    text: str = ""


@dataclass(frozen=True, slots=True)
class Manner:
    """How words are compared."""

    words: bool = True
    fuzzy: bool = True
    fuzzy_threshold: float = 0.6
    properties: Sequence[str] = NAMES


@dataclass(frozen=True, slots=True)
class Scored:
    node: Node
    score: float
    reason: str


def find_nodes(graph: Graph, wanted: Wanted) -> list[Node]:
    return [
        it
        for it in graph.nodes.values()
        if (not wanted.labels or {*wanted.labels} & {*it.labels})
        and matches(it.properties, wanted.properties)
        and _holds(wanted.text, it.id, *it.labels, it.properties)
    ]


def find_edges(graph: Graph, wanted: Wanted) -> list[Edge]:
    return [
        it
        for it in graph.edges.values()
        if (not wanted.types or it.type in wanted.types)
        and matches(it.properties, wanted.properties)
        and _holds(wanted.text, it.id, it.type, it.properties)
    ]


def scored_nodes(nodes: Sequence[Node], query: str, manner: Manner) -> list[Scored]:
    """Nodes like a query, best first, each with why."""
    found = [_scored(it, query, manner) for it in nodes]
    kept = [it for it in found if it.score >= LEAST]
    return sorted(kept, key=lambda it: (-it.score, it.node.id))


def near_names(graph: Graph, query: str) -> list[str]:
    """Names that somebody may have meant."""
    names = {name_of(it): None for it in graph.nodes.values()}
    return get_close_matches(query, [*names], n=3, cutoff=0.5)


def name_of(node: Node) -> str:
    found = node.properties.get("name") or node.properties.get("title")
    return found if isinstance(found, str) and found else node.id


def _scored(node: Node, query: str, manner: Manner) -> Scored:
    plain = query.casefold().strip()
    best = Scored(node, 0.0, "")
    for field_, text in _texts(node, manner.properties):
        for score, reason in _scores(text, plain, manner):
            if score > best.score:
                best = Scored(node, round(score, 6), f"{reason} in {field_}")
    return best


def _scores(text: str, query: str, manner: Manner) -> list[tuple[float, str]]:
    low = text.casefold()
    found = [(1.0, "the same")] if low == query else []
    if query and query in low:
        found.append((0.9, "the words as they stand"))
    if manner.words:
        found.append((0.8 * coverage(query, text), "words"))
    if manner.fuzzy and len(text) <= 200:
        ratio = SequenceMatcher(None, low, query).ratio()
        if ratio >= manner.fuzzy_threshold:
            found.append((0.85 * ratio, "nearly the same"))
    return found


def _texts(node: Node, properties: Sequence[str]) -> list[tuple[str, str]]:
    given = [(it, node.properties.get(it)) for it in properties]
    texts = [(name, text) for name, text in given if isinstance(text, str)]
    return [("id", node.id), *(("labels", it) for it in node.labels), *texts]


def _holds(text: str, *held: Any) -> bool:
    if not text:
        return True
    whole = " ".join(it if isinstance(it, str) else orjson.dumps(it).decode() for it in held)
    return text.casefold() in whole.casefold()
