"""The link graph of documents: edges, dead links, orphans. Pure."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Literal, TypeAlias

from pecia.features.wiki.core.metadata import DocumentMetadata, LinkMention, anchor_key
from pecia.kernel.layered_dict import LayeredDict
from pecia.kernel.text.links.link import Link, LinkKind
from pecia.kernel.text.links.name_index import (
    NameIndex,
    document_keys,
    folder_of,
    reference_keys,
)
from pecia.kernel.text.links.resolver import (
    WIKI_RULES,
    AmbiguousLink,
    ExternalUrl,
    LinkResolution,
    LinkRules,
    MissingLink,
    ResolvedLink,
    SamePageLink,
    candidate_paths,
    has_other_extension,
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
    relation: str | None = None
    """What the link means, where its line says so: `- works_at [[MIT]]`."""
    is_embed: bool = False


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
class DeadAnchor:
    """A link to a heading or block that is not in its document."""

    source: str
    target: str
    anchor: str
    snippet: str


@dataclass(frozen=True, slots=True)
class NearDocument:
    """A document near another: over how many links, by way of which one."""

    name: str
    distance: int
    via: str | None
    relation: str | None


@dataclass(slots=True)
class ReferenceIndex:
    """Documents by what their links could mean. Built when a name first changes.

    Shared by the graphs that are made from one another, so never too small: a document that no
    longer has the link may be in it.
    """

    rules: LinkRules
    lock: Lock = field(default_factory=Lock)
    sources: dict[str, set[str]] | None = None

    def find(self, keys: Iterable[str], facts: Mapping[str, DocumentMetadata]) -> set[str]:
        """`facts` are all documents, in case the index is not built yet."""
        with self.lock:
            if self.sources is None:
                self.sources = {}
                self._add(facts, self.sources)
            return {it for key in keys for it in self.sources.get(key, ())}

    def add(self, changed: Mapping[str, DocumentMetadata]) -> None:
        with self.lock:
            if self.sources is not None:
                self._add(changed, self.sources)

    def _add(self, facts: Mapping[str, DocumentMetadata], sources: dict[str, set[str]]) -> None:
        for name, it in facts.items():
            for key in _find_references(name, it, self.rules):
                sources.setdefault(key, set()).add(name)


@dataclass(frozen=True, slots=True)
class LinkGraph:
    """One edge per pair of documents. Self-links do not count."""

    facts: LayeredDict[str, DocumentMetadata]
    names: NameIndex
    outgoing: LayeredDict[str, tuple[LinkEdge, ...]]
    incoming: LayeredDict[str, tuple[LinkEdge, ...]]
    addresses: LayeredDict[str, tuple[ExternalLink, ...]]
    rules: LinkRules
    _references: "ReferenceIndex" = field(compare=False, repr=False)
    is_partial: bool = False
    """Of most documents only the names are known: a link that leads nowhere may be one by title."""

    def with_changes(
        self, changed: Mapping[str, DocumentMetadata], gone: Collection[str] = ()
    ) -> "LinkGraph":
        """The graph after documents changed, came or went: only what they bear on is resolved."""
        before = self.facts
        facts = before.copy()
        facts.update(changed)
        for name in gone:
            facts.pop(name, None)
        gone = [it for it in gone if it in before]
        renamed = {
            name: it
            for name, it in changed.items()
            if name not in before or before[name].labels != it.labels
        }
        stale = {*changed}
        names = self.names
        if renamed or gone:
            labels = {name: it.labels for name, it in renamed.items()}
            names = names.with_changes(remove=gone, add=labels)
            named = [(it, (*self.names.labels(it), *names.labels(it))) for it in (*renamed, *gone)]
            stale |= {it for it in self.find_referring(named) if it in facts}
        self._references.add(changed)
        return self._resolve_again(facts, names, stale, gone)

    def index_references(self) -> None:
        """Build now what the first change of a name needs: seconds for many documents."""
        self._references.find((), self.facts)

    def find_referring(self, documents: Iterable[tuple[str, Iterable[str]]]) -> set[str]:
        """Documents with a link that may mean one of these, by name and labels."""
        keys = {key for name, labels in documents for key in document_keys(name, labels)}
        return {it for it in self._references.find(keys, self.facts) if it in self.facts}

    def find_referring_below(self, folder: str) -> set[str]:
        """Documents with a link that may mean a file of another kind below a folder."""
        found = self._references.find([_below_key(folder)], self.facts)
        return {it for it in found if it in self.facts}

    def _resolve_again(
        self,
        facts: LayeredDict[str, DocumentMetadata],
        names: NameIndex,
        stale: Collection[str],
        gone: Collection[str],
    ) -> "LinkGraph":
        outgoing, addresses = self.outgoing.copy(), self.addresses.copy()
        targets: dict[str, list[LinkEdge]] = defaultdict(list)
        left = {it.target for name in (*stale, *gone) for it in outgoing.get(name, ())}
        for name in gone:
            del outgoing[name], addresses[name]
        for name in stale:
            outgoing[name], addresses[name] = _resolve_links(name, facts[name], names, self.rules)
            for edge in outgoing[name]:
                targets[edge.target].append(edge)
        incoming = self.incoming.copy()
        dropped = {*stale, *gone}
        for target in left | targets.keys():
            kept = [it for it in incoming.get(target, ()) if it.source not in dropped]
            edges = _sorted_edges([*kept, *targets.get(target, ())])
            if edges:
                incoming[target] = edges
            else:
                incoming.pop(target, None)
        return LinkGraph(facts, names, outgoing, incoming, addresses, self.rules, self._references)

    def title(self, name: str) -> str:
        facts = self.facts.get(name)
        return facts.display_title(name) if facts else name

    def backlinks(self, name: str) -> list[LinkEdge]:
        """By source."""
        return [it for it in self.incoming.get(name, ()) if it.is_alive]

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

    def dead_anchors(self, sources: Collection[str] | None = None) -> list[DeadAnchor]:
        """Links to a part that its document does not have, in order of their documents."""
        return [
            it
            for name in sorted(self.facts)
            if sources is None or name in sources
            for it in self._dead_anchors_of(name)
        ]

    def find_near(self, name: str, depth: int) -> list[NearDocument]:
        """Documents within so many links, in either direction, nearest first."""
        found = {name: NearDocument(name, 0, None, None)}
        edge_of = [name]
        for distance in range(1, depth + 1):
            steps = [
                NearDocument(other, distance, at, edge.relation)
                for at in edge_of
                for other, edge in self._neighbours(at)
            ]
            news = {it.name: it for it in reversed(steps) if it.name not in found}
            found |= news
            edge_of = sorted(news)
        return sorted([*found.values()][1:], key=lambda it: (it.distance, it.name))

    def _neighbours(self, name: str) -> Iterator[tuple[str, LinkEdge]]:
        for edge in self.forward_links(name):
            if edge.is_alive:
                yield edge.target, edge
        for edge in self.backlinks(name):
            yield edge.source, edge

    def _dead_anchors_of(self, name: str) -> Iterator[DeadAnchor]:
        for mention in self.facts[name].links:
            anchor = mention.link.target.anchor
            if not anchor:
                continue
            match resolve_link(mention.link, name, self.names, self.rules):
                case ResolvedLink(name=target, anchor=part) if part:
                    pass
                case SamePageLink(anchor=part) if part:
                    target = name
                case _:
                    continue
            if anchor_key(part) not in self.facts[target].anchors:
                yield DeadAnchor(name, target, part, mention.snippet)

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


def _with_labels(names: NameIndex, facts: Mapping[str, DocumentMetadata]) -> NameIndex:
    return names.with_changes(add={name: it.labels for name, it in facts.items()})


def build_link_graph(
    facts: Mapping[str, DocumentMetadata],
    rules: LinkRules = WIKI_RULES,
    others: NameIndex | None = None,
) -> LinkGraph:
    """The graph of all these documents. `others` are documents of which only the names are known:
    links to them are alive, theirs are missing."""
    names = build_link_names(facts) if others is None else _with_labels(others, facts)
    resolved = {name: _resolve_links(name, it, names, rules) for name, it in facts.items()}
    incoming: dict[str, list[LinkEdge]] = defaultdict(list)
    for edges, _ in resolved.values():
        for edge in edges:
            incoming[edge.target].append(edge)
    return LinkGraph(
        LayeredDict(facts),
        names,
        LayeredDict((name, edges) for name, (edges, _) in resolved.items()),
        LayeredDict((name, _sorted_edges(edges)) for name, edges in incoming.items()),
        LayeredDict((name, urls) for name, (_, urls) in resolved.items()),
        rules,
        ReferenceIndex(rules),
        is_partial=others is not None,
    )


def _sorted_edges(edges: Iterable[LinkEdge]) -> tuple[LinkEdge, ...]:
    return tuple(sorted(edges, key=lambda it: it.source))


def _find_references(name: str, facts: DocumentMetadata, rules: LinkRules) -> frozenset[str]:
    """The keys of everything that the links of a document could mean."""
    # A document may have very many links, to few paths: the anchor does not count here.
    every = (*(it.link for it in (*facts.links, *facts.embeds)), *facts.unused_definitions)
    mentioned = {_link_key(it): it for it in every}
    paths = {it for link in mentioned.values() for it in candidate_paths(link, name, rules)}
    folders = {it for path in paths if has_other_extension(path) for it in _folders_above(path)}
    return reference_keys(paths) | {_below_key(it) for it in folders}


def _link_key(link: Link) -> tuple[bool, bool, bool, str]:
    """A link without its anchor. With a colon in it, that may decide whether it is an address."""
    to = link.target
    path = to.address if ":" in to.path else to.path
    return link.kind is LinkKind.WIKI, link.kind is LinkKind.AUTO, link.embed, path


def _folders_above(path: str) -> Iterator[str]:
    while path := folder_of(path):
        yield path


def _below_key(folder: str) -> str:
    # Set apart from the keys of names, which have no slash.
    return f"{folder}/"


def _resolve_links(
    name: str, facts: DocumentMetadata, names: NameIndex, rules: LinkRules
) -> tuple[tuple[LinkEdge, ...], tuple[ExternalLink, ...]]:
    edges: dict[str, LinkEdge] = {}
    urls: dict[str, ExternalLink] = {}
    # Of several links to one target, a wiki link is kept before others, and one with a relation.
    ordered = sorted(
        (*facts.links, *facts.embeds),
        key=lambda it: (it.link.kind is not LinkKind.WIKI, it.link.embed, it.relation is None),
    )
    # Of several mentions of one link only the first counts; equal links are one object. So do those
    # that differ in the anchor alone, but addresses outside differ by it.
    done: set[int] = set()
    within: set[tuple[bool, bool, bool, str]] = set()
    for mention in ordered:
        key = _link_key(mention.link)
        if id(mention.link) in done or key in within:
            continue
        done.add(id(mention.link))
        meant = resolve_link(mention.link, name, names, rules)
        if not isinstance(meant, ExternalUrl):
            within.add(key)
        for edge in _resolve_mention(name, mention, meant):
            if isinstance(edge, ExternalLink):
                urls.setdefault(edge.url, edge)
            elif edge.target != name:
                edges.setdefault(edge.target, edge)
    return tuple(edges.values()), tuple(sorted(urls.values(), key=lambda it: it.url))


def _resolve_mention(
    name: str, mention: LinkMention, meant: LinkResolution
) -> Iterator[LinkEdge | ExternalLink]:
    edge = LinkEdge(
        name,
        "",
        None,
        mention.snippet,
        is_alive=False,
        relation=mention.relation,
        is_embed=mention.link.embed,
    )
    # A picture that is missing is not a document that is.
    is_picture = mention.link.embed and mention.link.kind is not LinkKind.WIKI
    match meant:
        case ResolvedLink(name=target, anchor=anchor):
            yield replace(edge, target=target, anchor=anchor, is_alive=True)
        case MissingLink(name=target, anchor=anchor) if target and not is_picture:
            yield replace(edge, target=target, anchor=anchor)
        case AmbiguousLink(names=candidates, anchor=anchor) if not is_picture:
            target = mention.link.target.path
            yield replace(edge, target=target, anchor=anchor, candidates=candidates)
        case ExternalUrl(url=url) if not mention.link.embed:
            yield ExternalLink(url, mention.text, mention.snippet)
        case _:
            return
