"""What laws about the database share."""

from collections.abc import Iterator

import pytest

from pecia.kernel.store.cluster import DatabaseLogins
from tests.laws.ground import Ground, open_ground


@pytest.fixture
def ground(database: DatabaseLogins) -> Iterator[Ground]:
    with open_ground(database) as found:
        yield found
