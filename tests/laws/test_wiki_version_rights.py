"""Versions tell nothing of what is hidden: two spaces that differ in hidden documents alone, and in
what was done to those, give a reader the same timelines, documents and differences."""

import json
import random
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pecia.kernel.errors import Json
from tests.conftest import CONTEXT, House
from tests.soak import FIRST, SOAK

pytestmark = pytest.mark.anyio

SEEDS = 100 if SOAK else 3
STEPS = 8
OPEN, HIDDEN = ("open/a", "open/b", "open/in/c"), ("closed/x", "closed/y")
LINKING = "open/linking"
SHA = re.compile("[0-9a-f]{40}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT[0-9:.]+(\+00:00|Z)?")


@dataclass(slots=True)
class World:
    """bo reads open/ and sees nothing else; ana writes."""

    house: House
    folder: Path
    names: list[str] = field(default_factory=lambda: [*OPEN])

    async def open(self) -> None:
        self.folder.mkdir()
        source: dict[str, Json] = {"source_id": f"wiki:{self.folder.name}"}
        call, ana = self.house.app.call, self.house.ana
        await call(ana, "add_space", {"folder": str(self.folder)}, CONTEXT)
        await call(ana, "set_source", {**source, "trim_mode": "per_file"}, CONTEXT)
        grant: dict[str, Json] = {"folder": "open/", "to": "user:bo", "role": "reader"}
        await call(ana, "grant", {**source, **grant}, CONTEXT)

    async def do(self, tool: str, **arguments: Json) -> Any:
        asked = {"space": self.folder.name, **arguments}
        return await self.house.app.call(self.house.ana, f"wiki.{tool}", asked, CONTEXT)

    async def write(self, texts: Mapping[str, str], summary: str | None = None) -> None:
        if texts:
            rows: list[Json] = [
                {"docName": name, "markdown": text, "position": "replace"}
                for name, text in texts.items()
            ]
            await self.do("write_documents", documents=rows, summary=summary)

    async def answers(self) -> dict[str, str]:
        """What bo is told, with ids by their place in the timeline, and without times."""
        said: dict[str, str] = {}
        for name in [*self.names, LINKING]:
            asked: dict[str, Json] = {"space": self.folder.name, "docName": name}
            rows = await self._ask("get_history", asked)
            shas = [it["sha"] for it in rows["entries"]]
            read = await self._ask("read_document", {"space": self.folder.name, "path": name})
            diffs = [await self._ask("compare_versions", {**asked, "fromSha": it}) for it in shas]
            text = json.dumps([rows, read, diffs]).replace(self.folder.name, "SPACE")
            for at, sha in enumerate(shas):
                text = text.replace(sha, f"<{at}>").replace(sha[:7], f"<{at}>")
            assert SHA.search(text) is None, name
            said[name] = TIME.sub("TIME", text)
        return said

    async def _ask(self, tool: str, asked: dict[str, Json]) -> Any:
        done = await self.house.app.call(self.house.bo, f"wiki.{tool}", asked, CONTEXT)
        assert isinstance(done.structured, dict)
        return {**done.structured, "text": [str(it) for it in done.content]}


@dataclass(slots=True)
class Twins:
    """Each step is done in the one, and in the other so that bo sees the same."""

    full: World
    bare: World
    chance: random.Random
    hidden: list[str] = field(default_factory=lambda: [*HIDDEN])
    made: int = 0

    @property
    def both(self) -> tuple[World, World]:
        return self.full, self.bare

    async def begin(self) -> None:
        for it in self.both:
            await it.open()
        seen = {it: f"# {it}\n" for it in OPEN} | {LINKING: f"[[{self.hidden[0]}]]\n"}
        await self.full.write({it: f"secret {it}\n" for it in self.hidden})
        for it in self.both:
            await it.write(seen, "the first")

    async def step(self) -> None:
        steps = (self.write_some, self.rename_seen, self.rename_hidden, self.publish)
        await self.chance.choice(steps)()

    async def write_some(self) -> None:
        """What ana says of a version that is of hidden documents too is not for bo."""
        text = f"{self.chance.random()}\n"
        seen = {it: text for it in self.full.names if self.chance.random() < 0.5}
        hidden = {it: text for it in self.hidden if self.chance.random() < 0.5}
        await self.full.write(seen | hidden, "said")
        await self.bare.write(seen, None if hidden else "said")

    async def rename_seen(self) -> None:
        old, new = self.chance.choice(self.full.names), self._new("open")
        for it in self.both:
            await it.do("rename_document", docName=old, newDocName=new)
            it.names[it.names.index(old)] = new

    async def rename_hidden(self) -> None:
        """A link to it is rewritten where bo sees the text."""
        old, new = self.hidden[0], self._new("closed")
        await self.full.do("rename_document", docName=old, newDocName=new)
        self.hidden[0] = new
        await self.bare.write({LINKING: f"[[{new}]]\n"})

    async def publish(self) -> None:
        if len(self.hidden) > 1:
            old, new = self.hidden.pop(), self._new("open/in")
            await self.full.do("rename_document", docName=old, newDocName=new)
            await self.bare.write({new: (self.full.folder / f"{new}.md").read_text("utf-8")})
            for it in self.both:
                it.names.append(new)
        else:
            self.hidden.append(self._new("closed"))
            await self.full.write({self.hidden[1]: "secret\n"})

    def _new(self, folder: str) -> str:
        self.made += 1
        return f"{folder}/n{self.made}"


@pytest.mark.timeout(0 if SOAK else 180)
async def test_versions_tell_nothing_of_hidden_documents(house: House, tmp_path: Path) -> None:
    for seed in range(FIRST, FIRST + SEEDS):
        full, bare = (World(house, tmp_path / f"{it}-{seed}") for it in ("full", "bare"))
        twins = Twins(full, bare, random.Random(seed))
        await twins.begin()
        for _ in range(STEPS):
            await twins.step()
        assert await full.answers() == await bare.answers(), seed
