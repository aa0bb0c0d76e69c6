"""Homes to open clusters in, hold them from other processes, and see who is left."""

import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
import psutil
import psycopg
import pytest

from pecia.kernel.store.cluster import (
    Cluster,
    ClusterOptions,
    ClusterStatus,
    cluster_status,
    open_cluster,
)
from pecia.kernel.store.cluster.os_user import OsUser
from pecia.kernel.store.cluster.paths import ClusterPaths, create_cluster_paths, find_cluster_paths
from tests.database import scratch

IS_ROOT = os.geteuid() == 0

# A process that holds a cluster until its input ends. It says so on its output.
HOLDER = """
import sys
from pathlib import Path
import anyio
from pecia.kernel.store.cluster import ClusterOptions, open_cluster

async def main(home, system, grace_s):
    options = ClusterOptions(grace_s=float(grace_s), system=Path(system))
    async with await open_cluster(Path(home), report=lambda text: None, options=options) as cluster:
        print(cluster.conninfo("owner"), flush=True)
        sys.stdin.read()

anyio.run(main, *sys.argv[1:])
"""


@dataclass(frozen=True)
class ClusterFixture:
    """A home to break things in."""

    home: Path
    system: Path
    grace_s: float = 0.0

    @property
    def options(self) -> ClusterOptions:
        return ClusterOptions(grace_s=self.grace_s, system=self.system)

    @property
    def places(self) -> ClusterPaths:
        found = find_cluster_paths(self.home, self.system)
        assert found is not None
        return found

    def open(self) -> Cluster:
        async def opened() -> Cluster:
            return await open_cluster(self.home, report=print, options=self.options)

        return anyio.run(opened)

    def status(self) -> ClusterStatus:
        async def looked() -> ClusterStatus:
            return await cluster_status(self.home, options=self.options)

        return anyio.run(looked)

    def hold(self, prefix: tuple[str, ...] = ()) -> "Holder":
        return Holder(self, prefix)

    def processes(self) -> list[psutil.Process]:
        """The keeper, postgres and all its children: they name the folder, or stand in it."""
        found = find_cluster_paths(self.home, self.system)
        if found is None:
            return []
        return [it for it in psutil.process_iter() if stands_in(found.root, it)]

    def find(self, part: str) -> psutil.Process | None:
        named = [it for it in self.processes() if part in command(it)]
        return named[0] if named else None

    def keeper(self) -> psutil.Process | None:
        return self.find("keeper.py")

    def postmaster(self) -> psutil.Process | None:
        return self.find("/bin/postgres -D")


class Holder:
    """Another process that holds a ground's cluster."""

    def __init__(self, ground: ClusterFixture, prefix: tuple[str, ...]) -> None:
        self.child = subprocess.Popen(
            [
                *(*prefix, sys.executable, "-c", HOLDER),
                *(str(ground.home), str(ground.system), str(ground.grace_s)),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def login(self) -> str:
        """The owner's login, once the holder has it."""
        assert self.child.stdout is not None
        assert self.child.stderr is not None
        said = self.child.stdout.readline().strip()
        assert said, self.child.stderr.read()
        return said

    def has_opened(self) -> bool:
        """Whether the login has been said, and not been asked for yet."""
        assert self.child.stdout is not None
        return bool(select.select([self.child.stdout], [], [], 0)[0])

    def kill(self) -> None:
        self.child.kill()
        self.child.communicate()

    def leave(self) -> None:
        self.child.communicate()


@pytest.fixture
def base() -> Iterator[Path]:
    with open_folder() as folder:
        yield folder


@pytest.fixture(scope="module")
def mould() -> Iterator[Path]:
    """The folder of a stopped cluster in which the table `kept` has one row, to be copied."""
    with open_folder() as folder:
        ground = ClusterFixture(folder / "home", folder / "system")
        cluster = ground.open()
        with psycopg.connect(cluster.logins.owner) as connection:
            connection.execute("CREATE TABLE kept AS SELECT 0 AS n")
        assert anyio.run(cluster.stop)
        yield ground.places.root


@pytest.fixture
def fresh(base: Path) -> Iterator[ClusterFixture]:
    """A home without a cluster. Whatever a test does in it, no process may be left."""
    ground = ClusterFixture(base / "home", base / "system")
    yield ground
    eventually(lambda: not ground.processes())


@pytest.fixture
def ground(fresh: ClusterFixture, mould: Path) -> ClusterFixture:
    """A home with a stopped cluster, in which the table `kept` has one row."""
    places, _ = create_cluster_paths(fresh.home, fresh.system, print)
    subprocess.run(["cp", "-a", f"{mould}/.", str(places.root)], check=True)
    return fresh


@contextmanager
def open_folder() -> Generator[Path]:
    """A folder that the user who runs PostgreSQL for root can pass, which pytest's own is not."""
    folder = Path(tempfile.mkdtemp(prefix="pecia-faults-", dir=scratch()))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def eventually(condition: Callable[[], object], limit_s: float = 20) -> None:
    """Wait for what another process will do. Fails when it never does."""
    deadline = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.005)


def rows(login: str) -> int:
    with psycopg.connect(login) as connection:
        found = connection.execute("SELECT count(*) FROM kept").fetchone()
    assert found is not None
    return int(found[0])


def opens_with_its_rows(ground: ClusterFixture) -> None:
    cluster = ground.open()
    assert rows(cluster.logins.owner) >= 1
    assert anyio.run(cluster.stop)
    assert ground.status().state == "stopped"


def as_user(
    program: list[str], user: OsUser, *, locks: list[int] | None = None
) -> subprocess.Popen[bytes]:
    """Start a program as the user that runs PostgreSQL, with these files open."""
    return subprocess.Popen(
        program,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=locks or [],
        user=user.uid if IS_ROOT else None,
        group=user.gid if IS_ROOT else None,
        extra_groups=[] if IS_ROOT else None,
    )


def command(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


def stands_in(root: Path, process: psutil.Process) -> bool:
    """Whether a process belongs to a cluster. Children of postgres forget their arguments."""
    try:
        return str(root) in command(process) or process.cwd().startswith(str(root))
    except (psutil.Error, OSError):
        return False
