"""A served Pecia for every test of a door."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from pecia.kernel.store.cluster import Logins
from tests.doors.served import Pecia, open_pecia


@pytest.fixture
async def pecia(database: Logins, tmp_path: Path) -> AsyncGenerator[Pecia]:
    """In server mode, with the settings of most servers."""
    async with open_pecia(database, tmp_path / "home") as served:
        yield served
