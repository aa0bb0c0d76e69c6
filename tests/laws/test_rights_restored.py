"""A restored backup is an equal: the law of rights holds on it, for the old worlds and for new."""

from dataclasses import replace
from pathlib import Path
from random import Random

import anyio

from pecia.app.app import migration_parts
from pecia.kernel.store.backup.dump import back_up
from pecia.kernel.store.backup.restore import restore
from pecia.kernel.store.cluster import DatabaseLogins
from tests.laws.law import Tally, check_reads, check_writes
from tests.laws.law_database import LawDatabase, open_ground

WORLDS = 10


def quiet(name: str, done: int, of: int) -> None:
    """Nobody watches."""


def test_rights_hold_on_a_restored_copy(
    ground: LawDatabase, database: DatabaseLogins, empty_database: DatabaseLogins, tmp_path: Path
) -> None:
    trials = [ground.begin(seed) for seed in range(WORLDS)]
    anyio.run(back_up, database.system, tmp_path / "b.zip", quiet)
    anyio.run(restore, empty_database.owner, tmp_path / "b.zip", migration_parts(), quiet)
    with open_ground(empty_database) as copy:
        for trial in trials:
            moved = replace(trial, house=copy.house, path=copy.path)
            check_reads(moved)
            check_writes(moved, copy.path, Random(0))
        copy.try_world(Random(WORLDS), Tally())
