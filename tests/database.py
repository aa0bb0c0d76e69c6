"""One PostgreSQL cluster for a whole run of the tests, and a fresh database for each that asks.

Use it with `pytest_plugins = ["tests.database"]` in the root conftest. The fixtures:

- `database`: the `Logins` of a new database, dropped after the test. It is a copy of the template.
- `cluster`: the cluster of the run, shared by all workers of xdist.
- `prepare_template`: an async function that gets the `Logins` of the template once per run, before
  the first copy. Override it, in a conftest, to migrate; as it stands it does nothing.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Awaitable, Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias
from uuid import uuid4

import anyio
import psycopg
import pytest
from psycopg import sql

from pecia.kernel.store.cluster import Cluster, ClusterOptions, DatabaseLogins, open_cluster
from pecia.kernel.store.cluster.data.bootstrap import prepare_database

TEMPLATE = "test_template"
ROOM_BYTES = 4 << 30

Prepare: TypeAlias = Callable[[DatabaseLogins], Awaitable[None]]
Superuser: TypeAlias = psycopg.Connection[tuple[object, ...]]


@pytest.fixture(scope="session")
def run_folder(testrun_uid: str) -> Iterator[Path]:
    """A folder for the whole run, removed by the last of its users.

    Not below pytest's own temporary folder, which the user that runs PostgreSQL for root may not
    enter.
    """
    folder = scratch() / f"pecia-tests-{testrun_uid[:12]}"
    _join(folder)
    yield folder
    _leave(folder)


@pytest.fixture(scope="session")
def cluster(run_folder: Path) -> Iterator[Cluster]:
    """The cluster of this run. Its data may be lost with the power, for the sake of speed."""
    with alone(run_folder):
        if not (run_folder / "home").exists():
            _tune(_open(run_folder))
        held = _open(run_folder)
    yield held
    anyio.run(held.stop)


@pytest.fixture(scope="session")
def prepare_template() -> Prepare:
    """What every database of the run has in common."""

    async def nothing(logins: DatabaseLogins) -> None:
        """The template is as the cluster makes databases: roles, rights, the vector extension."""

    return nothing


@pytest.fixture(scope="session")
def template(cluster: Cluster, run_folder: Path, prepare_template: Prepare) -> str:
    """The name of the prepared template, made by whichever worker needs it first."""
    with alone(run_folder), _superuser(cluster) as connection:
        found = connection.execute("SELECT FROM pg_database WHERE datname = %s", [TEMPLATE])
        if not found.rowcount:
            _make_template(cluster, connection, prepare_template)
    return TEMPLATE


@pytest.fixture
def database(cluster: Cluster, template: str) -> Iterator[DatabaseLogins]:
    """A fresh database, as the template is, and the three logins to it."""
    with fresh_database(cluster, template) as logins:
        yield logins


@pytest.fixture(scope="module")
def module_database(cluster: Cluster, template: str) -> Iterator[DatabaseLogins]:
    """One for all tests of a file, which share what is in it."""
    with fresh_database(cluster, template) as logins:
        yield logins


@pytest.fixture
def empty_database(cluster: Cluster) -> Iterator[DatabaseLogins]:
    """A database as the cluster makes it: no table of ours."""
    name = f"empty_{uuid4().hex}"
    with _superuser(cluster) as connection:
        _copy(connection, "pecia", name)
        yield cluster.logins_to(name)
        _run(connection, "DROP DATABASE {} WITH (FORCE)", name)


@contextmanager
def fresh_database(cluster: Cluster, template: str) -> Generator[DatabaseLogins]:
    """A copy of the template for the time of the block."""
    name = f"test_{uuid4().hex}"
    with _superuser(cluster) as connection:
        _copy(connection, template, name)
        yield cluster.logins_to(name)
        _run(connection, "DROP DATABASE {} WITH (FORCE)", name)


@contextmanager
def alone(folder: Path) -> Generator[int]:
    """One worker of this run at a time. Yields the lock file, which counts the workers."""
    path = folder.with_suffix(".lock")
    handle = _locked(path)
    # The last worker of the run removes the file: what we waited for may be gone.
    while not path.exists() or path.stat().st_ino != os.fstat(handle).st_ino:
        os.close(handle)
        handle = _locked(path)
    try:
        yield handle
    finally:
        os.close(handle)


def scratch() -> Path:
    """Where clusters of tests go: in memory, where there is room, so as not to wait for a disk."""
    memory = Path("/dev/shm")
    if memory.exists() and shutil.disk_usage(memory).free > ROOM_BYTES:
        return memory
    return Path(tempfile.gettempdir())


def _open(run_folder: Path) -> Cluster:
    options = ClusterOptions(grace_s=0.5, system=run_folder / "system")

    async def opened() -> Cluster:
        return await open_cluster(run_folder / "home", report=print, options=options)

    return anyio.run(opened)


def _tune(cluster: Cluster) -> None:
    """For many small databases that live for a second. It holds from the next start on."""
    with _superuser(cluster) as connection:
        connection.execute("ALTER SYSTEM SET fsync = off")
        # Every database that is dropped is looked for in all of the buffers.
        connection.execute("ALTER SYSTEM SET shared_buffers = '128MB'")
    anyio.run(cluster.stop)


def _make_template(cluster: Cluster, connection: Superuser, prepare: Prepare) -> None:
    """Under another name until it is ready, so that a half-made one is never copied."""
    unfinished = f"{TEMPLATE}_unfinished"
    _run(connection, "DROP DATABASE IF EXISTS {} WITH (FORCE)", unfinished)
    _copy(connection, "pecia", unfinished)
    prepare_database(cluster.conninfo("superuser", unfinished))
    anyio.run(prepare, cluster.logins_to(unfinished))
    # A database that somebody is connected to cannot be copied: let nobody in.
    _run(connection, "ALTER DATABASE {} WITH ALLOW_CONNECTIONS false", unfinished)
    _run(connection, "ALTER DATABASE {} RENAME TO {}", unfinished, TEMPLATE)


def _copy(connection: Superuser, template: str, name: str) -> None:
    # FILE_COPY takes half the time, but it asks for a checkpoint, as every DROP does: one of many
    # that were asked for together was seen to wait for more than a minute.
    _run(connection, "CREATE DATABASE {} TEMPLATE {} OWNER pecia_owner", name, template)
    _run(connection, "REVOKE ALL ON DATABASE {} FROM PUBLIC", name)
    _run(connection, "GRANT CONNECT ON DATABASE {} TO pecia_app, pecia_system", name)


def _run(connection: Superuser, statement: str, *names: str) -> None:
    query = sql.SQL(statement).format(*(sql.Identifier(name) for name in names))  # pyright: ignore[reportArgumentType] - literals of this file
    connection.execute(query)


def _superuser(cluster: Cluster) -> Superuser:
    return psycopg.connect(cluster.conninfo("superuser", "postgres"), autocommit=True)


def _join(folder: Path) -> None:
    with alone(folder) as users:
        _write_count(users, _read_count(users) + 1)
        # PostgreSQL must pass through it, whatever the umask.
        folder.mkdir(exist_ok=True)
        folder.chmod(0o711)


def _leave(folder: Path) -> None:
    with alone(folder) as users:
        left = _read_count(users) - 1
        _write_count(users, left)
        if not left:
            shutil.rmtree(folder)
            folder.with_suffix(".lock").unlink()


def _locked(path: Path) -> int:
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(handle, fcntl.LOCK_EX)
    return handle


def _read_count(users: int) -> int:
    return int(os.pread(users, 20, 0) or b"0")


def _write_count(users: int, count: int) -> None:
    os.pwrite(users, b"%20d" % count, 0)
