"""What only the superuser can do: roles, the database, its extension. All of it can be repeated."""

from collections.abc import Mapping
from contextlib import suppress

import psycopg

from pecia.kernel.store.cluster.logins import NAME_BY_ROLE, LoginRole
from pecia.kernel.store.queries import load_queries

SQL = load_queries("pecia.kernel.store.cluster.data", "bootstrap.sql")
LOGINS: tuple[LoginRole, ...] = ("owner", "app", "system")
CONNECT_LIMIT_S = 30


def bootstrap(cluster_login: str, database_login: str, passwords: Mapping[LoginRole, str]) -> None:
    """Bring a cluster to where the first migration can begin. Both logins are the superuser's."""
    with _connect(cluster_login) as connection:
        for role in LOGINS:
            # Computed here, so that no password is ever in a statement, and hence in a log.
            name = NAME_BY_ROLE[role]
            verifier = connection.pgconn.encrypt_password(
                passwords[role].encode(), name.encode(), b"scram-sha-256"
            )
            connection.execute(SQL["keep_verifier"], {"name": name, "verifier": verifier.decode()})
        connection.execute(SQL["make_roles"])
        with suppress(psycopg.errors.DuplicateDatabase):
            connection.execute(SQL["make_database"])
    prepare_database(database_login)


def prepare_database(database_login: str) -> None:
    """Give one database its rights and its extension."""
    with _connect(database_login) as connection:
        connection.execute(SQL["furnish_database"])


def _connect(login: str) -> psycopg.Connection[tuple[object, ...]]:
    return psycopg.connect(login, autocommit=True, connect_timeout=CONNECT_LIMIT_S)
