"""The embedded cluster under kill -9, on full and read-only disks, and beside what others left.

Whatever is killed, and when: the next open finds everything that was acknowledged, and no process
is left when the last holder is gone.
"""

import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import anyio
import psutil
import psycopg
import pytest

from pecia.kernel.errors import StorageFull, Unavailable
from pecia.kernel.store.cluster.data.initdb import read_passwords
from pecia.kernel.store.cluster.keeper import CRASH_LIMIT
from pecia.kernel.store.cluster.paths import create_cluster_paths, find_cluster_paths
from pecia.kernel.store.cluster.programs import find_programs
from pecia.kernel.store.cluster.server import probe_server
from pecia.kernel.store.cluster.startup import build_conninfo
from pecia.kernel.store.file_lock import is_locked
from tests.unit.kernel.store import cluster_fixture
from tests.unit.kernel.store.cluster_fixture import (
    IS_ROOT,
    ClusterFixture,
    Holder,
    as_user,
    eventually,
    opens_with_its_rows,
    rows,
)

pytestmark = pytest.mark.fault

base, mould = cluster_fixture.base, cluster_fixture.mould
fresh, ground = cluster_fixture.fresh, cluster_fixture.ground


def kill(process: psutil.Process | None) -> None:
    assert process is not None
    process.send_signal(signal.SIGKILL)


# Where a holder is when it is killed, and how to know that it is there.
def creating(ground: ClusterFixture) -> bool:
    found = find_cluster_paths(ground.home, ground.system)
    return found is not None and any(found.root.glob("new-*/data/base"))


def starting(ground: ClusterFixture) -> bool:
    found = find_cluster_paths(ground.home, ground.system)
    return found is not None and is_locked(found.keeper_lock)


def running(ground: ClusterFixture) -> bool:
    return ground.postmaster() is not None


@pytest.mark.parametrize("point", [creating, starting, running])
def test_a_holder_killed_while_it_creates_leaves_no_process_and_no_half_database(
    fresh: ClusterFixture, point: Callable[[ClusterFixture], bool]
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
    ground: ClusterFixture, point: Callable[[ClusterFixture], bool]
) -> None:
    holder = ground.hold()
    eventually(lambda: point(ground))
    holder.kill()
    eventually(lambda: not ground.processes())
    opens_with_its_rows(ground)


def test_a_holder_killed_in_a_transaction_takes_the_server_along(ground: ClusterFixture) -> None:
    holder = ground.hold()
    connection = psycopg.connect(holder.login())
    connection.execute("INSERT INTO kept VALUES (1)")
    holder.kill()
    eventually(lambda: not ground.processes())
    connection.close()
    opens_with_its_rows(ground)


def test_the_server_outlives_one_of_two_holders(ground: ClusterFixture) -> None:
    first, second = ground.hold(), ground.hold()
    login = second.login()
    first.login()
    first.kill()
    assert rows(login) == 1
    second.kill()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells postgres of its keeper's end")
@pytest.mark.parametrize("point", [starting, running])
def test_a_keeper_killed_while_it_starts_is_replaced(
    ground: ClusterFixture, point: Callable[[ClusterFixture], bool]
) -> None:
    holder = caught(ground, point)
    kill(ground.keeper())
    holder.child.send_signal(signal.SIGCONT)
    assert rows(holder.login()) == 1
    holder.leave()


def caught(ground: ClusterFixture, point: Callable[[ClusterFixture], bool]) -> Holder:
    """A holder that was stopped while it started: on a busy machine one may be through already."""
    while True:
        holder = ground.hold()
        eventually(lambda: point(ground))
        holder.child.send_signal(signal.SIGSTOP)
        if not holder.has_opened():
            return holder
        holder.child.send_signal(signal.SIGCONT)
        holder.leave()
        eventually(lambda: not ground.processes())


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells postgres of its keeper's end")
def test_a_killed_keeper_takes_postgres_along_and_a_holder_revives_it(
    ground: ClusterFixture,
) -> None:
    cluster = ground.open()
    kill(ground.keeper())
    eventually(lambda: not ground.processes())
    anyio.run(cluster.restart_if_down)
    assert rows(cluster.logins.owner) == 1
    assert anyio.run(cluster.stop)


