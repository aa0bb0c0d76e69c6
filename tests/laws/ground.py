"""A database to try worlds in: the house on one side, a path for callers on the other."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random

import psycopg

from pecia.kernel.store.cluster import Logins
from tests.laws.law import Tally, Trial, begin, try_world
from tests.laws.paths import Connection, House, SqlPath
from tests.laws.sql import ACT


@dataclass(frozen=True, slots=True)
class Ground:
    """Three connections, one for each role."""

    owner: Connection
    app: Connection
    system: Connection
    house: House
    path: SqlPath

    def begin(self, seed: int) -> Trial:
        return begin(Random(seed), self.house, self.path, Tally())

    def try_world(self, chance: Random, tally: Tally) -> None:
        try_world(chance, self.house, self.path, tally)


@contextmanager
def open_ground(logins: Logins) -> Generator[Ground]:
    """A ground on a database that has the schema."""
    with connect(logins.owner) as owner, connect(logins.app) as app:
        owner.execute(ACT)
        with connect(logins.system) as system:
            yield Ground(owner, app, system, House(system), SqlPath(app))


def connect(conninfo: str) -> Connection:
    # What a crash would lose is of no use to a test.
    return psycopg.connect(conninfo, autocommit=True, options="-c synchronous_commit=off")
