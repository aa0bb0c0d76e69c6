"""A database with callers in it, for tests of jobs."""

from collections.abc import AsyncGenerator

import pytest

from pecia.kernel.store.cluster import DatabaseLogins
from pecia.kernel.store.store import Store
from tests.features.jobs.jobs_fixture import JobsFixture, open_ground


@pytest.fixture
async def ground(database: DatabaseLogins) -> AsyncGenerator[JobsFixture]:
    async with open_ground(Store(database)) as found:
        yield found
