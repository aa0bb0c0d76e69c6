"""Ways to read and write as a caller, and the house that makes the worlds they are tried on.

A path asks as somebody and says what became of it. The law compares that with the oracle, whatever
the path: SQL on the app role is here, the tools of the dispatcher are in dispatcher_path.py.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, LiteralString, Protocol, TypeAlias, cast
from zlib import crc32

import psycopg

from pecia.kernel.store.queries import load_queries
from tests.laws.facts import Tenant, Verb, Write
from tests.laws.oracle import Caller
from tests.laws.sql import (
    Names,
    added,
    calls_function,
    embed,
    house_statement,
    put_jobs,
    quote,
    statement,
    sweep,
)
from tests.laws.visible import TABLES, Rows
from tests.laws.worlds import World

SQL = load_queries("tests.laws", "law.sql")

Connection: TypeAlias = psycopg.Connection[tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Sweep:
    """A write to every row there is, so that rights alone say how many are touched."""

    verb: Verb
    table: str

    def __str__(self) -> str:
        return f"{self.verb} every {self.table}"


Ask: TypeAlias = Write | Sweep


class Path(Protocol):
    """One way in. Everything is asked as the holder of a credential."""

    @property
    def tables(self) -> Sequence[str]:
        """The tables that can be read this way."""
        ...

    def can(self, write: Write, tenant: Tenant) -> bool:
        """Whether there is any way to ask for this here."""
        ...

    def names_tenant(self, write: Write) -> bool:
        """Whether it could be asked for in another tenant than one's own."""
        ...

    def admits(self, who: Caller) -> bool:
        """Whether this caller may read at all this way."""
        ...

    def reaches(self, who: Caller) -> bool:
        """Whether this caller may write at all this way."""
        ...

    def read(self, names: Names, credential: str) -> dict[str, Rows] | None:
        """Every row shown, by table; None when the credential lets nobody in."""
        ...

    def do(self, names: Names, credential: str, write: Write, tenant: Tenant) -> str:
        """Do it for good. `done N` with the number of rows, or how it failed."""
        ...


class UndoingPath(Path, Protocol):
    """A way on which things can be tried without being done."""

    def attempt(self, names: Names, credential: str, asks: Sequence[Ask]) -> list[str]:
        """Do each one and undo it again. Says the same as `do`, for each."""
        ...


class SqlPath:
    """Plain statements on the app role, after kernel.enter, with nothing in between."""

    tables = TABLES

    def __init__(self, app: Connection) -> None:
        self._app = app

    def can(self, write: Write, tenant: Tenant) -> bool:
        return True

    def names_tenant(self, write: Write) -> bool:
        return not calls_function(write)

    def admits(self, who: Caller) -> bool:
        return True

    def reaches(self, who: Caller) -> bool:
        return True

    def read(self, names: Names, credential: str) -> dict[str, Rows] | None:
        self._app.execute("BEGIN READ ONLY")
        try:
            self._app.execute(SQL["enter"], {"credential": names.id(credential)}, prepare=True)
            return self.read_as_is(names)
        except psycopg.Error as error:
            if error.sqlstate != REFUSED:
                raise
            return None
        finally:
            self._app.execute("ROLLBACK")

    def read_as_is(self, names: Names) -> dict[str, Rows]:
        """As whoever has entered, or as nobody."""
        return names.tables(self._app.execute(SQL["seen"], prepare=True).fetchall())

    def do(self, names: Names, credential: str, write: Write, tenant: Tenant) -> str:
        return self._act(names, credential, [_asking_back(names, write)], keep=True)[0]

    def attempt(self, names: Names, credential: str, asks: Sequence[Ask]) -> list[str]:
        """A row that may be added must be shown to whoever adds it, so adding is tried twice."""
        forms = [dict.fromkeys((_statement(names, it), _asking_back(names, it))) for it in asks]
        said = iter(self._act(names, credential, [it for form in forms for it in form], keep=False))
        return [_agreed([next(said) for _ in form]) for form in forms]

    def _act(
        self, names: Names, credential: str, statements: list[str], *, keep: bool
    ) -> list[str]:
        act = "SELECT law.act(%s, %s, %s)"
        found = self._app.execute(act, [names.id(credential), statements, keep], prepare=True)
        return cast(tuple[list[str]], found.fetchone())[0]


