"""Renames tell nothing of what is hidden: two spaces that differ only in what the caller may not
see give the same answers, and the same documents afterwards."""

import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pecia.kernel.errors import Json, PeciaError
from tests.conftest import CONTEXT, House
from tests.soak import FIRST, SOAK

pytestmark = pytest.mark.anyio

SEEDS = 300 if SOAK else 5
STEPS = 12
LEAVES = ("a", "b", "Plan", "plan", "in/a", "in/deep/b")
OPEN, HIDDEN = ("pub", "ro"), ("sec", "SEC", "pub2")
NAMES = [f"{folder}/{leaf}" for folder in (*OPEN, *HIDDEN) for leaf in LEAVES]
FOLDERS = [f"{it}{below}" for it in (*OPEN, *HIDDEN) for below in ("", "/in", "/in/deep", "/new")]
TEXTS = ("[[{}]]", "[x](../{}.md)", "[[{}#h|w]]", "[[Title {}]]", "words")
HEADS = ("", "---\ntitle: Title {}\n---\n", "---\nlocked: true\n---\n")


@dataclass(frozen=True, slots=True)
class World:
    house: House
    folder: Path

    async def open(self, files: dict[str, str]) -> None:
        """bo writes in pub/, reads ro/, and sees nothing else."""
        for path, text in files.items():
            (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / path).write_text(text, "utf-8")
        ana, call = self.house.ana, self.house.app.call
        source: dict[str, Json] = {"source_id": f"wiki:{self.folder.name}"}
        await call(ana, "add_space", {"folder": str(self.folder)}, CONTEXT)
        await call(ana, "set_source", {**source, "trim_mode": "per_file"}, CONTEXT)
        for folder, role in (("pub/", "writer"), ("ro/", "reader")):
            grant = {"folder": folder, "to": "user:bo", "role": role}
            await call(ana, "grant", {**source, **grant}, CONTEXT)
        await call(ana, "wiki.list_documents", {"space": self.folder.name}, CONTEXT)

    async def ask(self, tool: str, arguments: dict[str, Json]) -> Any:
        """The whole answer, or the whole refusal."""
        asked: dict[str, Json] = {"space": self.folder.name, **arguments}
        try:
            done = await self.house.app.call(self.house.bo, f"wiki.{tool}", asked, CONTEXT)
        except PeciaError as error:
            return error.payload()
        said = json.dumps([done.structured, [str(it) for it in done.content]])
        return said.replace(self.folder.name, "SPACE")

    def visible(self) -> dict[str, str]:
        found = [path for it in OPEN for path in (self.folder / it).rglob("*.md")]
        return {str(it.relative_to(self.folder)): it.read_text("utf-8") for it in found}


def some_text(chance: random.Random) -> str:
    lines = [chance.choice(TEXTS) for _ in range(chance.randint(0, 4))]
    names = (*NAMES, *LEAVES)
    head = chance.choice(HEADS).format(chance.choice(names))
    return head + "".join(it.format(chance.choice(names)) + "\n" for it in lines)


def some_files(chance: random.Random, folders: tuple[str, ...]) -> dict[str, str]:
    names = [it for it in NAMES if it.startswith(tuple(f"{one}/" for one in folders))]
    return {f"{it}.md": some_text(chance) for it in names if chance.random() < 0.5}


def some_rename(chance: random.Random) -> tuple[str, dict[str, Json]]:
    mine = [it for it in NAMES if it.startswith("pub/")]
    if chance.random() < 0.3:
        old = chance.choice([it for it in FOLDERS if it.startswith("pub")] * 2 + FOLDERS)
        return "rename_folder", {"fromFolder": old, "toFolder": chance.choice(FOLDERS)}
    old, new = chance.choice(mine * 2 + NAMES), chance.choice(mine + NAMES)
    return "rename_document", {"docName": old, "newDocName": new}


@pytest.mark.timeout(0 if SOAK else 120)
async def test_renames_tell_nothing_of_hidden_documents_and_links(
    house: House, tmp_path: Path
) -> None:
    renamed = 0
    for seed in range(FIRST, FIRST + SEEDS):
        chance = random.Random(seed)
        seen = some_files(chance, OPEN)
        twins = [World(house, tmp_path / f"{it}-{seed}") for it in ("full", "bare")]
        await twins[0].open(seen | some_files(chance, HIDDEN))
        await twins[1].open(seen)
        for _ in range(STEPS):
            tool, arguments = some_rename(chance)
            full, bare = [await it.ask(tool, arguments) for it in twins]
            assert full == bare, (seed, tool, arguments)
            assert twins[0].visible() == twins[1].visible(), (seed, tool, arguments)
            renamed += isinstance(full, str)
    assert renamed
