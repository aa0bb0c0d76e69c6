"""Nobody ever finds a memory that they may not see, at any tool, in any answer or error."""

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

from pecia.app.dispatch import RequestContext
from pecia.kernel.errors import PeciaError
from pecia.kernel.identity.caller import Caller
from pecia.kernel.store.cluster import DatabaseLogins
from tests.features.memory.conftest import Memories, open_memories
from tests.interfaces.tenant_server import open_unserved
from tests.soak import SOAK

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(0 if SOAK else 120)]

WORLDS = 60 if SOAK else 1
STEPS = 20
TOPICS = ("build", "mail")
FILE_TOOLS = (
    "lake.get_file_text",
    "lake.get_file_window",
    "lake.get_file_metadata",
    "admin.check_access",
)


@dataclass(slots=True)
class StoredMemory:
    """What a world knows of one memory: its word, which no other text has, and whose it is."""

    word: str
    id: str
    owner: UUID | None
    shared: bool
    kind: str


@dataclass(slots=True)
class World:
    """Three callers who remember, share and remove, and a list of what should be there."""

    memories: Memories
    dice: random.Random
    kept: dict[str, StoredMemory] = field(default_factory=dict[str, StoredMemory])
    gone: list[str] = field(default_factory=list[str])

    @property
    def callers(self) -> list[Caller]:
        return [self.memories.ana, self.memories.bo, self.memories.cy]

    async def step(self) -> None:
        who = self.dice.choice(self.callers)
        move: Callable[[Caller], Any] = self.dice.choice(
            [self._own, self._own, self._shared, self._team, self._trace, self._remove]
        )
        await move(who)

    async def _own(self, who: Caller) -> None:
        word = self._word()
        made = await self.memories.remember(who, self._text(word))
        self._note(word, made["memory"][0]["id"], who, shared=False, kind="knowledge")

    async def _shared(self, who: Caller) -> None:
        word = self._word()
        made = await self._sharing().remember(who, self._text(word))
        self._note(word, made["memory"][0]["id"], who, shared=True, kind="knowledge")

    async def _team(self, who: Caller) -> None:
        word = self._word()
        tool = "cipher_workspace_store"
        made = await self.memories.call(who, tool, interaction=self._text(word))
        self._note(word, made["workspace"][0]["id"], who, shared=True, kind="workspace")

    async def _trace(self, who: Caller) -> None:
        word = self._word()
        trace = {"id": "t", "steps": [{"type": "thought", "content": self._text(word)}]}
        asked = {"trace": trace, "evaluation": {"qualityScore": 1.0}}
        made = await self.memories.call(who, "cipher_store_reasoning_memory", **asked)
        self._note(word, made["result"]["vectorId"], who, shared=False, kind="reasoning")

    async def _remove(self, who: Caller) -> None:
        """Anybody tries to remove anything; only its owner does, and an administrator what is
        shared."""
        if not self.kept:
            return
        it = self.dice.choice([*self.kept.values()])
        told = await self.memories.call(who, "memory_delete", ids=[it.id])
        may = who.user_id == it.owner or (who.is_admin and it.shared)
        assert (told["deleted"] == [it.id]) is may
        assert (told["notYours"] == [it.id]) is (not may and it.shared)
        assert (told["notFound"] == [it.id]) is (not may and not it.shared)
        if may:
            self.gone.append(self.kept.pop(it.word).word)

    def may_see(self, who: Caller, it: StoredMemory) -> bool:
        return who.user_id == it.owner or it.shared

    def _note(self, word: str, id_: str, who: Caller, *, shared: bool, kind: str) -> None:
        """What took the place of another must be for the same eyes."""
        for before in [it for it in self.kept.values() if it.id == id_]:
            assert (before.owner, before.shared) == (who.user_id, shared)
            del self.kept[before.word]
        self.kept[word] = StoredMemory(word, id_, who.user_id, shared, kind)

    def _word(self) -> str:
        return f"w{uuid4().hex}"

    def _text(self, word: str) -> str:
        # Alike enough for one to take the place of another, now and then.
        topic = self.dice.choice(TOPICS)
        return f"The {topic} server of the house keeps {word} in its own configuration file."

    def _sharing(self) -> Memories:
        return self.memories.within(workspace_mode="shared")

    def _key(self, it: StoredMemory) -> str:
        setting = {"knowledge": "collection", "reasoning": "reflection_collection"}[it.kind]
        collection = self.memories.session[f"memory.{setting}"]
        return f"user/{it.owner}/{it.kind}/{collection}/-/{it.id}.md"

    async def everything(self, who: Caller, words: list[str]) -> tuple[str, str]:
        """All that a caller is told: by the tools of memory, and by those of the lake."""
        ids = [it.id for it in self.kept.values()]
        told: list[Any] = []
        for memories in (self.memories, self._sharing()):
            for word in ("server configuration", *words[:1]):
                told.append(await search(memories, who, "cipher_memory_search", word))
                told.append(await search(memories, who, "cipher_workspace_search", word))
                asked = {"query": word, "options": {"maxResults": 50, "minQualityScore": 0}}
                found = await answer(memories, who, "cipher_search_reasoning_patterns", asked)
                told.append(found["result"]["patterns"])
            for kind in ("knowledge", "reasoning", "workspace"):
                told.append(await answer(memories, who, "memory_list", {"kind": kind}))
                told.append(await answer(memories, who, "memory_export", {"kind": kind}))
            told.append(await answer(memories, who, "ask_cipher", {"message": "Which server?"}))
            told.append(await answer(memories, who, "memory_delete", {"ids": [str(uuid4())]}))
        room = json.dumps(told)
        lake: list[Any] = [await answer(self.memories, who, "memory_get", {"id": it}) for it in ids]
        listed = {"source_id": "memory", "limit": 200}
        lake.append(await answer(self.memories, who, "lake.list_files", listed))
        for it in (it for it in self.kept.values() if not it.shared):
            asked = {"source_id": "memory", "key": self._key(it)}
            lake += [await answer(self.memories, who, tool, asked) for tool in FILE_TOOLS]
            lake.append(await search_lake(self.memories, who, it.word))
        return room, json.dumps(lake)


