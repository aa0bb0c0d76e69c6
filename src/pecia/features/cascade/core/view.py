"""The cascade of a set of layers: what a caller with the rights to exactly these sees.

Everything is derived from the content of its layers, and updated when they change. No I/O.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from pecia.features.cascade.core.links import (
    ConceptBacklink,
    ConceptGraph,
    extract_target_leaves,
    find_incoming,
    list_outgoing,
    path_leaf,
)
from pecia.features.cascade.core.resolve import (
    cut_at_override,
    merge_frontmatter,
    resolve,
    sort_contributions,
)
from pecia.features.cascade.layers.layer import LayerContent
from pecia.features.cascade.model import Contribution, EffectiveConcept, LayerProblem, LayerRank
from pecia.kernel.errors import Json, NotFound
from pecia.kernel.text.links.name_index import NameIndex


@dataclass(frozen=True, slots=True)
class RankedLayer:
    """A layer with its rank and content."""

    rank: LayerRank
    content: LayerContent


@dataclass(frozen=True, slots=True)
class ConceptCard:
    """A concept in a list: as resolved, without its text."""

    id: str
    type: str | None
    title: str | None
    layers: tuple[str, ...]

    def to_json(self) -> dict[str, Json]:
        return {"id": self.id, "type": self.type, "title": self.title, "layers": [*self.layers]}


class CascadeView:
    """One effective graph."""

    def __init__(self, held: Sequence[RankedLayer]) -> None:
        self._held = {it.rank.layer: it for it in held}
        self._cards: dict[str, ConceptCard] = {}
        self._names: NameIndex | None = None
        self._pointing: dict[str, set[str]] | None = None
        self._changes: set[str] = set()
        for concept in sorted({name for it in held for name in it.content.documents}):
            self._cards[concept] = self._card(concept)

    @property
    def layers(self) -> frozenset[str]:
        return frozenset(self._held)

    @property
    def ids(self) -> list[str]:
        return sorted(self._cards)

    def has(self, concept: str) -> bool:
        return concept in self._cards

    def list_cards(self) -> list[ConceptCard]:
        """Every concept, by id."""
        return [self._cards[it] for it in self.ids]

    def effective_title(self, concept: str) -> str:
        card = self._cards.get(concept)
        return (card.title if card else None) or concept.rpartition("/")[2]

    def card(self, concept: str) -> ConceptCard:
        return self._cards[concept]

    def contributions(self, concept: str) -> list[Contribution]:
        return [
            Contribution(it.rank, document)
            for it in self._held.values()
            if (document := it.content.documents.get(concept)) is not None
        ]

    def effective(self, concept: str) -> EffectiveConcept:
        """The concept, resolved."""
        found = self.contributions(concept)
        if not found:
            raise _not_found(
                f"Concept not found in any layer: {concept}", self.list_degraded(concept), concept
            )
        return resolve(concept, found)

    def version_of(self, concept: str) -> int:
        """A number that changes whenever any layer's version of the concept does."""
        return hash(tuple(_contribution_mark(it) for it in self.contributions(concept)))

    def get_layer_contribution(self, concept: str, layer: str) -> Contribution:
        """One layer's own version."""
        held = self._held.get(layer)
        if held is None:
            raise NotFound(f"Unknown layer: {layer}", layer=layer, known=[*sorted(self._held)])
        document = held.content.documents.get(concept)
        if document is None:
            degraded = self.list_degraded(concept)
            mine = [it for it in degraded if isinstance(it, dict) and it["layer"] == layer]
            raise _not_found(f"Concept not found in layer {layer}: {concept}", mine, concept)
        return Contribution(held.rank, document)

    def list_degraded(self, concept: str | None = None) -> list[Json]:
        """Incomplete layers; for a concept also layers whose file of it cannot be read."""
        found: list[Json] = []
        for it in self._held.values():
            if it.content.degraded:
                found.append({"layer": it.rank.layer, "reason": it.content.degraded})
            for problem in it.content.problems if concept else ():
                if problem.id == concept:
                    found.append({"layer": problem.layer, "reason": _describe_problem(problem)})
        return found

    def problems(self) -> list[LayerProblem]:
        """Every file without a concept, or with one that could not be read as written."""
        return [problem for it in self._held.values() for problem in it.content.problems]

    def graph(self) -> ConceptGraph:
        if self._names is None:
            self._names = NameIndex.of(self._cards)
        return ConceptGraph(self._names, self.layers, self.list_layers)

    def list_layers(self, concept: str) -> list[str]:
        """The layers that hold a concept, the strongest first."""
        card = self._cards.get(concept)
        return [*card.layers] if card else []

    def outgoing_links(self, concept: str) -> list[dict[str, Json]]:
        return list_outgoing(self.effective(concept), self.graph())

    def incoming_links(self, concept: str) -> list[ConceptBacklink]:
        """All backlinks of the concept."""
        near = self._pointers().get(path_leaf(concept), set()) - {concept}
        sources = [it for name in sorted(near) for it in self.contributions(name)]
        effective = {name: self.effective(name) for name in near if name in self._cards}
        return find_incoming(concept, sources, effective, self.graph())

    def update(self, readings: Mapping[str, LayerContent], concepts: Iterable[str]) -> None:
        """Apply the layers' new content; only these concepts may differ."""
        for layer, reading in readings.items():
            if layer in self._held:
                self._held[layer] = RankedLayer(self._held[layer].rank, reading)
        for concept in concepts:
            self._changes.add(concept)
            known = concept in self._cards
            if any(concept in it.content.documents for it in self._held.values()):
                self._cards[concept] = self._card(concept)
            else:
                self._cards.pop(concept, None)
            self._rename(concept, known)
            self._repoint(concept)

    def without_layer(self, layer: str) -> "CascadeView":
        """The same cascade without a layer."""
        return CascadeView([it for name, it in self._held.items() if name != layer])

    def with_layer_level(self, layer: str, level: int) -> "CascadeView":
        """The same cascade with a layer at another level."""
        held = {**self._held}
        held[layer] = replace(held[layer], rank=replace(held[layer].rank, level=level))
        return CascadeView([*held.values()])

    def take_changes(self) -> set[str]:
        """Concepts that changed since the last call."""
        taken, self._changes = self._changes, set()
        return taken

    def _rename(self, concept: str, known: bool) -> None:
        if self._names is None or known == (concept in self._cards):
            return
        gone = [] if concept in self._cards else [concept]
        come = {concept: ()} if concept in self._cards else {}
        self._names = self._names.with_changes(remove=gone, add=come)

    def _card(self, concept: str) -> ConceptCard:
        ordered = sort_contributions(self.contributions(concept))
        values, _ = merge_frontmatter(cut_at_override(ordered))
        return ConceptCard(
            concept,
            _words(values.get("type")),
            _words(values.get("title")),
            tuple(it.layer for it in ordered),
        )

    def _pointers(self) -> dict[str, set[str]]:
        """Concepts that may hold a link, by the last segment of its target."""
        if self._pointing is None:
            self._pointing = {}
            for concept in self._cards:
                self._repoint(concept)
        return self._pointing

    def _repoint(self, concept: str) -> None:
        # Stale entries are filtered when the concept is read.
        if self._pointing is None:
            return
        for it in self.contributions(concept):
            for leaf in extract_target_leaves(it.document.text or _write_document(it)):
                self._pointing.setdefault(leaf, set()).add(concept)


def _contribution_mark(it: Contribution) -> tuple[object, ...]:
    document = it.document
    # A document that was not parsed from text has its frontmatter only here.
    own = (document.ready, repr(document.frontmatter)) if document.ready is not None else ()
    return it.rank, document.path, document.text, document.dated, own


def _write_document(it: Contribution) -> str:
    """A document that was not parsed from text, as text."""
    return "\n".join(line for section in it.document.ready or () for line in section.lines)


def _words(value: Json) -> str | None:
    return value if isinstance(value, str) else None


def _not_found(message: str, degraded: Sequence[Json], concept: str) -> NotFound:
    """NotFound; names the incomplete layers, which may be the reason."""
    if not degraded:
        return NotFound(message, concept_id=concept)
    return NotFound(message, concept_id=concept, degraded=[*degraded])


def _describe_problem(problem: LayerProblem) -> str:
    return f"{problem.path}: {problem.message}"
