"""A database with callers in it, for tests of jobs and leases."""

from collections.abc import AsyncGenerator

import pytest

from pecia.kernel.store.cluster import Logins
from pecia.kernel.store.store import Store
from tests.rooms.jobs.ground import Ground, open_ground


@pytest.fixture
async def ground(database: Logins) -> AsyncGenerator[Ground]:
    async with open_ground(Store(database)) as found:
        yield found
