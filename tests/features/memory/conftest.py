"""One Pecia for all tests of a file. Each test has collections of its own, so that none meets."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

import pytest

from pecia.app.app import SETTINGS, App, index_root, open_app
from pecia.app.dispatch import RequestContext
from pecia.features.memory.chat_model import MemoryChatModel
from pecia.features.memory.feature import memory_feature
from pecia.features.memory.settings import MemorySettings
from pecia.kernel.corpus.keyword.reader_cache import ReaderCache
from pecia.kernel.corpus.search.search import Corpus
from pecia.kernel.errors import Json, PeciaError
from pecia.kernel.identity.caller import Caller
from pecia.kernel.settings.load import load_settings
from pecia.kernel.store.cluster import DatabaseLogins
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.view import combine_tools
from tests.conftest import CONTEXT, EVERY_SCOPE, house_flags, no_fetch

SWITCHES = {"memory.use_workspace": "true", "memory.knowledge_graph": "true"}


@dataclass(frozen=True, slots=True)
class Memories:
    """`ana` administers the tenant, `bo` and `cy` are members. `session` is what a shim sends."""

    app: App
    ana: Caller
    bo: Caller
    cy: Caller
    session: Mapping[str, Json] = field(default_factory=dict[str, Json])

    async def call(self, who: Caller, tool: str, /, **arguments: Any) -> dict[str, Any]:
        visit = RequestContext("test", client_ip="127.0.0.1", session=self.session)
        result = await self.app.call(who, tool, arguments, visit)
        return cast(dict[str, Any], result.structured)

    def within(self, **settings: Any) -> "Memories":
        """The same in a session with other settings: `project_name="x"`."""
        named = {f"memory.{name}": value for name, value in settings.items()}
        return replace(self, session={**self.session, **named})

    async def remember(self, who: Caller, *texts: str, **more: Any) -> dict[str, Any]:
        given: list[Json] = [*texts]
        tool = "cipher_extract_and_operate_memory"
        return await self.call(who, tool, interaction=given, **more)

    async def recall(self, who: Caller, query: str, **more: Any) -> list[str]:
        """The texts that a search gives."""
        found = await self.call(who, "cipher_memory_search", query=query, **more)
        return [it["text"] for it in found["results"]]

    async def listed(self, who: Caller, **more: Any) -> list[str]:
        found = await self.call(who, "memory_list", **more)
        return sorted(it["text"] for it in found["memories"])


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def opened(
    module_database: DatabaseLogins, tmp_path_factory: pytest.TempPathFactory
) -> AsyncGenerator[Memories]:
    async with open_memories(module_database, tmp_path_factory.mktemp("home")) as found:
        yield found


@asynccontextmanager
async def open_memories(
    database: DatabaseLogins, home: Path, **flags: str
) -> AsyncGenerator[Memories]:
    """A Pecia with three callers, and every tool of the feature."""
    settings = load_settings(
        SETTINGS,
        flags={**house_flags(database, home), **SWITCHES, **flags},
        environ={},
        project_file=None,
        user_file=None,
    )
    async with open_app(settings, fetch=no_fetch, report=lambda _: None) as app:
        ana = await app.authenticate(None, CONTEXT)
        assert isinstance(ana, Caller)
        bo, cy = [await member(app, ana, name) for name in ("bo", "cy")]
        yield Memories(app, ana, bo, cy)


async def member(app: App, ana: Caller, name: str, scopes: list[Json] = EVERY_SCOPE) -> Caller:
    """A new member of the tenant."""
    await app.call(ana, "add_user", {"name": name}, CONTEXT)
    asked: dict[str, Json] = {"label": "test", "user": name, "scopes": scopes}
    made = cast(dict[str, Any], (await app.call(ana, "make_token", asked, CONTEXT)).structured)
    found = await app.authenticate(made["token"], CONTEXT)
    assert isinstance(found, Caller)
    return found


@pytest.fixture
def memories(opened: Memories) -> Memories:
    name = uuid4().hex
    return opened.within(
        collection=f"k-{name}", reflection_collection=f"r-{name}", workspace_collection=f"w-{name}"
    )


@dataclass(slots=True)
class Scripted:
    """A model that says what the test wants, and notes what it was told."""

    says: str | PeciaError
    heard: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    async def say(self, call: Call, system: str, message: str, *, timeout_s: float) -> str:
        self.heard.append((system, message))
        if isinstance(self.says, PeciaError):
            raise self.says
        return self.says


def with_mind(memories: Memories, mind: MemoryChatModel | None) -> Memories:
    """The same with this chat model."""
    app = memories.app
    corpus = Corpus(app.store, ReaderCache(index_root(app.settings.kernel)), app.embedder)
    room = memory_feature(corpus, app.settings.part(MemorySettings), mind)
    return replace(memories, app=replace(app, full_view=combine_tools(room.tools)))