def test_a_keeper_killed_while_the_server_is_unused_leaves_nothing(ground: ClusterFixture) -> None:
    patient = ClusterFixture(ground.home, ground.system, grace_s=60)
    anyio.run(patient.open().close)
    keeper = patient.keeper()
    assert keeper is not None
    kill(keeper)
    # Killed before the open, not during it: a holder whose keeper dies later revives the server.
    psutil.wait_procs([keeper])
    opens_with_its_rows(ground)


@pytest.fixture
def orphan(ground: ClusterFixture) -> Iterator[subprocess.Popen[bytes]]:
    """A server without a keeper, which answers until somebody asks it to stop."""
    opens_with_its_rows(ground)
    places, user = create_cluster_paths(ground.home, ground.system, print)
    postgres = find_programs(18, user, ground.system).path("postgres")
    lock = os.open(places.server_lock, os.O_RDWR)
    fcntl.flock(lock, fcntl.LOCK_EX)
    files = [f"--config_file={places.root}/server.conf", f"--hba_file={places.root}/hba.conf"]
    child = as_user([str(postgres), "-D", str(places.data), *files], user, locks=[lock])
    os.close(lock)
    login = build_conninfo(places, read_passwords(places), "superuser", "postgres")
    eventually(lambda: probe_server(login) == "ready")
    yield child
    child.kill()
    child.wait()


def test_an_open_waits_until_the_server_that_lost_its_keeper_is_gone(
    ground: ClusterFixture, orphan: subprocess.Popen[bytes]
) -> None:
    cluster = ground.open()
    assert orphan.poll() == 0
    assert rows(cluster.logins.owner) == 1
    assert anyio.run(cluster.stop)


def test_an_open_does_not_join_a_server_that_another_keeper_is_replacing(
    ground: ClusterFixture, orphan: subprocess.Popen[bytes]
) -> None:
    """The first starter is killed: its keeper waits for the old server, which still answers."""
    starter = ground.hold()
    eventually(lambda: starting(ground))
    starter.kill()
    cluster = ground.open()
    assert orphan.poll() == 0
    assert rows(cluster.logins.owner) == 1
    assert anyio.run(cluster.stop)


def test_an_open_does_not_join_a_server_that_its_keeper_is_stopping(
    ground: ClusterFixture,
) -> None:
    first = ground.open()
    keeper, postmaster = ground.keeper(), ground.postmaster()
    assert keeper is not None
    assert postmaster is not None
    keeper.terminate()
    second = ground.open()
    assert rows(second.logins.owner) == 1
    assert not postmaster.is_running()
    anyio.run(first.close)
    assert anyio.run(second.stop)


def test_an_earlier_server_that_does_not_end_is_an_error_that_says_so(
    ground: ClusterFixture,
) -> None:
    cluster = ground.open()
    connection = psycopg.connect(cluster.logins.app)
    straggler = psutil.Process(connection.info.backend_pid)
    straggler.suspend()
    try:
        kill(ground.keeper())
        kill(ground.postmaster())
        eventually(lambda: ground.postmaster() is None)
        with pytest.raises(Unavailable, match="still in use by processes of a server") as refused:
            anyio.run(cluster.restart_if_down)
    finally:
        straggler.resume()
    assert "stop it first" in str(refused.value)
    connection.close()
    anyio.run(cluster.restart_if_down)
    assert rows(cluster.logins.owner) == 1
    assert anyio.run(cluster.stop)


def test_a_killed_postmaster_is_started_again_with_all_it_acknowledged(
    ground: ClusterFixture,
) -> None:
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
    anyio.run(cluster.restart_if_down)
    assert rows(cluster.logins.owner) in (acknowledged, acknowledged + 1)
    assert anyio.run(cluster.stop)


def test_a_postmaster_killed_while_it_starts_is_started_again(ground: ClusterFixture) -> None:
    holder = ground.hold()
    eventually(lambda: running(ground))
    kill(ground.postmaster())
    login = holder.login()
    eventually(lambda: _answers(login))
    holder.leave()
    eventually(lambda: not ground.processes())
    opens_with_its_rows(ground)


def test_a_server_that_keeps_dying_is_given_up(ground: ClusterFixture) -> None:
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
    anyio.run(cluster.restart_if_down)
    assert rows(cluster.logins.owner) == 1
    assert anyio.run(cluster.stop)


