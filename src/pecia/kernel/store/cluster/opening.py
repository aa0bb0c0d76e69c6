"""From a home to a running server that we hold, in blocking steps. All of them can be repeated."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from psycopg.conninfo import make_conninfo

from pecia.kernel.errors import Unavailable
from pecia.kernel.store.cluster.bootstrap import bootstrap
from pecia.kernel.store.cluster.conf import HBA, server_conf, sync_method
from pecia.kernel.store.cluster.create import create_data, read_passwords
from pecia.kernel.store.cluster.failure import explained
from pecia.kernel.store.cluster.files import write_whole
from pecia.kernel.store.cluster.format import current_format, read_format, write_format
from pecia.kernel.store.cluster.locks import Lock, is_taken, opened
from pecia.kernel.store.cluster.logins import DATABASE, NAME_BY_ROLE, Role
from pecia.kernel.store.cluster.os_user import OsUser
from pecia.kernel.store.cluster.places import (
    PORT,
    Places,
    find_places,
    make_places,
    make_socket_folder,
)
from pecia.kernel.store.cluster.programs import MAJOR, Programs, find_programs
from pecia.kernel.store.cluster.removal import note_temporary, sweep
from pecia.kernel.store.cluster.server import Start, ask, ensure_running
from pecia.kernel.store.cluster.upgrade import (
    Upgrade,
    finish_upgrade,
    has_data,
    major_of,
    upgrade,
)

Report: TypeAlias = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Options:
    """How long an unused server stays, and where root keeps clusters."""

    grace_s: float = 5.0
    system: Path = Path("/var/lib/pecia")


@dataclass(frozen=True, slots=True)
class Site:
    """One cluster, as the process that opens it sees it."""

    places: Places
    user: OsUser
    options: Options
    report: Report


@dataclass(frozen=True, slots=True)
class Hold:
    """A place among the holders, and the passwords. The server runs while the lock is open."""

    site: Site
    lock: Lock
    passwords: Mapping[Role, str] = field(repr=False)


def hold(home: Path, options: Options, report: Report) -> Hold:
    """Become a holder of the home's cluster, and return when its server answers."""
    with explained("Could not open the database", home):
        is_new = find_places(home, options.system) is None
        places, user = make_places(home, options.system, report)
        if is_new and os.geteuid() == 0:
            note_temporary(places.root, home.resolve())
            sweep(options.system)
        site = Site(places, user, options, report)
        lock = Lock(places.holders_lock)
        try:
            lock.wait(lambda: report("Waiting for the database server to stop."), shared=True)
            os.utime(lock.handle)
            return Hold(site, lock, _make_ready(site))
        except BaseException:
            lock.close()
            raise


def revive(held: Hold) -> None:
    """Return when the server of a holder answers, starting it again if it went away."""
    with explained("Could not open the database", held.site.places.root):
        _make_ready(held.site)


def _make_ready(site: Site) -> Mapping[Role, str]:
    """Create, upgrade, start and bootstrap, as far as each is needed. Call it as a holder."""
    with opened(site.places.start_lock) as start_lock:
        start_lock.wait(lambda: site.report("Another process is starting the database."))
        found = read_format(site.places)
        if found is not None and not has_data(site.places):
            raise Unavailable(
                f"{site.places.data} is gone: restore a backup, or remove {site.places.root} "
                "to begin with an empty database"
            )
        passwords = read_passwords(site.places)
        if not _answers(site.places, passwords):
            _start(site, passwords, start_lock)
        if found != current_format():
            bootstrap(
                conninfo(site.places, passwords, "superuser", "postgres"),
                conninfo(site.places, passwords, "superuser", DATABASE),
                passwords,
            )
            write_format(site.places)
        return passwords


def conninfo(places: Places, passwords: Mapping[Role, str], role: Role, database: str) -> str:
    """How a role reaches a database of this cluster."""
    return make_conninfo(
        host=str(places.sockets),
        port=PORT,
        dbname=database,
        user=NAME_BY_ROLE[role],
        password=passwords[role],
    )


def _answers(places: Places, passwords: Mapping[Role, str]) -> bool:
    """Whether a server runs that somebody will stop. One that nobody keeps is to be replaced."""
    login = conninfo(places, passwords, "superuser", "postgres")
    return is_taken(places.keeper_lock) and ask(login) == "ready"


def _start(site: Site, passwords: Mapping[Role, str], start_lock: Lock) -> None:
    programs = find_programs(MAJOR, site.user, site.options.system)
    if not is_taken(site.places.keeper_lock):
        make_socket_folder(site.places, site.user)
        _prepare_data(site, programs, passwords["superuser"], start_lock)
        conf = server_conf(site.places.sockets, sync_method(os.uname()))
        write_whole(site.places.root / "server.conf", conf, mode=0o644)
        write_whole(site.places.root / "hba.conf", HBA, mode=0o644)
    login = conninfo(site.places, passwords, "superuser", "postgres")
    ensure_running(Start(site.places, programs, login, site.options.grace_s, site.report))


def _prepare_data(site: Site, programs: Programs, password: str, start_lock: Lock) -> None:
    """A data directory of our major version: as it is, upgraded, or new."""
    places = site.places
    finish_upgrade(places)
    if not places.data.exists():
        site.report("Creating the database.")
        create_data(places, programs, password, start_lock)
    major = major_of(places.data)
    if major != MAJOR:
        site.report(f"Upgrading the database from PostgreSQL {major} to {MAJOR}.")
        old = find_programs(major, site.user, site.options.system)
        upgrade(Upgrade(places, old, programs, password), start_lock)
        site.report(f"The old database is kept in {places.root / f'data-{major}'}.")
