"""Servers with the probe in them, as fixtures that a file of tests takes by name."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from pecia.kernel.store.cluster import DatabaseLogins
from tests.interfaces.probe_feature import Probe
from tests.interfaces.tenant_server import Pecia, open_pecia


@pytest.fixture
def probe() -> Probe:
    return Probe()


@pytest.fixture
async def alone(database: DatabaseLogins, tmp_path: Path, probe: Probe) -> AsyncGenerator[Pecia]:
    async with open_pecia(database, tmp_path / "home", features=[probe.feature()]) as served:
        yield served


@pytest.fixture(scope="module")
async def shared(
    module_database: DatabaseLogins, tmp_path_factory: pytest.TempPathFactory
) -> AsyncGenerator[Pecia]:
    home = tmp_path_factory.mktemp("home")
    async with open_pecia(module_database, home, features=[Probe().feature()]) as served:
        yield served


@pytest.fixture
def pecia(shared: Pecia) -> Pecia:
    """Tests that look into the probe, or break something, ask for a server `alone`."""
    return shared