def test_everything_killed_at_once_recovers(ground: ClusterFixture) -> None:
    holder = ground.hold()
    login = holder.login()
    with psycopg.connect(login) as connection:
        connection.execute("INSERT INTO kept VALUES (1)")
    for process in [psutil.Process(holder.child.pid), *ground.processes()]:
        # The death of the postmaster may have ended it already.
        with suppress(psutil.NoSuchProcess):
            process.kill()
    holder.kill()
    eventually(lambda: not ground.processes())
    cluster = ground.open()
    assert rows(cluster.logins.owner) == 2
    assert anyio.run(cluster.stop)


def test_a_pid_that_somebody_else_has_now_does_not_block(ground: ClusterFixture) -> None:
    places, user = create_cluster_paths(ground.home, ground.system, print)
    stranger = as_user(["sleep", "60"], user)
    for path in (places.data / "postmaster.pid", places.sockets / ".s.PGSQL.5432.lock"):
        path.write_text(f"{stranger.pid}\n{places.data}\n1\n5432\n{places.sockets}\n\n1 1\nready\n")
        os.chown(path, user.uid, user.gid)
    opens_with_its_rows(ground)
    assert stranger.poll() is None
    stranger.kill()
    stranger.wait()


@pytest.mark.parametrize("pid_file", ["there", "gone"])
def test_a_server_that_somebody_started_by_hand_is_left_alone(
    ground: ClusterFixture, pid_file: str
) -> None:
    opens_with_its_rows(ground)
    places, user = create_cluster_paths(ground.home, ground.system, print)
    postgres = find_programs(18, user, ground.system).path("postgres")
    options = ["-D", str(places.data), "-h", "", "-k", str(places.data)]
    by_hand = as_user([str(postgres), *options], user)
    eventually(lambda: (places.data / ".s.PGSQL.5432").exists())
    if pid_file == "gone":
        (places.data / "postmaster.pid").unlink()
    with pytest.raises(Unavailable, match="another PostgreSQL runs on this data directory"):
        ground.open()
    assert by_hand.poll() is None
    by_hand.send_signal(signal.SIGINT)
    by_hand.wait()
    opens_with_its_rows(ground)


def test_no_server_starts_while_one_process_of_the_last_still_lives(ground: ClusterFixture) -> None:
    cluster = ground.open()
    connection = psycopg.connect(cluster.logins.app)
    straggler = psutil.Process(connection.info.backend_pid)
    straggler.suspend()
    kill(ground.keeper())
    kill(ground.postmaster())
    eventually(lambda: ground.postmaster() is None)
    assert is_locked(ground.places.server_lock)
    straggler.resume()
    connection.close()
    anyio.run(cluster.restart_if_down)
    assert rows(cluster.logins.owner) == 1
    assert anyio.run(cluster.stop)


def test_a_keeper_asked_to_end_stops_its_server_cleanly(ground: ClusterFixture) -> None:
    cluster = ground.open()
    keeper = ground.keeper()
    assert keeper is not None
    keeper.terminate()
    eventually(lambda: not ground.processes())
    assert "database system is shut down" in ground.places.log.read_text()
    anyio.run(cluster.restart_if_down)
    assert anyio.run(cluster.stop)


def test_a_data_directory_that_cannot_be_written_says_so(ground: ClusterFixture) -> None:
    ground.places.data.chmod(0o500)
    with pytest.raises(Unavailable, match="Permission denied") as refused:
        ground.open()
    assert "give it that right" in str(refused.value)
    ground.places.data.chmod(0o700)
    opens_with_its_rows(ground)


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
    ground = ClusterFixture(small_disk / "home", small_disk / "system")
    with pytest.raises(StorageFull, match="free some space"):
        ground.open()
    assert ground.status().state == "absent"
    assert ground.processes() == []


@pytest.mark.parametrize("small_disk", [100], indirect=True)
def test_a_full_disk_stops_the_start_and_loses_nothing(small_disk: Path) -> None:
    ground = ClusterFixture(small_disk / "home", small_disk / "system")
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
    ground = ClusterFixture(small_disk / "home", small_disk / "system")
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
    anyio.run(cluster.restart_if_down)
    assert rows(cluster.logins.owner) >= acknowledged
    assert anyio.run(cluster.stop)


@pytest.mark.parametrize("small_disk", [100], indirect=True)
def test_a_read_only_disk_says_so(small_disk: Path) -> None:
    ground = ClusterFixture(small_disk / "home", small_disk / "system")
    assert anyio.run(ground.open().stop)
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with pytest.raises(Unavailable, match="mount it for writing"):
        ground.open()
    assert ground.processes() == []


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
