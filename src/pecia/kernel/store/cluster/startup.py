"""From a home to a running server that we hold, in blocking steps. All of them can be repeated."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from psycopg.conninfo import make_conninfo

from pecia.kernel.errors import Unavailable
from pecia.kernel.store.atomic_file import write_atomic
from pecia.kernel.store.cluster.conf import (
    HBA,
    choose_sync_method,
    read_data_bytes,
    render_server_conf,
)
from pecia.kernel.store.cluster.data.bootstrap import bootstrap
from pecia.kernel.store.cluster.data.format import current_format, read_format, write_format
from pecia.kernel.store.cluster.data.initdb import create_data, read_passwords
from pecia.kernel.store.cluster.data.removal import record_home, remove_orphans
from pecia.kernel.store.cluster.data.upgrade import (
    ClusterUpgrade,
    finish_upgrade,
    has_data,
    read_major_version,
    upgrade,
)
from pecia.kernel.store.cluster.failure import explain_failures
from pecia.kernel.store.cluster.logins import DATABASE, NAME_BY_ROLE, LoginRole
from pecia.kernel.store.cluster.os_user import OsUser
from pecia.kernel.store.cluster.paths import (
    PORT,
    ClusterPaths,
    create_cluster_paths,
    create_socket_folder,
)
from pecia.kernel.store.cluster.programs import MAJOR, PostgresPrograms, find_programs
from pecia.kernel.store.cluster.server import ServerStart, ensure_running, probe_kept_server
from pecia.kernel.store.file_lock import FileLock, is_locked, open_lock

ReportSentence: TypeAlias = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """How long an unused server stays, and where root keeps clusters."""

    grace_s: float = 5.0
    system: Path = Path("/var/lib/pecia")


@dataclass(frozen=True, slots=True)
class ClusterContext:
    """One cluster, as the process that opens it sees it."""

    paths: ClusterPaths
    user: OsUser
    options: ClusterOptions
    report: ReportSentence


@dataclass(frozen=True, slots=True)
class ClusterHold:
    """A place among the holders, and the passwords. The server runs while the lock is open."""

    context: ClusterContext
    lock: FileLock
    passwords: Mapping[LoginRole, str] = field(repr=False)


def acquire_hold(home: Path, options: ClusterOptions, report: ReportSentence) -> ClusterHold:
    """Become a holder of the home's cluster, and return when its server answers."""
    with explain_failures("Could not open the database", home):
        places, user = create_cluster_paths(home, options.system, report)
        if os.geteuid() == 0:
            record_home(places.root, home.resolve())
            for gone in remove_orphans(options.system):
                report(f"Removed the database of a home that is gone: {gone}.")
        site = ClusterContext(places, user, options, report)
        lock = FileLock(places.holders_lock)
        try:
            lock.acquire(lambda: report("Waiting for the database server to stop."), shared=True)
            os.utime(lock.handle)
            return ClusterHold(site, lock, _ensure_ready(site))
        except BaseException:
            lock.close()
            raise


def restart_if_down(held: ClusterHold) -> None:
    """Return when the server of a holder answers, starting it again if it went away."""
    with explain_failures("Could not open the database", held.context.paths.root):
        _ensure_ready(held.context)


def _ensure_ready(site: ClusterContext) -> Mapping[LoginRole, str]:
    """Create, upgrade, start and bootstrap, as far as each is needed. Call it as a holder."""
    with open_lock(site.paths.start_lock) as start_lock:
        start_lock.acquire(lambda: site.report("Another process is starting the database."))
        found = read_format(site.paths)
        if found is not None and not has_data(site.paths):
            raise Unavailable(
                f"{site.paths.data} is gone: restore a backup, or remove {site.paths.root} "
                "to begin with an empty database"
            )
        passwords = read_passwords(site.paths)
        if not _answers(site.paths, passwords):
            _start(site, passwords, start_lock)
        if found != current_format():
            bootstrap(
                build_conninfo(site.paths, passwords, "superuser", "postgres"),
                build_conninfo(site.paths, passwords, "superuser", DATABASE),
                passwords,
            )
            write_format(site.paths)
        return passwords


def build_conninfo(
    places: ClusterPaths, passwords: Mapping[LoginRole, str], role: LoginRole, database: str
) -> str:
    """How a role reaches a database of this cluster."""
    return make_conninfo(
        host=str(places.sockets),
        port=PORT,
        dbname=database,
        user=NAME_BY_ROLE[role],
        password=passwords[role],
    )


def _answers(places: ClusterPaths, passwords: Mapping[LoginRole, str]) -> bool:
    """Whether a server runs that somebody will stop. One that nobody keeps is to be replaced."""
    login = build_conninfo(places, passwords, "superuser", "postgres")
    return probe_kept_server(places, login) == "ready"


def _start(site: ClusterContext, passwords: Mapping[LoginRole, str], start_lock: FileLock) -> None:
    programs = find_programs(MAJOR, site.user, site.options.system)
    if not is_locked(site.paths.keeper_lock):
        create_socket_folder(site.paths, site.user)
        _prepare_data(site, programs, passwords["superuser"], start_lock)
        size = read_data_bytes(site.paths.data)
        conf = render_server_conf(site.paths.sockets, choose_sync_method(os.uname()), size)
        write_atomic(site.paths.root / "server.conf", conf, mode=0o644)
        write_atomic(site.paths.root / "hba.conf", HBA, mode=0o644)
    login = build_conninfo(site.paths, passwords, "superuser", "postgres")
    ensure_running(ServerStart(site.paths, programs, login, site.options.grace_s, site.report))


def _prepare_data(
    site: ClusterContext, programs: PostgresPrograms, password: str, start_lock: FileLock
) -> None:
    """A data directory of our major version: as it is, upgraded, or new."""
    places = site.paths
    finish_upgrade(places)
    if not places.data.exists():
        site.report("Creating the database.")
        create_data(places, programs, password, start_lock)
    major = read_major_version(places.data)
    if major != MAJOR:
        site.report(f"Upgrading the database from PostgreSQL {major} to {MAJOR}.")
        old = find_programs(major, site.user, site.options.system)
        upgrade(ClusterUpgrade(places, old, programs, password), start_lock)
        site.report(f"The old database is kept in {places.root / f'data-{major}'}.")
