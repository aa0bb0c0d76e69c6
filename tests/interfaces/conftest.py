"""A served Pecia for every test of an interface: its own, or one for all tests of its file."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from pecia.kernel.store.cluster import DatabaseLogins
from tests.interfaces.tenant_server import Pecia, open_pecia


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def alone(database: DatabaseLogins, tmp_path: Path) -> AsyncGenerator[Pecia]:
    """In server mode, with the settings of most servers, and nobody else has been here."""
    async with open_pecia(database, tmp_path / "home") as served:
        yield served


@pytest.fixture(scope="module")
async def shared(
    module_database: DatabaseLogins, tmp_path_factory: pytest.TempPathFactory
) -> AsyncGenerator[Pecia]:
    """The same for all tests of a file, which leave in it nothing that another would mind."""
    async with open_pecia(module_database, tmp_path_factory.mktemp("home")) as served:
        yield served


@pytest.fixture
def pecia(alone: Pecia) -> Pecia:
    """The one of its own, unless a file says that its tests share one."""
    return alone
