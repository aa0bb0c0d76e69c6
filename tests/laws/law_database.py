"""A database to try worlds in: the house on one side, a path for callers on the other."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from typing import Any, LiteralString, cast

import psycopg

from pecia.kernel.store.cluster import DatabaseLogins
from tests.laws.facts import Credential, File, RoleGrant, Source, Tenant, User
from tests.laws.law import Tally, Trial, begin, try_world
from tests.laws.paths import SQL, Connection, SqlPath, SystemPath
from tests.laws.sql import Names
from tests.laws.worlds import World
from tests.laws.writes import SCOPES


@dataclass(frozen=True, slots=True)
class LawDatabase:
    """Three connections, one for each role."""

    owner: Connection
    app: Connection
    system: Connection
    house: SystemPath
    path: SqlPath

    def begin(self, seed: int) -> Trial:
        return begin(Random(seed), self.house, self.path, Tally())

    def try_world(self, chance: Random, tally: Tally) -> None:
        try_world(chance, self.house, self.path, tally)

    def load_small(self) -> Names:
        return self.house.load(small_world(), Random(0))

    def run_as(self, names: Names, who: str, statement: str) -> list[tuple[Any, ...]]:
        """One statement as somebody, kept when it succeeds."""
        with self.app.transaction():
            self.app.execute("SELECT kernel.enter(%s)", [names.id(who)])
            return self.run(statement)

    def run(self, statement: str) -> list[tuple[Any, ...]]:
        """One statement on the app role, as nobody unless somebody has entered."""
        # Tests write them; no caller does.
        found = self.app.execute(cast(LiteralString, statement))
        return found.fetchall() if found.description else []


ANA, BO = "t1/ana/1", "t1/bo/1"


def small_world() -> World:
    """Two tenants. In the first, ana administers, and bo writes in the folder `b/` of `s1`."""
    every = frozenset(SCOPES)
    home = Tenant("t1", principal={"user::ana", "user::bo"})
    home.user_account = {"ana": User("admin"), "bo": User()}
    home.credential = {ANA: Credential("pat", "ana", every), BO: Credential("pat", "bo", every)}
    home.source = {"s1": Source("open"), "hidden": Source("per_file")}
    home.folder_grant = {("s1", "b/", "user::bo"): RoleGrant("writer")}
    home.file = {("s1", "a/1"): File(1), ("s1", "b/2"): File(2), ("hidden", "a/1"): File(3)}
    return World([home, Tenant("t2", principal={"user::bo"}, user_account={"bo": User()})])


@contextmanager
def open_ground(logins: DatabaseLogins) -> Generator[LawDatabase]:
    """A ground on a database that has the schema."""
    with connect(logins.owner) as owner, connect(logins.app) as app:
        owner.execute(SQL["install"])
        with connect(logins.system) as system:
            yield LawDatabase(owner, app, system, SystemPath(system), SqlPath(app))


def connect(conninfo: str) -> Connection:
    # What a crash would lose is of no use to a test.
    return psycopg.connect(conninfo, autocommit=True, options="-c synchronous_commit=off")
