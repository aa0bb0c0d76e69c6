"""The embedded cluster, piece by piece, and what a new one is like. What kills it is in faults."""

import errno
import json
import os
import re
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import anyio
import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from pecia.interfaces.cli.commands.doctor.checks import check_orphans
from pecia.kernel.errors import StorageFull, Unavailable, Unprocessable
from pecia.kernel.store.atomic_file import read_tail, write_atomic
from pecia.kernel.store.cluster import Cluster, ClusterOptions, DatabaseLogins, cluster_status
from pecia.kernel.store.cluster.conf import (
    SETTINGS,
    choose_shared_buffers_mb,
    choose_sync_method,
    read_data_bytes,
    read_memory_bytes,
    render_server_conf,
)
from pecia.kernel.store.cluster.data.format import FORMAT, current_format, read_format, write_format
from pecia.kernel.store.cluster.data.initdb import read_passwords
from pecia.kernel.store.cluster.data.removal import (
    list_orphans,
    mark_temporary,
    record_home,
    remove_orphans,
)
from pecia.kernel.store.cluster.data.upgrade import finish_upgrade, read_major_version
from pecia.kernel.store.cluster.failure import explain_failure, explain_failures
from pecia.kernel.store.cluster.os_user import OsUser
from pecia.kernel.store.cluster.paths import (
    ClusterPaths,
    create_cluster_paths,
    create_socket_folder,
    find_cluster_paths,
    is_socket_path_valid,
)
from pecia.kernel.store.cluster.server import parse_refusal
from pecia.kernel.store.file_lock import FileLock, is_locked, open_lock

OURSELVES = OsUser(os.geteuid(), os.getegid())


@pytest.fixture
def places(tmp_path: Path) -> ClusterPaths:
    return ClusterPaths(tmp_path)


def test_logins_never_show_their_passwords() -> None:
    assert "secret" not in repr(DatabaseLogins(owner="secret", app="secret", system="secret"))


def test_a_lock_keeps_others_out_until_it_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    first, second = FileLock(path), FileLock(path)
    assert first.try_acquire()
    assert not second.try_acquire()
    assert is_locked(path)
    first.close()
    assert second.try_acquire()
    second.close()
    assert not is_locked(path)


