"""A server on a socket, with every MCP endpoint and the fixtures of the conformance suite."""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeAlias

import httpx
import pytest

from pecia.app.app import SETTINGS, App, open_app
from pecia.app.dispatch import ANONYMOUS_CALLER
from pecia.interfaces.http.server import serve_http
from pecia.interfaces.mcp.methods.subscriptions import Subscriptions
from pecia.interfaces.mcp.mount import mount_mcp
from pecia.kernel.errors import Json
from pecia.kernel.identity.caller import Caller
from pecia.kernel.settings.load import load_settings
from pecia.kernel.store.cluster import DatabaseLogins
from tests.conftest import CONTEXT, EVERY_SCOPE, house_flags, no_fetch
from tests.mcp.raw_mcp import RawMcp

BIT = "/mcp/conformance"
INSTANCE = "the-one-under-test"


@dataclass(frozen=True, slots=True)
class Served:
    """A Pecia that answers at `url`. Without a token its owner asks; `talk` is the owner's."""

    app: App
    url: str
    talk: RawMcp
    owner: Caller
    changes: Subscriptions

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def other(self, token: str | None = None) -> RawMcp:
        """Another client at the same server."""
        return RawMcp(self.talk.http, token)

    async def token(self, user: str, scopes: list[Json] = EVERY_SCOPE) -> str:
        """A token of a user, who is made when there is none yet."""
        names = await self.app.call(self.owner, "list_users", {}, CONTEXT)
        if f'"{user}"' not in str(names.structured).replace("'", '"'):
            await self.app.call(self.owner, "add_user", {"name": user}, CONTEXT)
        asked: dict[str, Json] = {"label": "test", "user": user, "scopes": scopes}
        made = await self.app.call(self.owner, "make_token", asked, CONTEXT)
        assert isinstance(made.structured, dict)
        return str(made.structured["token"])


Serve: TypeAlias = Callable[..., AbstractAsyncContextManager[Served]]


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def serve(database: DatabaseLogins, tmp_path: Path) -> Serve:
    """Serves with the settings that the test names, beside those of every test."""
    return partial(_serving, database, tmp_path / "home")


@pytest.fixture(scope="module")
async def running(
    module_database: DatabaseLogins, tmp_path_factory: pytest.TempPathFactory
) -> AsyncGenerator[Served]:
    """One server for all tests of a file: most ask, and change nothing."""
    async with _serving(module_database, tmp_path_factory.mktemp("home")) as found:
        yield found


@pytest.fixture
def served(running: Served) -> Served:
    """That server, and a client who comes to it for the first time."""
    return replace(running, talk=running.other())


@asynccontextmanager
async def _serving(
    database: DatabaseLogins, home: Path, environ: Mapping[str, str] | None = None, **flags: str
) -> AsyncGenerator[Served]:
    named = {name.replace("__", "."): value for name, value in flags.items()}
    settings = load_settings(
        SETTINGS,
        flags={**house_flags(database, home), "desk.conformance": "true"} | named,
        environ=environ or {},
        project_file=None,
        user_file=None,
    )
    changes = Subscriptions()
    async with open_app(settings, fetch=no_fetch, report=lambda _: None) as app:
        owner = await app.authenticate(None, CONTEXT) if settings.kernel.mode == "local" else None
        async with (
            serve_http(
                app,
                port=0,
                mounts=[lambda app, keeper: mount_mcp(app, keeper, changes)],
                instance=INSTANCE,
            ) as address,
            httpx.AsyncClient(base_url=address.url, timeout=20) as http,
        ):
            assert owner is None or isinstance(owner, Caller)
            yield Served(app, address.url, RawMcp(http), owner or ANONYMOUS_CALLER, changes)
