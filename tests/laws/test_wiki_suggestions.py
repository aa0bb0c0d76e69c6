"""Suggestions: whatever is edited in between, an accepted piece is in the text exactly once, and
every other suggestion can still be read."""

import itertools
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pecia.features.wiki.suggestion.anchor import find_anchors
from pecia.features.wiki.suggestion.pieces import apply_pieces, split_change
from pecia.kernel.errors import Conflict
from tests.conftest import CONTEXT, House
from tests.soak import FIRST, SOAK

SEEDS = 400 if SOAK else 6
STEPS = 30

WORDS = (
    "the ",
    "a ",
    "days ",
    "leave",
    ". ",
    "\n",
    "\r\n",
    "\n\n",
    "# H\n",
    "é",
    "日本語",
    "🐝",
    "- ",
)
TEXTS = st.lists(st.sampled_from(WORDS), max_size=40).map("".join)


@settings(max_examples=400, deadline=None)
@given(TEXTS, TEXTS)
def test_the_pieces_of_a_change_make_the_new_text(old: str, new: str) -> None:
    pieces = split_change(old, new)
    assert apply_pieces(old, pieces) == new
    assert (pieces == []) == (old == new)
    assert all(a.end <= b.start for a, b in itertools.pairwise(pieces))


@settings(max_examples=400, deadline=None)
@given(TEXTS, TEXTS, TEXTS)
def test_a_piece_is_put_only_where_its_old_text_is(old: str, new: str, now: str) -> None:
    pieces = split_change(old, new)
    for piece, at in zip(pieces, find_anchors(old, pieces, now), strict=True):
        if at is not None:
            assert now[at.start : at.end] == old[piece.start : piece.end]
            assert at.new == piece.new


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_changes_elsewhere_do_not_lose_a_piece(data: st.DataObject) -> None:
    lines = [f"Line {it} says something of its own, {it * 7919}.\n" for it in range(12)]
    at = data.draw(st.integers(0, 11))
    new = [*lines]
    new[at] = new[at].replace("something", "whatever MARK")
    pieces = split_change("".join(lines), "".join(new))
    others = data.draw(st.lists(st.integers(0, 11).filter(lambda it: it != at), max_size=8))
    now = [*lines]
    for it in others:
        now[it] = data.draw(st.sampled_from(("", "Other.\n", f"{lines[it]}More of it.\n")))
    [placed] = find_anchors("".join(lines), pieces, "".join(now))
    assert placed is not None
    assert apply_pieces("".join(now), [placed]).count("MARK") == 1


