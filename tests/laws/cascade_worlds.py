"""Cascades made at random, some of whose layers are not for everybody, and what to ask of them."""

import json
import random
from dataclasses import dataclass
from pathlib import Path

from pecia.kernel.errors import Json
from tests.features.cascade_fixture import document, write_layers

USERS = ("ana", "bo")
LAYERS = ("company", "team", "personal")
IDS = ("a", "b", "d/a")
WORDS = ("walrus", "narwhal", "okapi", "ibex", "tapir")
HEADINGS = ("## One {#one}", "## One", "## Two {#two override=none}", "## Three {#three}")
KEYS = ("title: Low", "title: High", "tags: [x]", "override: full", "updated: 2026-02-02")

QUESTIONS: tuple[tuple[str, dict[str, Json]], ...] = (
    ("list_concepts", {}),
    ("search", {"query": " ".join(WORDS)}),
    ("read_file", {"concept_id": "a"}),
    ("get_links", {"concept_id": "a"}),
    ("read_file", {"concept_id": "a", "layer": "team"}),
)


@dataclass(frozen=True, slots=True)
class World:
    """Layers, and who may read each; None: everybody."""

    layers: dict[str, dict[str, str]]
    readers: dict[str, list[str] | None]

    def write(self, folder: Path) -> Path:
        """The files and the manifest; the path of the latter."""
        facts: dict[str, dict[str, Json]] = {
            name: {"readers": [*it]} for name, it in self.readers.items() if it is not None
        }
        return write_layers(folder, self.layers, **facts)

    def write_for(self, user: str, folder: Path) -> Path | None:
        """The cascade that holds only what this user may read; None where that is nothing."""
        mine = {it: text for it, text in self.layers.items() if self._may(user, it)}
        return write_layers(folder, mine) if mine else None

    def _may(self, user: str, layer: str) -> bool:
        readers = self.readers[layer]
        return readers is None or user in readers


def made_world(dice: random.Random) -> World:
    layers = {
        name: {it: _document(dice) for it in IDS if dice.random() < 0.7}
        for name in dice.sample(LAYERS, dice.randint(1, 3))
    }
    choices: list[list[str] | None] = [None, ["ana"], ["bo"], ["ana", "bo"], []]
    return World(layers, {name: dice.choice(choices) for name in layers})


def settled(answer: Json) -> str:
    """An answer, comparable."""
    return json.dumps(answer, sort_keys=True, ensure_ascii=False)


def _document(dice: random.Random) -> str:
    if dice.random() < 0.1:
        return "---\ntype: [\n---\n"
    keys = {it.partition(":")[0]: it for it in dice.sample(KEYS, 2)}
    head = "\n".join(["type: note", *keys.values()])
    parts = [f"{it}\n\n{_text(dice)}" for it in dice.sample(HEADINGS, 2)]
    return document(head, *parts)


def _text(dice: random.Random) -> str:
    return f"{dice.choice(WORDS)} [[{dice.choice(IDS)}]] {dice.choice(WORDS)}"
