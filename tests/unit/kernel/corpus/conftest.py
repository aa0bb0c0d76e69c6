"""What tests of the corpus share."""

from collections.abc import AsyncGenerator

import pytest

from pecia.kernel.store.cluster import DatabaseLogins
from pecia.kernel.store.store import Store
from tests.unit.kernel.corpus.corpus_fixture import CorpusFixture, open_ground


@pytest.fixture
async def ground(database: DatabaseLogins) -> AsyncGenerator[CorpusFixture]:
    store = Store(database)
    await store.open()
    try:
        async with open_ground(store) as found:
            yield found
    finally:
        await store.close()