@dataclass(slots=True)
class World:
    """One document, what was suggested for it and what was accepted. Every change has a mark."""

    house: House
    folder: Path
    dice: random.Random
    doc: str = "plan"
    made: int = 0
    suggestions: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    accepted: set[str] = field(default_factory=set[str])
    written: set[str] = field(default_factory=set[str])

    async def call(self, who: str, tool: str, **arguments: Any) -> dict[str, Any]:
        caller = self.house.ana if who == "ana" else self.house.bo
        asked = {"space": self.folder.name, **arguments}
        done = await self.house.app.call(caller, f"wiki.{tool}", asked, CONTEXT)
        assert isinstance(done.structured, dict)
        return done.structured

    @property
    def path(self) -> Path:
        return self.folder / f"{self.doc}.md"

    @property
    def text(self) -> str:
        return self.path.read_bytes().decode()

    def mark(self) -> str:
        self.made += 1
        return f"mark{self.made:04}x"

    def change(self, text: str) -> tuple[str, set[str]]:
        """Another text, and the marks that are new in it. No mark of another is touched."""
        lines = text.splitlines(keepends=True)
        marks: set[str] = set()
        for _ in range(self.dice.randint(1, 3)):
            mark, at = self.mark(), self.dice.randrange(len(lines) + 1)
            if at < len(lines) and " day" in lines[at] and self.dice.random() < 0.6:
                lines[at] = lines[at].replace(" day", f" {mark} day", 1)
            else:
                lines.insert(at, f"New {mark} line of {self.dice.randrange(10**6)}.\n")
            marks.add(mark)
        return "".join(lines), marks

    async def suggest(self) -> None:
        text, marks = self.change(self.text)
        who = self.dice.choice(("ana", "bo"))
        made = await self.call(
            who,
            "write_document",
            docName=self.doc,
            markdown=text,
            position="replace",
            suggest=True,
        )
        self.suggestions[made["suggestion"]] = marks

    async def edit(self) -> None:
        text, marks = self.change(self.text)
        lines = text.splitlines(keepends=True)
        bare = [it for it, line in enumerate(lines) if "mark" not in line]
        if bare and self.dice.random() < 0.5:
            del lines[self.dice.choice(bare)]
        if self.dice.random() < 0.3:
            cut = self.dice.randrange(len(lines) + 1)
            lines = lines[cut:] + lines[:cut]
        text = "".join(lines)
        if self.dice.random() < 0.5:
            self.path.write_bytes(text.encode())
        else:
            await self.call(
                "ana", "write_document", docName=self.doc, markdown=text, position="replace"
            )
        self.written |= marks

    async def decide(self) -> None:
        rows = await self.call("ana", "list_suggestions", limit=100)
        if not rows["suggestions"]:
            return
        id_ = self.dice.choice(rows["suggestions"])["suggestion"]
        found = await self.call("bo", "read_suggestion", suggestion=id_)
        waiting = [it for it in found["pieces"] if it["state"] == "open"]
        some = self.dice.sample(waiting, self.dice.randint(1, len(waiting)))
        chosen = {"suggestion": id_, "pieces": [it["piece"] for it in some]}
        if self.dice.random() < 0.2:
            await self.call("ana", "reject_suggestion", **chosen)
            return
        changed = [it["piece"] for it in some if "changed" in it]
        before = self.text
        try:
            await self.call("ana", "accept_suggestion", **chosen)
        except Conflict:
            assert changed
            assert self.text == before
            return
        assert not changed
        new = "".join(it["new"] for it in some)
        self.accepted |= {it for it in self.suggestions[id_] if it in new}

    async def rename(self) -> None:
        name = f"plan{self.dice.randrange(10**6)}"
        await self.call("ana", "rename_document", docName=self.doc, newDocName=name)
        self.doc = name

    async def check(self) -> None:
        text = self.text
        for mark in self.accepted | self.written:
            assert text.count(mark) == 1, mark
        for marks in self.suggestions.values():
            assert not any(it in text for it in marks - self.accepted)
        for id_, marks in self.suggestions.items():
            found = await self.call("bo", "read_suggestion", suggestion=id_)
            new = "".join(it["new"] for it in found["pieces"])
            assert all(new.count(it) == 1 for it in marks)


@pytest.mark.anyio
async def test_accepted_pieces_are_in_the_text_once_and_no_suggestion_is_lost(
    house: House, tmp_path: Path
) -> None:
    for seed in range(FIRST, FIRST + SEEDS):
        dice = random.Random(seed)
        folder = tmp_path / f"space{seed}"
        folder.mkdir()
        (folder / ".pecia").mkdir()
        rule = "folders:\n  - match: '**'\n    suggest: readers\n"
        (folder / ".pecia" / "config.yml").write_text(rule)
        lines = [f"In case {it} one has {it * it + 3} days off, at most.\n" for it in range(8)]
        (folder / "plan.md").write_text("# Plan\n\n" + "\n".join(lines))
        await house.app.call(house.ana, "add_space", {"folder": str(folder)}, CONTEXT)
        grant = {"source_id": f"wiki:{folder.name}", "to": "user:bo", "role": "reader"}
        await house.app.call(house.ana, "grant", grant, CONTEXT)
        world = World(house, folder, dice)
        steps = (world.suggest, world.edit, world.decide, world.decide, world.rename)
        for _ in range(STEPS):
            await dice.choices(steps, (5, 3, 4, 4, 1))[0]()
        await world.check()
