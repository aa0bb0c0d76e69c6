"""Links of concepts, resolved against the effective graph, and backlinks. Pure."""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from pecia.features.cascade.model import ConceptSection, Contribution, EffectiveConcept
from pecia.features.cascade.okf.document import sections_of
from pecia.kernel.errors import Json
from pecia.kernel.text.links.extract import find_links
from pecia.kernel.text.links.link import Link, LinkKind
from pecia.kernel.text.links.name_index import NameIndex
from pecia.kernel.text.links.resolver import (
    CASCADE_RULES,
    LinkResolution,
    LinkRules,
    MissingLink,
    OutsideLink,
    ResolvedLink,
    SamePageLink,
    resolve_link,
)
from pecia.kernel.text.markdown.escapes import decode_path, unescape

LayersOfConcept = Callable[[str], list[str]]
"""The layers that hold a concept, highest first."""


@dataclass(frozen=True, slots=True)
class ConceptGraph:
    """What links are resolved against: the names of concepts, and of layers."""

    names: NameIndex
    layers: frozenset[str]
    layers_of: LayersOfConcept

    @property
    def rules(self) -> LinkRules:
        return replace(CASCADE_RULES, prefixes=self.layers)


@dataclass(frozen=True, slots=True)
class ConceptBacklink:
    """A link to a concept. Not `effective`: it stands in a section that a higher layer replaced."""

    id: str
    layer: str
    raw: str
    effective: bool


def list_outgoing(concept: EffectiveConcept, graph: ConceptGraph) -> list[dict[str, Json]]:
    """Every link of the sections that won: Markdown links first, then wiki links."""
    body = _Body([it.section for it in concept.sections if not it.suppressed])
    links = sorted(extract_links(body.text), key=lambda it: it.kind is LinkKind.WIKI)
    found = (_outgoing_json(concept.id, body.text, it, graph) for it in links)
    return [it for it in found if it is not None]


def find_incoming(
    target: str,
    sources: Iterable[Contribution],
    effective: Mapping[str, EffectiveConcept],
    graph: ConceptGraph,
) -> list[ConceptBacklink]:
    """Backlinks: the first link of each layer of each other concept."""
    found = [
        it
        for source in sources
        if source.document.id != target
        and (it := _first_link(target, source, effective[source.document.id], graph))
    ]
    return sorted(found, key=lambda it: (it.id, it.layer))


def backlink_json(it: ConceptBacklink) -> dict[str, Json]:
    """The link as output; `effective` is included only where it is false."""
    value: dict[str, Json] = {"id": it.id, "layer": it.layer, "raw": it.raw}
    return value if it.effective else {**value, "effective": False}


def extract_links(text: str) -> list[Link]:
    """Links a reader can follow: no images, no autolinks."""
    return [it for it in find_links(text) if not it.embed and it.kind is not LinkKind.AUTO]


def resolve_concept_link(link: Link, source: str, graph: ConceptGraph) -> LinkResolution:
    """The link's target, resolved from a concept."""
    return resolve_link(link, source, graph.names, graph.rules)


def extract_target_leaves(text: str) -> set[str]:
    """Last segments of everything that could be a link in a text; a superset of the links.

    A cheap scan of every document, so that backlinks are found without parsing them all.
    """
    if "](" not in text and "[[" not in text and "]:" not in text:
        return set()
    if _UNCLEAR.search(text):
        return {path_leaf(it.target.path) for it in find_links(text)}
    return {path_leaf(it[0] or it[1] or it[2]) for it in _TARGET.findall(text)}


def path_leaf(path: str) -> str:
    """The last segment of any link to the concept."""
    cut = _CUT.split(unescape(path.strip()), maxsplit=1)[0].strip().rstrip("/")
    last = decode_path(cut).rpartition("/")[2].rpartition(":")[2]
    return _EXTENSION.sub("", last).casefold()


class _Body:
    """Sections as one text, so that reference links find their definitions."""

    def __init__(self, sections: Sequence[ConceptSection]) -> None:
        pieces = ["\n".join([it.heading or "", *it.lines, "", ""]) for it in sections]
        self.text = "".join(pieces)
        self._sections = sections
        self._starts: list[int] = []
        at = 0
        for it in pieces:
            self._starts.append(at)
            at += len(it)

    def section_at(self, offset: int) -> ConceptSection:
        return self._sections[bisect_right(self._starts, offset) - 1]


def _outgoing_json(
    source: str, text: str, link: Link, graph: ConceptGraph
) -> dict[str, Json] | None:
    written = link.target.span.of(text)
    target = written if link.kind is LinkKind.WIKI else unescape(written)
    value: dict[str, Json] = {"raw": link.span.of(text), "target": target}
    match resolve_concept_link(link, source, graph):
        case ResolvedLink(name=name) | MissingLink(name=name):
            value |= {"id": name, "layers": [*graph.layers_of(name)]}
        case OutsideLink() | SamePageLink():
            value |= {"id": None, "layers": []}
        case _:
            return None
    # Bundles that type their relations write the type as the link's title.
    if link.title:
        value["rel"] = link.title
    return value


def _first_link(
    target: str, source: Contribution, effective: EffectiveConcept, graph: ConceptGraph
) -> ConceptBacklink | None:
    """The first effective link, else the first that a higher layer replaced."""
    shown = {(it.layer, it.section.key) for it in effective.sections if not it.suppressed}
    body = _Body(sections_of(source.document))
    hidden: ConceptBacklink | None = None
    for link in sorted(extract_links(body.text), key=lambda it: it.kind is LinkKind.WIKI):
        found = resolve_concept_link(link, source.document.id, graph)
        if not (isinstance(found, ResolvedLink) and found.name == target):
            continue
        counts = (source.layer, body.section_at(link.span.start).key) in shown
        it = ConceptBacklink(source.document.id, source.layer, link.span.of(body.text), counts)
        if counts:
            return it
        hidden = hidden or it
    return hidden


_TARGET = re.compile(r"\]\(\s*<?([^)>\n]*)|\]:\s*<?([^>\n]*)|\[\[([^\]\n]*)")
# Parentheses in a target, a target on the next line, a definition with a title.
_UNCLEAR = re.compile(r"\]\(\s*[^)<\s]*\(|\]\(\s*\n|\]:\s*\n|\]:\s*\S+\s+\S|\]\([^)\n]*[ \t]")
_CUT = re.compile(r"[#?|]")
_EXTENSION = re.compile(r"\.mdx?$", re.IGNORECASE)
