"""The link graph of documents: edges, dead links, orphans. Pure."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from pecia.features.wiki.core.metadata import DocumentMetadata, LinkMention
from pecia.kernel.text.links.link import LinkKind
from pecia.kernel.text.links.name_index import NameIndex
from pecia.kernel.text.links.resolver import (
    WIKI_RULES,
    AmbiguousLink,
    ExternalUrl,
    LinkResolution,
    MissingLink,
    ResolvedLink,
    resolve_link,
)

OrphanMode: TypeAlias = Literal["incoming", "outgoing", "both"]


@dataclass(frozen=True, slots=True)
class LinkEdge:
    """A link from one document to a target. `is_alive`: the target exists."""

    source: str
    target: str
    anchor: str | None
    snippet: str
    is_alive: bool
    candidates: tuple[str, ...] = ()
    """Documents it could mean, if it is dead because it is ambiguous."""


@dataclass(frozen=True, slots=True)
class ExternalLink:
    """A link out of the space."""

    url: str
    title: str
    snippet: str


@dataclass(frozen=True, slots=True)
class DeadLink:
    """A target without a document, and who links there."""

    target: str
    edges: tuple[LinkEdge, ...]


@dataclass(frozen=True, slots=True)
class LinkGraph:
    """One edge per pair of documents. Self-links do not count."""

    facts: Mapping[str, DocumentMetadata]
    names: NameIndex
    outgoing: Mapping[str, tuple[LinkEdge, ...]]
    incoming: Mapping[str, tuple[LinkEdge, ...]]
    addresses: Mapping[str, tuple[ExternalLink, ...]]

    def title(self, name: str) -> str:
        facts = self.facts.get(name)
        return facts.display_title(name) if facts else name

    def backlinks(self, name: str) -> list[LinkEdge]:
        """By source."""
        found = [it for it in self.incoming.get(name, ()) if it.is_alive]
        return sorted(found, key=lambda it: it.source)

    def forward_links(self, name: str) -> list[LinkEdge]:
        """By target, existing or not."""
        return sorted(self.outgoing.get(name, ()), key=lambda it: it.target)

    def hubs(self, limit: int) -> list[tuple[str, int]]:
        """Documents by number of backlinks."""
        counts = ((it, len(self.backlinks(it))) for it in self.facts)
        ranked = sorted((it for it in counts if it[1]), key=lambda it: (-it[1], it[0]))
        return ranked[:limit]

    def orphans(self, mode: OrphanMode) -> list[str]:
        """Documents without backlinks, without forward links, or both."""
        return sorted(it for it in self.facts if self._is_orphan(it, mode))

    def dead_links(self, sources: Collection[str] | None = None) -> list[DeadLink]:
        """Targets without a document, most linked first."""
        gathered: dict[str, list[LinkEdge]] = defaultdict(list)
        for name, edges in self.outgoing.items():
            if sources is None or name in sources:
                for edge in edges:
                    if not edge.is_alive:
                        gathered[edge.target].append(edge)
        found = [
            DeadLink(target, tuple(sorted(edges, key=lambda it: it.source)))
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


def build_link_names(facts: Mapping[str, DocumentMetadata]) -> NameIndex:
    """The names that links resolve to, with titles and aliases."""
    return NameIndex.of(facts, {name: it.labels for name, it in facts.items()})


def build_link_graph(
    facts: Mapping[str, DocumentMetadata], before: LinkGraph | None = None
) -> LinkGraph:
    """The graph of all these documents. Unchanged parts of the previous one are reused."""
    known = before if before and _has_same_names(facts, before.facts) else None
    names = known.names if known else build_link_names(facts)
    outgoing: dict[str, tuple[LinkEdge, ...]] = {}
    incoming: dict[str, list[LinkEdge]] = defaultdict(list)
    addresses: dict[str, tuple[ExternalLink, ...]] = {}
    for name, it in facts.items():
        if known and known.facts[name] is it:
            edges, urls = known.outgoing[name], known.addresses[name]
        else:
            edges, urls = _resolve_links(name, it, names)
        outgoing[name], addresses[name] = edges, urls
        for edge in edges:
            incoming[edge.target].append(edge)
    by_target = {name: tuple(edges) for name, edges in incoming.items()}
    return LinkGraph(facts, names, outgoing, by_target, addresses)


def _has_same_names(
    facts: Mapping[str, DocumentMetadata], before: Mapping[str, DocumentMetadata]
) -> bool:
    """Whether every link still resolves alike: no name, title or alias changed."""
    return facts.keys() == before.keys() and all(
        it is before[name] or it.labels == before[name].labels for name, it in facts.items()
    )


def _resolve_links(
    name: str, facts: DocumentMetadata, names: NameIndex
) -> tuple[tuple[LinkEdge, ...], tuple[ExternalLink, ...]]:
    edges: dict[str, LinkEdge] = {}
    urls: dict[str, ExternalLink] = {}
    # Of a wiki link and another to the same target, the wiki link is kept.
    ordered = sorted(facts.links, key=lambda it: it.link.kind is not LinkKind.WIKI)
    for mention in ordered:
        for edge in _resolve_mention(
            name, mention, resolve_link(mention.link, name, names, WIKI_RULES)
        ):
            if isinstance(edge, ExternalLink):
                urls.setdefault(edge.url, edge)
            elif edge.target != name:
                edges.setdefault(edge.target, edge)
    return tuple(edges.values()), tuple(sorted(urls.values(), key=lambda it: it.url))


def _resolve_mention(
    name: str, mention: LinkMention, meant: LinkResolution
) -> Iterator[LinkEdge | ExternalLink]:
    match meant:
        case ResolvedLink(name=target, anchor=anchor):
            yield LinkEdge(name, target, anchor, mention.snippet, is_alive=True)
        case MissingLink(name=target, anchor=anchor) if target:
            yield LinkEdge(name, target, anchor, mention.snippet, is_alive=False)
        case AmbiguousLink(names=candidates, anchor=anchor):
            target = mention.link.target.path
            yield LinkEdge(
                name, target, anchor, mention.snippet, is_alive=False, candidates=candidates
            )
        case ExternalUrl(url=url):
            yield ExternalLink(url, mention.link.text, mention.snippet)
        case _:
            return
