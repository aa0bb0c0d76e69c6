"""What laws about the database share."""

from collections.abc import Iterator

import pytest

from pecia.kernel.store.cluster import DatabaseLogins
from tests.laws.law_database import LawDatabase, open_ground


@pytest.fixture
def ground(database: DatabaseLogins) -> Iterator[LawDatabase]:
    with open_ground(database) as found:
        yield found
