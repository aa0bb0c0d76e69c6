"""One server for all tests of a file, spoken to over MCP; every test has a space of its own."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from pecia.app.app import SETTINGS, App, index_root, open_app
from pecia.interfaces.http.server import serve_http
from pecia.interfaces.mcp.methods.subscriptions import Subscriptions
from pecia.interfaces.mcp.mount import mount_mcp
from pecia.kernel.corpus.keyword.writer import IndexWriter
from pecia.kernel.identity.caller import Caller
from pecia.kernel.settings.load import load_settings
from pecia.kernel.store.cluster import DatabaseLogins
from tests.conftest import CONTEXT, EVERY_SCOPE, house_flags, no_fetch
from tests.mcp.raw_mcp import RawMcp

ENDPOINT = "/mcp/wiki"


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@dataclass(frozen=True, slots=True)
class Answer:
    """What a tool gave: `value` is its structured content."""

    value: dict[str, Any]
    text: str
    is_error: bool

    @property
    def error(self) -> dict[str, Any]:
        assert self.is_error, self.text
        return self.value["error"]


@dataclass(frozen=True, slots=True)
class Served:
    """A Pecia on a socket. `ana` owns the machine, `bo` is a member with a token."""

    app: App
    ana: Caller
    bo_token: str
    http: httpx.AsyncClient
    user_file: Path

    async def call(self, token: str | None, tool: str, arguments: Mapping[str, Any]) -> Answer:
        asked = {"name": tool, "arguments": dict(arguments)}
        frame = await RawMcp(self.http, token).ask(ENDPOINT, "tools/call", asked)
        assert "result" in frame, frame
        result = frame["result"]
        text = "\n".join(it["text"] for it in result["content"] if it["type"] == "text")
        is_error = result.get("isError", False)
        return Answer(result.get("structuredContent", {}), text, is_error)

    async def index(self) -> None:
        """Bring the keyword index up to the last commit."""
        root = index_root(self.app.settings.kernel)
        keeper = await IndexWriter.acquire(self.app.store, "test", root, self.ana.tenant_id)
        assert keeper is not None
        if await keeper.catch_up() is None:
            await keeper.rebuild()
        await keeper.close()


@dataclass(frozen=True, slots=True)
class Space:
    """A folder that is served, and a way to ask for it."""

    served: Served
    name: str
    folder: Path

    async def ask(self, tool: str, /, **arguments: Any) -> Answer:
        """As the owner of the machine."""
        return await self.served.call(None, tool, {"space": self.name, **arguments})

    async def ask_as_bo(self, tool: str, /, **arguments: Any) -> Answer:
        return await self.served.call(self.served.bo_token, tool, {"space": self.name, **arguments})

    async def value(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """What it gives, which is no error."""
        answer = await self.ask(tool, **arguments)
        assert not answer.is_error, answer.text
        return answer.value

    async def admin(self, tool: str, /, **arguments: Any) -> None:
        """A change of rights, by the administrator."""
        await self.served.app.call(
            self.served.ana, tool, {"source_id": f"wiki:{self.name}", **arguments}, CONTEXT
        )

    def write(self, files: Mapping[str, str | bytes]) -> None:
        """Files that came without our help."""
        for path, body in files.items():
            place = self.folder / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(body if isinstance(body, bytes) else body.encode())

    def read(self, path: str) -> str:
        return (self.folder / path).read_bytes().decode()


@pytest.fixture(scope="module")
async def served(
    module_database: DatabaseLogins, tmp_path_factory: pytest.TempPathFactory
) -> AsyncGenerator[Served]:
    async with open_served(module_database, tmp_path_factory.mktemp("pecia")) as it:
        yield it


@asynccontextmanager
async def open_served(database: DatabaseLogins, home: Path, **flags: str) -> AsyncGenerator[Served]:
    """A Pecia of this machine's owner, with other settings where a test wants them."""
    user_file = home / "user" / "config.yml"
    settings = load_settings(
        SETTINGS,
        flags={
            **house_flags(database, home / "home"),
            "wiki.user_file": str(user_file),
            **{f"wiki.{name}": value for name, value in flags.items()},
        },
        environ={},
        project_file=None,
        user_file=None,
    )
    async with open_app(settings, fetch=no_fetch, report=lambda _: None) as app:
        ana = await app.authenticate(None, CONTEXT)
        assert isinstance(ana, Caller)
        await app.call(ana, "add_user", {"name": "bo"}, CONTEXT)
        made = await app.call(
            ana, "make_token", {"label": "test", "user": "bo", "scopes": EVERY_SCOPE}, CONTEXT
        )
        assert isinstance(made.structured, dict)
        async with (
            serve_http(
                app,
                port=0,
                mounts=[lambda app, keeper: mount_mcp(app, keeper, Subscriptions())],
                instance="wiki-under-test",
            ) as address,
            httpx.AsyncClient(base_url=address.url, timeout=60) as http,
        ):
            yield Served(app, ana, str(made.structured["token"]), http, user_file)


@pytest.fixture
async def space(served: Served, tmp_path: Path) -> Space:
    return await add_space(served, tmp_path)


async def add_space(served: Served, tmp_path: Path) -> Space:
    """One more, of this test."""
    name = f"notes-{uuid4().hex[:8]}"
    folder = tmp_path / name
    folder.mkdir()
    await served.app.call(served.ana, "add_space", {"folder": str(folder)}, CONTEXT)
    return Space(served, name, folder)