async def search_lake(memories: Memories, who: Caller, word: str) -> Any:
    asked = {"query": word, "source_id": "memory", "limit": 50}
    return (await answer(memories, who, "lake.search_content", asked)).get("hits")


async def search(memories: Memories, who: Caller, tool: str, query: str) -> Any:
    asked = {"query": query, "top_k": 50, "similarity_threshold": 0}
    return {**await answer(memories, who, tool, asked), "query": ""}


async def answer(memories: Memories, who: Caller, tool: str, asked: dict[str, Any]) -> Any:
    try:
        return await memories.call(who, tool, **asked)
    except PeciaError as error:
        return error.payload()


async def test_what_a_caller_is_told_is_what_they_may_see_and_their_own_is_all_there(
    database: DatabaseLogins, tmp_path: Path
) -> None:
    async with open_memories(database, tmp_path / "home") as opened:
        for seed in range(WORLDS):
            name = uuid4().hex
            memories = opened.within(
                collection=f"k{name}",
                reflection_collection=f"r{name}",
                workspace_collection=f"w{name}",
            )
            world = World(memories, random.Random(seed))
            for _ in range(STEPS):
                await world.step()
            for who in world.callers:
                await check(world, who, seed)


async def check(world: World, who: Caller, seed: int) -> None:
    kept = [*world.kept.values()]
    room, lake = await world.everything(who, [it.word for it in kept])
    for it in kept:
        own = who.user_id == it.owner
        # Searching and listing are of one's own and of what is shared, for administrators too.
        assert (it.word in room) is (own or it.shared), (seed, who.user, it)
        assert (it.word in lake) is world.may_see(who, it), (seed, who.user, it)
        if not world.may_see(who, it):
            assert it.id not in room, (seed, who.user, it)
    for word in world.gone:
        assert word not in room + lake, (seed, who.user, word)


async def test_a_tenant_never_finds_what_another_keeps(
    database: DatabaseLogins, tmp_path: Path
) -> None:
    async with open_unserved(database, tmp_path / "home") as unserved:
        app = unserved.app
        callers: dict[str, Caller] = {}
        for tenant in ("north", "south"):
            found = await app.authenticate(unserved.tokens[tenant, "ana"], RequestContext("test"))
            assert isinstance(found, Caller)
            callers[tenant] = found
        memories = Memories(app, callers["north"], callers["south"], callers["south"])
        made = await memories.remember(callers["north"], "North keeps its gold in the cellar.")
        id_ = made["memory"][0]["id"]
        south = callers["south"]
        # The same id brought in elsewhere is another memory, and says nothing of the first.
        brought = await memories.call(
            south, "memory_import", memories=[{"id": id_, "text": "South has no cellar."}]
        )
        assert (brought["imported"], brought["ids"] == [id_]) == (1, False)
        for shared in (memories, memories.within(workspace_mode="shared")):
            found = await search(shared, south, "cipher_memory_search", "gold in the cellar")
            assert "North" not in json.dumps(found)
        assert "North" not in json.dumps(await answer(memories, south, "memory_get", {"id": id_}))
        assert await memories.listed(south) == ["South has no cellar."]
        assert await memories.listed(callers["north"]) == ["North keeps its gold in the cellar."]
