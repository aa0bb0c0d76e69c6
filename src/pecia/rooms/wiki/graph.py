"""The links among documents: who links to whom, what leads nowhere, what stands alone. Pure."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from pecia.kernel.text.link import LinkKind
from pecia.kernel.text.names import Names
from pecia.kernel.text.resolve import (
    WIKI_RULES,
    Ambiguous,
    External,
    Found,
    Missing,
    Resolution,
    resolve_link,
)
from pecia.rooms.wiki.facts import Facts, Mention

OrphanMode: TypeAlias = Literal["incoming", "outgoing", "both"]


@dataclass(frozen=True, slots=True)
class Edge:
    """A link of one document to a place for another. Alive: the document is there."""

    source: str
    target: str
    anchor: str | None
    snippet: str
    alive: bool
    candidates: tuple[str, ...] = ()
    """Documents that it could mean equally well, where that is why it is not alive."""


@dataclass(frozen=True, slots=True)
class Address:
    """A link out of the space."""

    url: str
    title: str
    snippet: str


@dataclass(frozen=True, slots=True)
class Dead:
    """A place that no document answers, and who links there."""

    target: str
    edges: tuple[Edge, ...]


@dataclass(frozen=True, slots=True)
class Graph:
    """Edges once for each pair of documents. A document's links to itself do not count."""

    facts: Mapping[str, Facts]
    names: Names
    outgoing: Mapping[str, tuple[Edge, ...]]
    incoming: Mapping[str, tuple[Edge, ...]]
    addresses: Mapping[str, tuple[Address, ...]]

    def title(self, name: str) -> str:
        facts = self.facts.get(name)
        return facts.shown_title(name) if facts else name

    def backlinks(self, name: str) -> list[Edge]:
        """By source."""
        found = [it for it in self.incoming.get(name, ()) if it.alive]
        return sorted(found, key=lambda it: it.source)

    def forward(self, name: str) -> list[Edge]:
        """By target, be there a document or not."""
        return sorted(self.outgoing.get(name, ()), key=lambda it: it.target)

    def hubs(self, limit: int) -> list[tuple[str, int]]:
        """Documents by how many others link to them."""
        counts = ((it, len(self.backlinks(it))) for it in self.facts)
        ranked = sorted((it for it in counts if it[1]), key=lambda it: (-it[1], it[0]))
        return ranked[:limit]

    def orphans(self, mode: OrphanMode) -> list[str]:
        """Documents that nothing links to, that link to nothing, or both."""
        return sorted(it for it in self.facts if self._is_orphan(it, mode))

    def dead(self, sources: Collection[str] | None = None) -> list[Dead]:
        """Places without a document, those that most link to first."""
        gathered: dict[str, list[Edge]] = defaultdict(list)
        for name, edges in self.outgoing.items():
            if sources is None or name in sources:
                for edge in edges:
                    if not edge.alive:
                        gathered[edge.target].append(edge)
        found = [
            Dead(target, tuple(sorted(edges, key=lambda it: it.source)))
            for target, edges in gathered.items()
        ]
        return sorted(found, key=lambda it: (-len(it.edges), it.target))

    def _is_orphan(self, name: str, mode: OrphanMode) -> bool:
        has_in, has_out = bool(self.backlinks(name)), bool(self.outgoing.get(name))
        match mode:
            case "incoming":
                return not has_in
            case "outgoing":
                return not has_out
            case "both":
                return not has_in and not has_out


def names_of(facts: Mapping[str, Facts]) -> Names:
    """The names that links are held against, with titles and aliases."""
    return Names.of(facts, {name: it.labels for name, it in facts.items()})


def graph_of(facts: Mapping[str, Facts], before: Graph | None = None) -> Graph:
    """The graph of all these documents. What the one before still holds is taken from there."""
    known = before if before and _are_called_alike(facts, before.facts) else None
    names = known.names if known else names_of(facts)
    outgoing: dict[str, tuple[Edge, ...]] = {}
    incoming: dict[str, list[Edge]] = defaultdict(list)
    addresses: dict[str, tuple[Address, ...]] = {}
    for name, it in facts.items():
        if known and known.facts[name] is it:
            edges, urls = known.outgoing[name], known.addresses[name]
        else:
            edges, urls = _links(name, it, names)
        outgoing[name], addresses[name] = edges, urls
        for edge in edges:
            incoming[edge.target].append(edge)
    by_target = {name: tuple(edges) for name, edges in incoming.items()}
    return Graph(facts, names, outgoing, by_target, addresses)


def _are_called_alike(facts: Mapping[str, Facts], before: Mapping[str, Facts]) -> bool:
    """Whether every link means what it meant: no name, title or alias is another."""
    return facts.keys() == before.keys() and all(
        it is before[name] or it.labels == before[name].labels for name, it in facts.items()
    )


def _links(name: str, facts: Facts, names: Names) -> tuple[tuple[Edge, ...], tuple[Address, ...]]:
    edges: dict[str, Edge] = {}
    urls: dict[str, Address] = {}
    # Of a wiki link and another to the same place, the wiki link is kept.
    ordered = sorted(facts.links, key=lambda it: it.link.kind is not LinkKind.WIKI)
    for mention in ordered:
        for edge in _edges(name, mention, resolve_link(mention.link, name, names, WIKI_RULES)):
            if isinstance(edge, Address):
                urls.setdefault(edge.url, edge)
            elif edge.target != name:
                edges.setdefault(edge.target, edge)
    return tuple(edges.values()), tuple(sorted(urls.values(), key=lambda it: it.url))


def _edges(name: str, mention: Mention, meant: Resolution) -> Iterator[Edge | Address]:
    match meant:
        case Found(name=target, anchor=anchor):
            yield Edge(name, target, anchor, mention.snippet, alive=True)
        case Missing(name=target, anchor=anchor) if target:
            yield Edge(name, target, anchor, mention.snippet, alive=False)
        case Ambiguous(names=candidates, anchor=anchor):
            target = mention.link.target.path
            yield Edge(name, target, anchor, mention.snippet, alive=False, candidates=candidates)
        case External(url=url):
            yield Address(url, mention.link.text, mention.snippet)
        case _:
            return