def test_a_shared_lock_lets_sharers_in_and_nobody_alone(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    first, second = FileLock(path), FileLock(path)
    assert first.try_acquire(shared=True)
    assert second.try_acquire(shared=True)
    assert not second.try_acquire()
    first.close()
    assert second.try_acquire()
    second.close()


def test_looking_at_a_lock_makes_no_file(tmp_path: Path) -> None:
    assert not is_locked(tmp_path / "lock")
    assert not (tmp_path / "lock").exists()


def test_a_file_is_replaced_whole_and_private(tmp_path: Path) -> None:
    path = tmp_path / "passwords.json"
    write_atomic(path, "old")
    write_atomic(path, "new")
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_a_log_that_was_moved_aside_is_read_from_its_beginning(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    assert read_tail(log, 0) == ""
    log.write_text("before\nafter\n")
    assert read_tail(log, len("before\n")) == "after\n"
    log.write_text("fresh\n")
    assert read_tail(log, 1000) == "fresh\n"


def test_settings_are_quoted_for_postgresql() -> None:
    conf = render_server_conf(Path("/a'b/c\"d"), "fsync")
    assert """unix_socket_directories = '"/a''b/c""d"'""" in conf


def test_nothing_is_ever_traded_for_durability_or_heard_from_a_network() -> None:
    assert (SETTINGS["fsync"], SETTINGS["full_page_writes"]) == ("on", "on")
    assert SETTINGS["synchronous_commit"] == "on"
    assert SETTINGS["listen_addresses"] == ""


@pytest.mark.parametrize(
    ("memory_gb", "shared"), [(0, 128), (0.5, 128), (8, 2048), (24, 6144), (512, 8192)]
)
def test_the_server_may_hold_a_quarter_of_the_memory(memory_gb: float, shared: int) -> None:
    assert choose_shared_buffers_mb(int(memory_gb * 2**30)) == shared


def test_a_small_database_holds_less_and_a_large_one_its_quarter(tmp_path: Path) -> None:
    memory = 24 * 2**30
    sizes = [choose_shared_buffers_mb(memory, it * 2**20) for it in (0, 100, 1000, 9000)]
    assert sizes == [512, 512, 2000, 6144]
    assert choose_shared_buffers_mb(2**30, 0) == 256
    (tmp_path / "base" / "5").mkdir(parents=True)
    (tmp_path / "base" / "5" / "1259").write_bytes(b"x" * 8192)
    assert (read_data_bytes(tmp_path), read_data_bytes(tmp_path / "none")) == (8192, 0)


def test_a_container_has_no_more_memory_than_it_was_given(tmp_path: Path) -> None:
    limit = tmp_path / "memory.max"
    whole = read_memory_bytes(limit)
    limit.write_text("max\n")
    assert read_memory_bytes(limit) == whole > 2**20
    limit.write_text("1048576\n")
    assert read_memory_bytes(limit) == 2**20


@pytest.mark.parametrize(
    ("system", "release", "method"),
    [
        ("Linux", "6.18.44-fc", "syncfs"),
        ("Linux", "5.8.0", "syncfs"),
        ("Linux", "5.4.0-190-generic", "fsync"),
        ("Linux", "unknown", "fsync"),
        ("Darwin", "24.1.0", "fsync"),
    ],
)
def test_a_directory_is_synced_at_once_only_where_failures_are_told(
    system: str, release: str, method: str
) -> None:
    assert choose_sync_method(os.uname_result((system, "node", release, "", ""))) == method


@pytest.mark.parametrize(
    ("said", "kind", "advice"),
    [
        ("FATAL: could not write: No space left on device", StorageFull, "free some space"),
        ("initdb: error: Disk quota exceeded", StorageFull, "free some space"),
        ("FATAL: could not create: Read-only file system", Unavailable, "mount it for writing"),
        ("FATAL: data directory has invalid permissions", Unavailable, "0700"),
        ("could not look up effective user ID 7", Unavailable, "/etc/passwd"),
        ("block (key 1, ID 2) is still in use", Unavailable, "another PostgreSQL"),
        ("FATAL: the moon is full", Unavailable, "the moon is full"),
        ("", Unavailable, "said nothing"),
    ],
)
def test_a_failure_says_what_to_do(said: str, kind: type[Exception], advice: str) -> None:
    error = explain_failure("It did not start", said, Path("/x"))
    assert isinstance(error, kind)
    assert advice in str(error)


def test_a_refusal_of_the_os_becomes_one_of_ours(tmp_path: Path) -> None:
    with pytest.raises(StorageFull), explain_failures("It did not open", tmp_path):
        raise OSError(28, "No space left on device")


@pytest.mark.parametrize(
    ("refusal", "answer"),
    [
        ("FATAL:  the database system is starting up", "starting"),
        ("FATAL:  the database system is shutting down", "starting"),
        ("connection timeout expired", "starting"),
        ("FATAL:  sorry, too many clients already", "ready"),
        ("FATAL:  remaining connection slots are reserved for roles", "ready"),
        ("failed: No such file or directory", "absent"),
        ("failed: Connection refused", "absent"),
    ],
)
def test_a_refused_connection_says_whether_a_server_is_there(refusal: str, answer: str) -> None:
    assert parse_refusal(refusal) == answer


def test_a_stranger_at_our_socket_is_an_error() -> None:
    with pytest.raises(Unavailable, match="not to our password"):
        parse_refusal('FATAL:  password authentication failed for user "postgres"')


def test_an_older_pecia_refuses_a_newer_format(places: ClusterPaths) -> None:
    newer = {"format": FORMAT + 1, "pecia": "9.0", "wheel": "9"}
    places.format.write_text(json.dumps(newer))
    with pytest.raises(Unprocessable, match=r"by Pecia 9\.0, .* upgrade Pecia"):
        read_format(places)


def test_a_newer_format_with_unknown_words_is_refused_for_its_number(places: ClusterPaths) -> None:
    places.format.write_text(json.dumps({"format": FORMAT + 1, "pecia": "9.0", "moon": 1}))
    with pytest.raises(Unprocessable, match="upgrade Pecia"):
        read_format(places)


def test_a_format_reads_back_as_it_was_written(places: ClusterPaths) -> None:
    assert read_format(places) is None
    write_format(places)
    assert read_format(places) == current_format()


@pytest.mark.parametrize(("major", "way"), [(15, "older Pecia"), (19, "upgrade Pecia")])
def test_a_major_version_we_cannot_run_is_refused(tmp_path: Path, major: int, way: str) -> None:
    (tmp_path / "PG_VERSION").write_text(f"{major}\n")
    with pytest.raises(Unprocessable, match=way):
        read_major_version(tmp_path)


@pytest.mark.parametrize("old_moved_already", [False, True])
def test_an_interrupted_upgrade_is_finished(places: ClusterPaths, old_moved_already: bool) -> None:
    old = places.root / ("data-16" if old_moved_already else "data")
    for folder, major in ((old, 16), (places.root / "data-18", 18)):
        folder.mkdir()
        (folder / "PG_VERSION").write_text(f"{major}\n")
    finish_upgrade(places)
    assert read_major_version(places.data) == 18
    assert read_major_version(places.root / "data-16") == 16
    finish_upgrade(places)
    assert read_major_version(places.data) == 18


def test_passwords_are_made_once_and_differ(places: ClusterPaths) -> None:
    made = read_passwords(places)
    assert read_passwords(places) == made
    assert len(set(made.values())) == 4
    assert stat.S_IMODE(places.passwords.stat().st_mode) == 0o600


def test_passwords_lost_beside_a_database_are_not_made_up_again(places: ClusterPaths) -> None:
    places.data.mkdir()
    with pytest.raises(Unavailable, match="restore it"):
        read_passwords(places)


def test_a_long_socket_path_moves_to_a_short_private_folder(tmp_path: Path) -> None:
    places = ClusterPaths(tmp_path / ("x" * 60) / ("y" * 60))
    places.root.mkdir(parents=True)
    assert not is_socket_path_valid(places.sockets)
    create_socket_folder(places, OURSELVES)
    folder = places.sockets
    assert is_socket_path_valid(folder)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    create_socket_folder(places, OURSELVES)
    assert places.sockets == folder
    folder.rmdir()


def test_a_socket_folder_that_others_can_enter_is_not_used_again(tmp_path: Path) -> None:
    places = ClusterPaths(tmp_path / ("x" * 60) / ("y" * 60))
    places.root.mkdir(parents=True)
    create_socket_folder(places, OURSELVES)
    swapped = places.sockets
    swapped.chmod(0o755)
    create_socket_folder(places, OURSELVES)
    assert places.sockets != swapped
    swapped.rmdir()
    places.sockets.rmdir()


def test_looking_at_an_empty_home_finds_and_makes_nothing(tmp_path: Path) -> None:
    home = tmp_path / "home"

    async def look() -> str:
        return (
            await cluster_status(home, options=ClusterOptions(system=tmp_path / "system"))
        ).state

    assert anyio.run(look) == "absent"
    assert list(tmp_path.iterdir()) == []


def test_homes_of_one_name_have_clusters_of_their_own(tmp_path: Path) -> None:
    system = tmp_path / "system"
    first, _ = create_cluster_paths(tmp_path / "a" / "home", system, print)
    second, _ = create_cluster_paths(tmp_path / "b" / "home", system, print)
    assert first.root != second.root
    assert find_cluster_paths(tmp_path / "a" / "home", system) == first


@pytest.mark.skipif(os.geteuid() != 0, reason="only root keeps clusters outside the home")
def test_a_cluster_of_root_that_is_gone_is_not_quietly_replaced(tmp_path: Path) -> None:
    home, system = tmp_path / "home", tmp_path / "system"
    places, _ = create_cluster_paths(home, system, print)
    places.root.rmdir()
    with pytest.raises(Unavailable, match="mount a volume"):
        create_cluster_paths(home, system, print)


@pytest.mark.parametrize("content", [b"", b"\0\0\0", b"{", b"[]", b"{}", b"\xff"])
@pytest.mark.parametrize("name", ["format.json", "passwords.json", "sockets.json"])
def test_a_damaged_file_of_ours_is_named_with_what_to_do(
    places: ClusterPaths, name: str, content: bytes
) -> None:
    path = places.root / name
    path.write_bytes(content)
    readers: dict[str, Callable[[], object]] = {
        "format.json": lambda: read_format(places),
        "passwords.json": lambda: read_passwords(places),
        "sockets.json": lambda: places.sockets,
    }
    with pytest.raises(Unavailable, match=re.escape(f"{path} is damaged")):
        readers[name]()


@pytest.mark.parametrize("content", [b"", b"{", b'{"clust": 1}'])
def test_a_damaged_pointer_to_the_cluster_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "postgres.json").write_bytes(content)
    with pytest.raises(Unavailable, match=re.escape(str(tmp_path / "postgres.json"))):
        find_cluster_paths(tmp_path, tmp_path / "system")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root keeps clusters outside the home")
def test_the_cluster_of_a_temporary_home_that_is_gone_is_swept_away(tmp_path: Path) -> None:
    system = tmp_path / "system"
    for name in ("gone", "there", "elsewhere"):
        home = tmp_path / name
        places, _ = create_cluster_paths(home, system, print)
        if name != "elsewhere":
            mark_temporary(places.root, home)
        if name != "there":
            shutil.rmtree(home)
    assert [it.name.split("-")[0] for it in remove_orphans(system, missing_s=0)] == ["gone"]
    assert sorted(it.name.split("-")[0] for it in system.glob("*/")) == ["elsewhere", "there"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root keeps clusters outside the home")
def test_a_temporary_home_that_was_moved_finds_its_cluster(tmp_path: Path) -> None:
    system, home = tmp_path / "system", tmp_path / "home"
    places, _ = create_cluster_paths(home, system, print)
    record_home(places.root, home)
    home.rename(tmp_path / "moved")
    assert remove_orphans(system) == []
    found = find_cluster_paths(tmp_path / "moved", system)
    assert found is not None
    record_home(found.root, tmp_path / "moved")
    # It is missing for the first time again.
    (tmp_path / "moved").rename(home)
    assert remove_orphans(system) == []
    os.utime(places.root / "missing", (0, 0))
    assert remove_orphans(system) == [places.root]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root keeps clusters outside the home")
def test_a_temporary_home_that_this_process_cannot_see_keeps_its_cluster(tmp_path: Path) -> None:
    """As one below another /tmp, which a service or a container has of its own."""
    system, folder = tmp_path / "system", tmp_path / "private"
    places, _ = create_cluster_paths(folder / "home", system, print)
    record_home(places.root, folder / "home")
    folder.rename(tmp_path / "elsewhere")
    folder.mkdir()
    assert remove_orphans(system, missing_s=0) == []
    folder.rmdir()
    (tmp_path / "elsewhere").rename(folder)
    shutil.rmtree(folder / "home")
    assert remove_orphans(system, missing_s=0) == [places.root]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root keeps clusters outside the home")
def test_a_removal_that_was_cut_off_is_completed_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, system = tmp_path / "home", tmp_path / "system"
    places, _ = create_cluster_paths(home, system, print)
    record_home(places.root, home)
    (places.root / "data").mkdir(exist_ok=True)
    shutil.rmtree(home)
    rmdir = os.rmdir

    def full(path: str, *, dir_fd: int | None = None) -> None:
        if Path(path).name == "data":
            raise OSError(errno.ENOTEMPTY, "a server that ends wrote a last file")
        rmdir(path, dir_fd=dir_fd)

    with monkeypatch.context() as patched:
        patched.setattr(os, "rmdir", full)
        assert remove_orphans(system, missing_s=0) == []
    assert remove_orphans(system, missing_s=0) == [places.root]
    assert [*system.glob("*/")] == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root keeps clusters outside the home")
def test_the_cluster_of_a_home_that_is_missing_is_named_and_never_removed(tmp_path: Path) -> None:
    system = tmp_path / "system"
    roots: dict[str, Path] = {}
    for name in ("gone", "there", "unmounted", "back"):
        home = tmp_path / name
        places, _ = create_cluster_paths(home, system, print)
        record_home(places.root, home)
        # As it is of a home that does not lie, as that of a test, in a temporary folder.
        (places.root / "temporary.json").unlink(missing_ok=True)
        roots[name] = places.root
        if name != "there":
            shutil.rmtree(home)
    record = {"home": str(tmp_path / "unmounted"), "mount": str(tmp_path / "unmounted")}
    (roots["unmounted"] / "home.json").write_text(json.dumps(record))
    (tmp_path / "back").mkdir()
    assert remove_orphans(system, missing_s=0) == []
    assert list_orphans(system) == [(roots["gone"], tmp_path / "gone")]
    [finding] = check_orphans(system)
    assert (finding.state, f"rm -r {roots['gone']}" in finding.advice) == ("warn", True)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root keeps clusters outside the home")
def test_a_cluster_in_use_is_not_swept_away(tmp_path: Path) -> None:
    home, system = tmp_path / "home", tmp_path / "system"
    places, _ = create_cluster_paths(home, system, print)
    mark_temporary(places.root, home)
    shutil.rmtree(home)
    with open_lock(places.holders_lock) as lock:
        lock.try_acquire(shared=True)
        assert remove_orphans(system, missing_s=0) == []
    assert remove_orphans(system, missing_s=0) == [places.root]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root could take over a user's cluster")
def test_root_leaves_the_cluster_of_an_ordinary_user_alone(tmp_path: Path) -> None:
    (tmp_path / "home" / "postgres").mkdir(parents=True)
    with pytest.raises(Unavailable, match="ordinary user"):
        create_cluster_paths(tmp_path / "home", tmp_path / "system", print)


def test_no_login_is_above_row_level_security(cluster: Cluster) -> None:
    with psycopg.connect(cluster.logins.owner) as connection:
        rows = connection.execute(
            "SELECT rolname, rolsuper OR rolbypassrls OR rolcreaterole OR rolcreatedb"
            " FROM pg_roles WHERE rolname LIKE 'pecia%' ORDER BY rolname"
        ).fetchall()
    assert rows == [("pecia_app", False), ("pecia_owner", False), ("pecia_system", False)]


def test_every_login_needs_its_own_password(cluster: Cluster) -> None:
    for user in ("postgres", "pecia_owner", "pecia_system"):
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            psycopg.connect(cluster.conninfo("app"), user=user)


def test_sorting_is_the_same_on_every_machine_and_pages_are_checked(cluster: Cluster) -> None:
    with psycopg.connect(cluster.logins.app) as connection:
        row = connection.execute(
            "SELECT datlocprovider, datlocale, pg_encoding_to_char(encoding),"
            " current_setting('data_checksums'), current_setting('listen_addresses')"
            " FROM pg_database WHERE datname = 'pecia'"
        ).fetchone()
    assert row == ("b", "C.UTF-8", "UTF8", "on", "")


def test_the_app_and_system_logins_cannot_make_tables(database: DatabaseLogins) -> None:
    for login in (database.app, database.system):
        with (
            psycopg.connect(login) as connection,
            pytest.raises(psycopg.errors.InsufficientPrivilege),
        ):
            connection.execute("CREATE TABLE mine (id int)")


def test_the_owner_can_hand_a_function_to_the_system(database: DatabaseLogins) -> None:
    with psycopg.connect(database.owner) as connection:
        connection.execute("CREATE SCHEMA desk")
        connection.execute("GRANT USAGE, CREATE ON SCHEMA desk TO pecia_system")
        connection.execute("CREATE FUNCTION desk.f() RETURNS int RETURN 1")
        connection.execute("ALTER FUNCTION desk.f() OWNER TO pecia_system")
        owner = connection.execute(
            "SELECT pg_get_userbyid(proowner) FROM pg_proc WHERE oid = 'desk.f()'::regprocedure"
        ).fetchone()
    assert owner == ("pecia_system",)


def test_vectors_work_in_a_fresh_database(database: DatabaseLogins) -> None:
    with psycopg.connect(database.app) as connection:
        row = connection.execute("SELECT '[3,4]'::halfvec <-> '[0,0]'::halfvec").fetchone()
    assert row == (5.0,)


def test_each_test_has_a_database_of_its_own(database: DatabaseLogins, cluster: Cluster) -> None:
    assert database.owner != cluster.logins.owner
    with psycopg.connect(database.owner) as connection:
        rows = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        assert rows.fetchall() == []


def test_no_password_and_no_statement_is_in_the_log(
    database: DatabaseLogins, cluster: Cluster
) -> None:
    with (
        psycopg.connect(database.app) as connection,
        pytest.raises(psycopg.errors.InvalidTextRepresentation),
    ):
        connection.execute("SELECT 'private words'::text, 'x'::int")
    log = (cluster.root / "server.log").read_text()
    assert "invalid input syntax" in log
    assert "private words" not in log
    for login in (database.owner, database.app, database.system):
        assert str(conninfo_to_dict(login)["password"]) not in log


def test_the_folders_of_a_cluster_are_closed_to_others(cluster: Cluster) -> None:
    for name in ("data", "run"):
        assert stat.S_IMODE((cluster.root / name).stat().st_mode) == 0o700
    assert stat.S_IMODE((cluster.root / "passwords.json").stat().st_mode) == 0o600
