"""Rights hold through the dispatcher: what tools show and do is what the law says.

The meaning of rights is in oracle.py, the path is in dispatcher_path.py.
"""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from random import Random

import pytest
from anyio.from_thread import start_blocking_portal

from bench import result
from pecia.app.app import SETTINGS, open_app
from pecia.kernel.settings.load import load_settings
from pecia.kernel.store.cluster import DatabaseLogins
from tests.conftest import house_flags, no_fetch
from tests.laws.dispatcher_path import DispatcherPath
from tests.laws.law import Tally, live_through_world
from tests.laws.law_database import connect
from tests.laws.paths import SystemPath
from tests.soak import FIRST, SOAK, WORLDS

# A world costs as many calls as it has callers, tables and pages.
SHARE = 5


@pytest.fixture
def dispatcher(database: DatabaseLogins, tmp_path: Path) -> Iterator[DispatcherPath]:
    settings = load_settings(
        SETTINGS,
        flags=house_flags(database, tmp_path / "home"),
        environ={},
        project_file=None,
        user_file=None,
    )
    with start_blocking_portal() as portal:
        opening = open_app(settings, fetch=no_fetch, report=lambda _: None)
        with portal.wrap_async_context_manager(opening) as app:
            yield DispatcherPath(app, portal)


@pytest.mark.timeout(0 if SOAK else 60)
def test_rights_hold_through_the_dispatcher(
    database: DatabaseLogins, dispatcher: DispatcherPath
) -> None:
    tally = Tally()
    with connect(database.system) as system:
        house = SystemPath(system)
        for seed in range(FIRST, FIRST + WORLDS // SHARE):
            live_through_world(Random(seed), house, dispatcher, tally)
    assert tally.rows
    if SOAK:
        result.write("soak-rights-dispatcher", {**asdict(tally), "first_seed": FIRST})
