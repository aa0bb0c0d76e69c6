"""What laws about the database share."""

from collections.abc import Iterator

import pytest
from hypothesis.vendor import pretty

from pecia.kernel.store.cluster import DatabaseLogins
from tests.laws.law_database import LawDatabase, open_ground

# Hypothesis prints the fixtures of a failing example, and an app prints as 60 MB.
pretty.for_type_by_name("pecia.app.app", "App", lambda _, printer, __: printer.text("App"))


@pytest.fixture
def ground(database: DatabaseLogins) -> Iterator[LawDatabase]:
    with open_ground(database) as found:
        yield found