class SystemPath:
    """The house itself, on the system role: makes worlds, and does what no caller may."""

    def __init__(self, system: Connection) -> None:
        self._system = system

    def load(self, world: World, order: Random) -> Names:
        """Put a world into the database, rights and files in any order."""
        names = Names()
        labels = {names.tenant_label(it.name): it.name for it in world.tenants}
        made = self._system.execute(SQL["create_tenants"], {"names": [*labels]}, prepare=True)
        for label, tenant_id in made.fetchall():
            names.learn_tenant(labels[label], tenant_id)
        self._run(_people(names, world))
        self.learn_principals(names)
        rights = [_inserted(names, world, it) for it in ("source_role", "folder_grant", "file")]
        order.shuffle(rights)
        self._run(
            [
                *(_inserted(names, world, it) for it in ("user_principal", "group_member")),
                *(_inserted(names, world, it) for it in ("credential", "source")),
                *rights,
                *(_inserted(names, world, it) for it in ("audit", "secret", "quota")),
                *(it for tenant in world.tenants for it in put_jobs(names, tenant)),
                *_afterwards(names, world),
            ]
        )
        for key, job_id in self._all("jobs", names):
            names.learn_job(key, job_id)
        return names

    def do(self, names: Names, write: Write) -> None:
        self._run([house_statement(names, write)])

    def date_sources(self, names: Names, world: World) -> None:
        """The time of each source that is switched on, as its crawl would move it: with any file,
        whoever may see it."""
        for tenant in world.tenants:
            for source in (it for it, on in tenant.source.items() if on.enabled):
                files = [
                    (at, it.size_bytes, it.texts)
                    for at, it in tenant.file.items()
                    if at[0] == source
                ]
                found = {"tenant_id": names.tenant(tenant.name), "source_id": source}
                moment = crc32(repr(sorted(files)).encode())
                self._system.execute(SQL["date_source"], {**found, "moment": moment})

    def learn_principals(self, names: Names) -> None:
        for tenant_id, principal_id, text in self._all("principals", names):
            names.learn_principal(tenant_id, principal_id, text)

    def learn_classes(self, names: Names) -> None:
        """Which files carry which class. Counts that are not so are an error."""
        for tenant_id, class_id, source, is_source, *counts, keys, chunks in self._all(
            "classes", names
        ):
            if counts != [len(keys), chunks]:
                raise AssertionError(f"a class of {source} counts {counts}: {keys} of {chunks}")
            names.learn_class(tenant_id, class_id, source, None if is_source else keys)

    def _all(self, query: str, names: Names) -> list[tuple[Any, ...]]:
        values = {"tenants": names.tenant_ids}
        return self._system.execute(SQL[query], values, prepare=True).fetchall()

    def _run(self, statements: list[str]) -> None:
        self._system.execute(cast(LiteralString, ";".join(it for it in statements if it)))


REFUSED = "PE401"


def _agreed(said: list[str]) -> str:
    """One answer for both forms of a write: where the first works, so must the second."""
    return said[0] if len({*said}) == 1 or not said[0].startswith("done") else ", but ".join(said)


def _statement(names: Names, ask: Ask) -> str:
    if isinstance(ask, Sweep):
        return sweep(ask.verb, ask.table)
    return statement(names, ask)


def _asking_back(names: Names, ask: Ask) -> str:
    # An anonymous caller leaves an audit row and sees none.
    if isinstance(ask, Sweep) or ask.table == "audit":
        return _statement(names, ask)
    return statement(names, ask, ask_back=True)


def _people(names: Names, world: World) -> list[str]:
    named = [
        house_statement(names, Write("add", "principal", tenant.name, it))
        for tenant in world.tenants
        for it in sorted(tenant.principal)
        if not it.startswith(("role:", "user:", "group:"))
    ]
    return [*named, *(_inserted(names, world, it) for it in ("user_account", "user_group"))]


def _inserted(names: Names, world: World, table: str) -> str:
    rows = [added(names, it) for tenant in world.tenants for it in _adding(tenant, table)]
    if not rows:
        return ""
    values = ", ".join(f"({', '.join(map(quote, it.values()))})" for it in rows)
    return f"INSERT INTO kernel.{table} ({', '.join(rows[0])}) VALUES {values}"


def _adding(tenant: Tenant, table: str) -> Iterator[Write]:
    rows: Any = getattr(tenant, table)
    for key in sorted(rows):
        row = None if isinstance(rows, set) else rows[key]
        yield Write("add", table, tenant.name, key, row)


def _texts(names: Names, tenant: Tenant, key: tuple[str, str]) -> Iterator[str]:
    file = tenant.file[key]
    for text in file.texts:
        changes = {"text": text, "size_bytes": file.size_bytes}
        yield house_statement(names, Write("change", "file", tenant.name, key, None, changes))
    if file.embedded:
        yield embed(names, tenant.name, file.texts[-1])


def _afterwards(names: Names, world: World) -> Iterator[str]:
    """What rows are not born with: grants, revocation, suspension."""
    for tenant in world.tenants:
        for key, file in tenant.file.items():
            changes = {"granted": file.granted, "known": file.known}
            yield house_statement(names, Write("change", "file", tenant.name, key, None, changes))
            yield from _texts(names, tenant, key)
        for key, it in tenant.credential.items():
            if it.revoked:
                revoking = Write("change", "credential", tenant.name, key, None, {"revoked": True})
                yield house_statement(names, revoking)
        if tenant.status != "active":
            changes = {"status": tenant.status}
            yield house_statement(names, Write("change", "tenant", tenant.name, "", None, changes))
