"""The cascade of some layers: what a caller sees who may read these and no others.

Everything here is derived from the readings of its layers, and kept in step when they change. It
does no I/O.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from pecia.kernel.errors import Json, NotFound
from pecia.kernel.text.names import Names
from pecia.rooms.cascade.layers.reading import Reading
from pecia.rooms.cascade.links import Graph, Incoming, incoming, leaf_of, outgoing, target_leaves
from pecia.rooms.cascade.model import Contribution, Effective, Problem, Rank
from pecia.rooms.cascade.resolve import above_cut, in_order, merge_frontmatter, resolve


@dataclass(frozen=True, slots=True)
class Held:
    """A layer that counts, and what it holds."""

    rank: Rank
    reading: Reading


@dataclass(frozen=True, slots=True)
class Card:
    """A concept in a list: as resolved, without its text."""

    id: str
    type: str | None
    title: str | None
    layers: tuple[str, ...]

    def value(self) -> dict[str, Json]:
        return {"id": self.id, "type": self.type, "title": self.title, "layers": [*self.layers]}


class View:
    """One effective graph."""

    def __init__(self, held: Sequence[Held]) -> None:
        self._held = {it.rank.layer: it for it in held}
        self._cards: dict[str, Card] = {}
        self._names: Names | None = None
        self._pointing: dict[str, set[str]] | None = None
        self._changes: set[str] = set()
        for concept in sorted({name for it in held for name in it.reading.documents}):
            self._cards[concept] = self._card(concept)

    @property
    def layers(self) -> frozenset[str]:
        return frozenset(self._held)

    @property
    def ids(self) -> list[str]:
        return sorted(self._cards)

    def has(self, concept: str) -> bool:
        return concept in self._cards

    def cards(self) -> list[Card]:
        """Every concept, by id."""
        return [self._cards[it] for it in self.ids]

    def effective_title(self, concept: str) -> str:
        card = self._cards.get(concept)
        return (card.title if card else None) or concept.rpartition("/")[2]

    def card(self, concept: str) -> Card:
        return self._cards[concept]

    def contributions(self, concept: str) -> list[Contribution]:
        return [
            Contribution(it.rank, document)
            for it in self._held.values()
            if (document := it.reading.documents.get(concept)) is not None
        ]

    def effective(self, concept: str) -> Effective:
        """The concept, resolved."""
        found = self.contributions(concept)
        if not found:
            raise _absent(
                f"Concept not found in any layer: {concept}", self.degraded(concept), concept
            )
        return resolve(concept, found)

    def stamp(self, concept: str) -> int:
        """A number that is another one when anything that layers say of the concept is."""
        return hash(tuple(_mark(it) for it in self.contributions(concept)))

    def in_layer(self, concept: str, layer: str) -> Contribution:
        """What one layer alone says."""
        held = self._held.get(layer)
        if held is None:
            raise NotFound(f"Unknown layer: {layer}", layer=layer, known=[*sorted(self._held)])
        document = held.reading.documents.get(concept)
        if document is None:
            degraded = self.degraded(concept)
            mine = [it for it in degraded if isinstance(it, dict) and it["layer"] == layer]
            raise _absent(f"Concept not found in layer {layer}: {concept}", mine, concept)
        return Contribution(held.rank, document)

    def degraded(self, concept: str | None = None) -> list[Json]:
        """Layers that are not whole; and for a concept those whose file of it cannot be read."""
        found: list[Json] = []
        for it in self._held.values():
            if it.reading.degraded:
                found.append({"layer": it.rank.layer, "reason": it.reading.degraded})
            for problem in it.reading.problems if concept else ():
                if problem.id == concept:
                    found.append({"layer": problem.layer, "reason": _told(problem)})
        return found

    def problems(self) -> list[Problem]:
        """Every file that gave no concept, or one that could not be read as it is written."""
        return [problem for it in self._held.values() for problem in it.reading.problems]

    def graph(self) -> Graph:
        if self._names is None:
            self._names = Names.of(self._cards)
        return Graph(self._names, self.layers, self.holders)

    def holders(self, concept: str) -> list[str]:
        """The layers that hold a concept, the strongest first."""
        card = self._cards.get(concept)
        return [*card.layers] if card else []

    def outgoing(self, concept: str) -> list[dict[str, Json]]:
        return outgoing(self.effective(concept), self.graph())

    def incoming(self, concept: str) -> list[Incoming]:
        """Who points to the concept, from anywhere."""
        near = self._pointers().get(leaf_of(concept), set()) - {concept}
        sources = [it for name in sorted(near) for it in self.contributions(name)]
        effective = {name: self.effective(name) for name in near if name in self._cards}
        return incoming(concept, sources, effective, self.graph())

    def changed(self, readings: Mapping[str, Reading], concepts: Iterable[str]) -> None:
        """Take over what layers hold now, where only these concepts may differ."""
        for layer, reading in readings.items():
            if layer in self._held:
                self._held[layer] = Held(self._held[layer].rank, reading)
        for concept in concepts:
            self._changes.add(concept)
            known = concept in self._cards
            if any(concept in it.reading.documents for it in self._held.values()):
                self._cards[concept] = self._card(concept)
            else:
                self._cards.pop(concept, None)
            self._rename(concept, known)
            self._repoint(concept)

    def without(self, layer: str) -> "View":
        """The same cascade as if a layer were not there."""
        return View([it for name, it in self._held.items() if name != layer])

    def moved(self, layer: str, level: int) -> "View":
        """The same cascade with a layer at another level."""
        held = {**self._held}
        held[layer] = replace(held[layer], rank=replace(held[layer].rank, level=level))
        return View([*held.values()])

    def take_changes(self) -> set[str]:
        """Concepts that changed since this was last asked."""
        taken, self._changes = self._changes, set()
        return taken

    def _rename(self, concept: str, known: bool) -> None:
        if self._names is None or known == (concept in self._cards):
            return
        gone = [] if concept in self._cards else [concept]
        come = {concept: ()} if concept in self._cards else {}
        self._names = self._names.with_changes(remove=gone, add=come)

    def _card(self, concept: str) -> Card:
        ordered = in_order(self.contributions(concept))
        values, _ = merge_frontmatter(above_cut(ordered))
        return Card(
            concept,
            _words(values.get("type")),
            _words(values.get("title")),
            tuple(it.layer for it in ordered),
        )

    def _pointers(self) -> dict[str, set[str]]:
        """By the last part of a target: concepts that may hold such a link."""
        if self._pointing is None:
            self._pointing = {}
            for concept in self._cards:
                self._repoint(concept)
        return self._pointing

    def _repoint(self, concept: str) -> None:
        # What no longer points there is found out when the concept is read.
        if self._pointing is None:
            return
        for it in self.contributions(concept):
            for leaf in target_leaves(it.document.text or _written(it)):
                self._pointing.setdefault(leaf, set()).add(concept)


def _mark(it: Contribution) -> tuple[object, ...]:
    document = it.document
    # What was never a text has its frontmatter nowhere else.
    own = (document.ready, repr(document.frontmatter)) if document.ready is not None else ()
    return it.rank, document.path, document.text, document.dated, own


def _written(it: Contribution) -> str:
    """The text of a document that was never one."""
    return "\n".join(line for section in it.document.ready or () for line in section.lines)


def _words(value: Json) -> str | None:
    return value if isinstance(value, str) else None


def _absent(message: str, degraded: Sequence[Json], concept: str) -> NotFound:
    """Not there; and where a layer is not whole, it may be for that."""
    if not degraded:
        return NotFound(message, concept_id=concept)
    return NotFound(message, concept_id=concept, degraded=[*degraded])


def _told(problem: Problem) -> str:
    return f"{problem.path}: {problem.message}"
