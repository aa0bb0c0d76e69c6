"""From one major version of PostgreSQL to the next, with pg_upgrade. The old directory is kept.

Whenever it is interrupted, the next start finds the old directory in its place, or a finished new
one beside it that only has to be moved there.
"""

import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pecia.kernel.errors import PeciaError, Unprocessable
from pecia.kernel.store.cluster.conf import sync_method
from pecia.kernel.store.cluster.create import give, init, make_staging
from pecia.kernel.store.cluster.failure import explain
from pecia.kernel.store.cluster.files import sync_folder, text_after, write_whole
from pecia.kernel.store.cluster.locks import Lock, opened
from pecia.kernel.store.cluster.places import Places
from pecia.kernel.store.cluster.programs import FOLDER_BY_MAJOR, MAJOR, Programs

NO_CHECKSUMS = re.compile(r"^Data page checksum version:\s+0$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Upgrade:
    """One data directory, the programs that wrote it and those that will run it."""

    places: Places
    old: Programs
    new: Programs
    password: str = field(repr=False)


def major_of(data: Path) -> int:
    """Which major version wrote a data directory. Refuses one that we cannot bring up to date."""
    major = int((data / "PG_VERSION").read_text(encoding="ascii"))
    if major not in FOLDER_BY_MAJOR:
        way = "upgrade Pecia" if major > MAJOR else "back it up with an older Pecia, and restore it"
        raise Unprocessable(
            f"{data} was written by PostgreSQL {major}, this Pecia runs {MAJOR}: {way}",
            expected=MAJOR,
            got=major,
        )
    return major


def has_data(places: Places) -> bool:
    """Whether there is a data directory, be it one that only has to be moved into place."""
    return places.data.exists() or _upgraded(places).exists()


def upgrade(job: Upgrade, start_lock: Lock) -> None:
    """Rewrite the data directory for our major version. Call with start.lock taken.

    Taking server.lock as well proves that no server uses the directory, and every program inherits
    both, so that none can start on it even if we die.
    """
    with opened(job.places.server_lock) as server_lock:
        server_lock.wait(lambda: None)
        locks = [start_lock.handle, server_lock.handle]
        _close_cleanly(job, locks)
        staging = make_staging(job.places, job.new)
        init(staging / "data", job.new, job.password, start_lock)
        _run_pg_upgrade(job, staging, locks)
        (staging / "data").rename(_upgraded(job.places))
        sync_folder(job.places.root)
        finish_upgrade(job.places)
        shutil.rmtree(staging)


def finish_upgrade(places: Places) -> None:
    """Move a finished new directory into place, and the old one aside."""
    upgraded = _upgraded(places)
    if not upgraded.exists():
        return
    if places.data.exists():
        places.data.rename(places.data.with_name(f"data-{major_of(places.data)}"))
    upgraded.rename(places.data)
    sync_folder(places.root)


def _upgraded(places: Places) -> Path:
    return places.data.with_name(f"data-{MAJOR}")


def _close_cleanly(job: Upgrade, locks: Sequence[int]) -> None:
    """Recover after a crash, as pg_upgrade wants it, and add the checksums that initdb adds."""
    # Nobody lives who could have written it: we have server.lock.
    (job.places.data / "postmaster.pid").unlink(missing_ok=True)
    # In single-user mode postgres recovers, reads the end of its input, and shuts down.
    _run(job, "postgres", ["--single", "-D", job.places.data, "template1"], locks)
    control = _run(job, "pg_controldata", [job.places.data], locks)
    if NO_CHECKSUMS.search(control):
        _run(job, "pg_checksums", ["--enable", job.places.data], locks)


def _run_pg_upgrade(job: Upgrade, staging: Path, locks: Sequence[int]) -> None:
    secret = staging / "pgpass"
    write_whole(secret, f"*:*:*:postgres:{job.password}\n")
    give(secret, job.new.user)
    arguments = [
        f"--old-bindir={job.old.path('')}",
        f"--new-bindir={job.new.path('')}",
        f"--old-datadir={job.places.data}",
        f"--new-datadir={staging / 'data'}",
        f"--socketdir={job.places.sockets}",
        "--username=postgres",
        f"--sync-method={sync_method(os.uname())}",
    ]
    done, said = job.new.run("pg_upgrade", arguments, cwd=staging, locks=locks, passwords=secret)
    if not done:
        logs = sorted(staging.glob("data/pg_upgrade_output.d/*/log/*.log"))
        raise _failure(job, "".join(text_after(log, 0) for log in logs) + said)


def _run(job: Upgrade, name: str, arguments: Sequence[str | Path], locks: Sequence[int]) -> str:
    done, said = job.old.run(name, arguments, cwd=job.places.data, locks=locks)
    if not done:
        raise _failure(job, said)
    return said


def _failure(job: Upgrade, said: str) -> PeciaError:
    return explain(f"PostgreSQL could not be upgraded to {MAJOR}", said, job.places.data)
