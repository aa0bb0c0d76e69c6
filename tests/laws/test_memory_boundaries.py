"""A session reads and changes memories of its own collection and project, by every tool."""

import json
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from pecia.kernel.errors import PeciaError
from pecia.kernel.identity.caller import Caller
from pecia.kernel.store.cluster import DatabaseLogins
from tests.features.memory.conftest import Memories, open_memories
from tests.soak import SOAK

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(0 if SOAK else 120)]

WORLDS = 40 if SOAK else 1
MEMORIES = 14
PROJECTS = (None, "north", "north/*")
KINDS = ("knowledge", "reasoning", "workspace")
BY_ID = ("memory_get", "memory_history", "memory_undo")


@dataclass(frozen=True, slots=True)
class PlacedMemory:
    """A memory, its word, which no other text has, and the session that it was stored in."""

    word: str
    id: str
    kind: str
    collection: str
    project: str | None
    shared: bool


@dataclass(slots=True)
class Sessions:
    """Sessions of one user, in two collections and some projects."""

    memories: Memories
    dice: random.Random
    name: str = field(default_factory=lambda: uuid4().hex)
    placed: list[PlacedMemory] = field(default_factory=list[PlacedMemory])

    @property
    def who(self) -> Caller:
        return self.memories.bo

    def session(self, collection: str, project: str | None) -> Memories:
        named = {"project_name": project} if project is not None else {}
        at = f"{collection}-{self.name}"
        return self.memories.within(
            collection=f"k-{at}",
            reflection_collection=f"r-{at}",
            workspace_collection=f"w-{at}",
            **named,
        )

    async def store(self) -> None:
        """Store one memory, alike enough to others to be compared with them."""
        collection, project = self.dice.choice("ab"), self.dice.choice(PROJECTS)
        kind, word = self.dice.choice(KINDS), f"w{uuid4().hex}"
        shared = kind == "workspace" or (kind == "knowledge" and self.dice.random() < 0.3)
        here = self.session(collection, project)
        here = here.within(workspace_mode="shared") if shared else here
        text = f"The build server of the house keeps {word} in its own configuration file."
        id_ = await _store(here, self.who, kind, text)
        self.placed.append(PlacedMemory(word, id_, kind, collection, project, shared))

    def is_inside(self, it: PlacedMemory, collection: str, project: str | None) -> bool:
        if it.collection != collection:
            return False
        return project is None or it.project == project


async def _store(here: Memories, who: Caller, kind: str, text: str) -> str:
    if kind == "workspace":
        made = await here.call(who, "cipher_workspace_store", interaction=text)
        return made["workspace"][0]["id"]
    if kind == "reasoning":
        trace = {"id": "t", "steps": [{"type": "thought", "content": text}]}
        asked = {"trace": trace, "evaluation": {"qualityScore": 1.0}}
        made = await here.call(who, "cipher_store_reasoning_memory", **asked)
        return made["result"]["vectorId"]
    return (await here.remember(who, text))["memory"][0]["id"]


async def read_all(here: Memories, who: Caller, **more: Any) -> str:
    """What every tool that searches or lists says in a session."""
    query = "build server configuration file"
    told: list[Any] = []
    wide = {"top_k": 50, "similarity_threshold": 0}
    found = await here.call(who, "cipher_memory_search", query=query, **wide, **more)
    told.append(found["results"])
    found = await here.call(who, "cipher_workspace_search", query=query, **wide)
    told.append(found["results"])
    asked = {"query": query, "options": {"maxResults": 50, "minQualityScore": 0}}
    told.append((await here.call(who, "cipher_search_reasoning_patterns", **asked))["result"])
    told.append(await here.call(who, "ask_cipher", message="Which build server is it?"))
    for kind in KINDS:
        told.append(await here.call(who, "memory_list", kind=kind, limit=200, **more))
        told.append(await here.call(who, "memory_export", kind=kind, limit=200, **more))
    return json.dumps(told)


async def test_no_tool_shows_a_session_what_is_outside_its_collection_or_project(
    database: DatabaseLogins, tmp_path: Path
) -> None:
    async with open_memories(database, tmp_path / "home") as memories:
        for seed in range(WORLDS):
            world = Sessions(memories, random.Random(seed))
            for _ in range(MEMORIES):
                await world.store()
            for collection in "ab":
                for project in PROJECTS:
                    await check_reads(world, collection, project)
                    await check_ids(world, collection, project)


async def check_reads(world: Sessions, collection: str, project: str | None) -> None:
    here = world.session(collection, project)
    told = await read_all(here, world.who)
    everywhere = await read_all(here, world.who, all_projects=True)
    for it in world.placed:
        # Shared and team memories are labelled with their project and not kept apart by it.
        if it.collection != collection:
            assert it.word not in told + everywhere, (it, collection, project)
        elif not it.shared:
            inside = world.is_inside(it, collection, project)
            assert (it.word in told) is inside, (it, collection, project)
            assert it.word in everywhere, (it, collection, project)


async def check_ids(world: Sessions, collection: str, project: str | None) -> None:
    """Ids from elsewhere are refused as unknown ones are, and nothing is changed by that."""
    here = world.session(collection, project)
    outside = [
        it
        for it in world.placed
        if it.collection != collection
        or not (it.shared or world.is_inside(it, collection, project))
    ]
    for it in outside:
        unknown = str(uuid4())
        for tool in BY_ID:
            refused, absent = [
                await refusal(here, world.who, tool, id=id_) for id_ in (it.id, unknown)
            ]
            assert refused == absent.replace(unknown, it.id), (tool, it, collection, project)
        edited = await refusal(here, world.who, "memory_edit", id=it.id, text="Overwritten.")
        assert "no memory" in edited, (it, collection, project)
    if outside:
        ids = [it.id for it in outside][:100]
        gone = await here.call(world.who, "memory_delete", ids=ids)
        assert (gone["deleted"], gone["notFound"]) == ([], ids)


async def refusal(here: Memories, who: Caller, tool: str, **asked: Any) -> str:
    try:
        return json.dumps(await here.call(who, tool, **asked))
    except PeciaError as error:
        return json.dumps(error.payload())
