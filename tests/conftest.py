"""Fixtures for every tier: the event loop, a database per test, an open Pecia with two callers."""

import gc
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, cast

import pytest
from hypothesis import settings

from pecia.app.app import SETTINGS, App, migration_parts, open_app
from pecia.app.dispatch import RequestContext
from pecia.kernel.errors import Json, UpstreamError
from pecia.kernel.identity.caller import Caller
from pecia.kernel.settings.load import load_settings
from pecia.kernel.store.cluster import DatabaseLogins
from pecia.kernel.store.migrate import migrate
from tests.confirming_channel import Person
from tests.soak import SOAK

pytest_plugins = ["tests.database", "tests.hang_guard"]

# Thousands of collected tests stay alive for the whole run, and every full collection looks at all
# of them. With the interpreter's thresholds, collecting took 9.6 s of CPU instead of 8.3.
gc.set_threshold(50_000, 20, 100)

# The same code gets the same verdict: laws draw the same cases each time, `make soak` new ones.
settings.register_profile("pecia", derandomize=not SOAK, print_blob=True)
settings.load_profile("pecia")

CONTEXT = RequestContext("test", client_ip="127.0.0.1", channel=Person())
"""How a test calls a tool: as a client whose person says yes where one is asked."""
EVERY_SCOPE: list[Json] = ["pecia.search", "pecia.read", "pecia.write", "pecia.admin"]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def prepare_template() -> Callable[[DatabaseLogins], Awaitable[None]]:
    """Every database of the run starts with the schema of this program."""

    async def migrated(logins: DatabaseLogins) -> None:
        await migrate(logins.owner, migration_parts())

    return migrated


@dataclass(frozen=True, slots=True)
class House:
    """An open Pecia on a database of its own. `ana` administers the tenant, `bo` is a member."""

    app: App
    ana: Caller
    bo: Caller
    bo_token: str

    async def call(self, who: Caller, tool: str, /, **arguments: Json) -> dict[str, Any]:
        """The result of a tool, through the dispatcher."""
        result = await self.app.call(who, tool, arguments, CONTEXT)
        return cast(dict[str, Any], result.structured)


def house_flags(database: DatabaseLogins, home: Path) -> dict[str, str]:
    """Settings of a Pecia on that database. No test should meet the rate limits unasked."""
    return {
        "home": str(home),
        "database_url": database.app,
        "database_owner_url": database.owner,
        "database_system_url": database.system,
        "principal_rate_per_s": "100000",
        "principal_burst": "100000",
    }


async def no_fetch(url: str) -> bytes:
    raise UpstreamError(f"this test has no way to {url}")


OpenHouse: TypeAlias = Callable[[DatabaseLogins, Path], AbstractAsyncContextManager[App]]


@pytest.fixture
def open_house() -> OpenHouse:
    """Opens a Pecia on a database and in a home of the test's choice."""

    return open_test_app


def open_test_app(database: DatabaseLogins, home: Path) -> AbstractAsyncContextManager[App]:
    settings = load_settings(
        SETTINGS,
        flags=house_flags(database, home),
        environ={},
        project_file=None,
        user_file=None,
    )
    return open_app(settings, fetch=no_fetch, report=lambda _: None)


@pytest.fixture
async def house(
    database: DatabaseLogins, tmp_path: Path, open_house: OpenHouse
) -> AsyncGenerator[House]:
    async with with_callers(open_house(database, tmp_path / "home")) as found:
        yield found


@asynccontextmanager
async def with_callers(opening: AbstractAsyncContextManager[App]) -> AsyncGenerator[House]:
    """A house of that app, for the time of the block."""
    async with opening as app:
        ana = await app.authenticate(None, CONTEXT)
        assert isinstance(ana, Caller)
        await app.call(ana, "add_user", {"name": "bo"}, CONTEXT)
        made = await app.call(
            ana, "make_token", {"label": "test", "user": "bo", "scopes": EVERY_SCOPE}, CONTEXT
        )
        assert isinstance(made.structured, dict)
        token = str(made.structured["token"])
        bo = await app.authenticate(token, CONTEXT)
        assert isinstance(bo, Caller)
        yield House(app, ana, bo, token)
