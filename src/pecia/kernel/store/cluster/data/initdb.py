"""A new data directory, whole or not at all: it is made aside and moved into place."""

import json
import os
import secrets
import shutil
import tempfile
from pathlib import Path

from pecia.kernel.errors import Unavailable
from pecia.kernel.store.atomic_file import fsync_folder, read_json_object, write_atomic
from pecia.kernel.store.cluster.conf import choose_sync_method
from pecia.kernel.store.cluster.failure import explain_failure
from pecia.kernel.store.cluster.logins import NAME_BY_ROLE, LoginRole
from pecia.kernel.store.cluster.os_user import OsUser
from pecia.kernel.store.cluster.paths import ClusterPaths
from pecia.kernel.store.cluster.programs import PostgresPrograms
from pecia.kernel.store.file_lock import FileLock

STAGING = "new-"

# The collation is PostgreSQL's own, the same on every machine and every version of libc. LC_* are
# plain C, because not every OS has a locale called C.UTF-8.
INITDB = [
    "--username=postgres",
    "--auth=scram-sha-256",
    "--encoding=UTF8",
    "--locale-provider=builtin",
    "--builtin-locale=C.UTF-8",
    "--locale=C",
    "--data-checksums",
    "--no-instructions",
]


def read_passwords(places: ClusterPaths) -> dict[LoginRole, str]:
    """The password of every role, made up when there is no cluster yet."""
    if places.passwords.exists():
        remedy = "It holds the passwords of the database: restore it from a copy of the home."
        found = read_json_object(places.passwords, *NAME_BY_ROLE, remedy=remedy)
        return {role: str(found[role]) for role in NAME_BY_ROLE}
    if places.data.exists():
        raise Unavailable(
            f"{places.passwords} is gone, and with it the passwords of the database: restore it"
        )
    passwords: dict[LoginRole, str] = {role: secrets.token_urlsafe(32) for role in NAME_BY_ROLE}
    write_atomic(places.passwords, json.dumps(passwords))
    return passwords


def create_data(
    places: ClusterPaths, programs: PostgresPrograms, password: str, start_lock: FileLock
) -> None:
    """Make the data directory. Call it with start.lock taken, and only when there is none."""
    staging = create_staging(places, programs)
    run_initdb(staging / "data", programs, password, start_lock)
    (staging / "data").rename(places.data)
    fsync_folder(places.root)
    shutil.rmtree(staging)


def create_staging(places: ClusterPaths, programs: PostgresPrograms) -> Path:
    """An empty folder of the server's user, beside the data. Earlier ones were left by a crash."""
    for leftover in places.root.glob(f"{STAGING}*"):
        shutil.rmtree(leftover)
    staging = Path(tempfile.mkdtemp(prefix=STAGING, dir=places.root))
    chown_to(staging, programs.user)
    return staging


def chown_to(path: Path, user: OsUser) -> None:
    """Make it the server's user's; never through a link, which that user might have put there."""
    os.chown(path, user.uid, user.gid, follow_symlinks=False)


def run_initdb(data: Path, programs: PostgresPrograms, password: str, start_lock: FileLock) -> None:
    """Run initdb, in a folder of the server's user."""
    secret = data.with_name("password")
    write_atomic(secret, password + "\n")
    chown_to(secret, programs.user)
    done, said = programs.run(
        "initdb",
        [
            f"--pgdata={data}",
            f"--pwfile={secret}",
            *INITDB,
            f"--sync-method={choose_sync_method(os.uname())}",
        ],
        cwd=data.parent,
        locks=[start_lock.handle],
    )
    if not done:
        raise explain_failure("PostgreSQL could not make a data directory", said, data.parent)
