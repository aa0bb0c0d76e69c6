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
from pecia.kernel.store.atomic_file import fsync_folder, read_tail, write_atomic
from pecia.kernel.store.cluster.conf import choose_sync_method
from pecia.kernel.store.cluster.data.initdb import chown_to, create_staging, run_initdb
from pecia.kernel.store.cluster.failure import explain_failure
from pecia.kernel.store.cluster.paths import ClusterPaths
from pecia.kernel.store.cluster.programs import FOLDER_BY_MAJOR, MAJOR, PostgresPrograms
from pecia.kernel.store.file_lock import FileLock, open_lock

NO_CHECKSUMS = re.compile(r"^Data page checksum version:\s+0$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ClusterUpgrade:
    """One data directory, the programs that wrote it and those that will run it."""

    paths: ClusterPaths
    old: PostgresPrograms
    new: PostgresPrograms
    password: str = field(repr=False)


def read_major_version(data: Path) -> int:
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


def has_data(places: ClusterPaths) -> bool:
    """Whether there is a data directory, be it one that only has to be moved into place."""
    return places.data.exists() or _upgraded_path(places).exists()


def upgrade(job: ClusterUpgrade, start_lock: FileLock) -> None:
    """Rewrite the data directory for our major version. Call with start.lock taken.

    Taking server.lock as well proves that no server uses the directory, and every program inherits
    both, so that none can start on it even if we die.
    """
    with open_lock(job.paths.server_lock) as server_lock:
        server_lock.acquire(lambda: None)
        locks = [start_lock.handle, server_lock.handle]
        _close_cleanly(job, locks)
        staging = create_staging(job.paths, job.new)
        run_initdb(staging / "data", job.new, job.password, start_lock)
        _run_pg_upgrade(job, staging, locks)
        (staging / "data").rename(_upgraded_path(job.paths))
        fsync_folder(job.paths.root)
        finish_upgrade(job.paths)
        shutil.rmtree(staging)


def finish_upgrade(places: ClusterPaths) -> None:
    """Move a finished new directory into place, and the old one aside."""
    upgraded = _upgraded_path(places)
    if not upgraded.exists():
        return
    if places.data.exists():
        places.data.rename(places.data.with_name(f"data-{read_major_version(places.data)}"))
    upgraded.rename(places.data)
    fsync_folder(places.root)


def _upgraded_path(places: ClusterPaths) -> Path:
    return places.data.with_name(f"data-{MAJOR}")


def _close_cleanly(job: ClusterUpgrade, locks: Sequence[int]) -> None:
    """Recover after a crash, as pg_upgrade wants it, and add the checksums that initdb adds."""
    # Nobody lives who could have written it: we have server.lock.
    (job.paths.data / "postmaster.pid").unlink(missing_ok=True)
    # In single-user mode postgres recovers, reads the end of its input, and shuts down.
    _run(job, "postgres", ["--single", "-D", job.paths.data, "template1"], locks)
    control = _run(job, "pg_controldata", [job.paths.data], locks)
    if NO_CHECKSUMS.search(control):
        _run(job, "pg_checksums", ["--enable", job.paths.data], locks)


def _run_pg_upgrade(job: ClusterUpgrade, staging: Path, locks: Sequence[int]) -> None:
    secret = staging / "pgpass"
    write_atomic(secret, f"*:*:*:postgres:{job.password}\n")
    chown_to(secret, job.new.user)
    arguments = [
        f"--old-bindir={job.old.path('')}",
        f"--new-bindir={job.new.path('')}",
        f"--old-datadir={job.paths.data}",
        f"--new-datadir={staging / 'data'}",
        f"--socketdir={job.paths.sockets}",
        "--username=postgres",
        f"--sync-method={choose_sync_method(os.uname())}",
    ]
    done, said = job.new.run("pg_upgrade", arguments, cwd=staging, locks=locks, passwords=secret)
    if not done:
        logs = sorted(staging.glob("data/pg_upgrade_output.d/*/log/*.log"))
        raise _failure(job, "".join(read_tail(log, 0) for log in logs) + said)


def _run(
    job: ClusterUpgrade, name: str, arguments: Sequence[str | Path], locks: Sequence[int]
) -> str:
    done, said = job.old.run(name, arguments, cwd=job.paths.data, locks=locks)
    if not done:
        raise _failure(job, said)
    return said


def _failure(job: ClusterUpgrade, said: str) -> PeciaError:
    return explain_failure(f"PostgreSQL could not be upgraded to {MAJOR}", said, job.paths.data)
