"""The doctor's checks of machine, home and port. Uses no database."""

import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from pecia import __version__
from pecia.interfaces.cli.server.discover import find_running_server
from pecia.interfaces.cli.server.lock import is_claimed

if TYPE_CHECKING:
    from pecia.kernel.settings.kernel import KernelSettings

FindingState: TypeAlias = Literal["ok", "warn", "fail"]

GIB = 1024**3
WARN_FREE_BYTES, MIN_FREE_BYTES = GIB, GIB // 10


@dataclass(frozen=True, slots=True)
class DoctorFinding:
    """One line of the report. One that is not ok has a hint."""

    check: str
    state: FindingState
    found: str
    advice: str = ""


def check_machine() -> Iterator[DoctorFinding]:
    """The Python version."""
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info >= (3, 11):  # noqa: UP036 - what is checked is the machine, not the code
        yield DoctorFinding("python", "ok", version)
    else:
        yield DoctorFinding("python", "fail", version, "install Python 3.11 or newer")


def check_home(kernel: "KernelSettings") -> Iterator[DoctorFinding]:
    """Whether the home is writable, has free space, and its files are sound and private."""
    home = kernel.home
    try:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryFile(dir=home):
            yield DoctorFinding("home", "ok", f"{home} is writable")
    except OSError as error:
        yield DoctorFinding(
            "home",
            "fail",
            f"{home}: {error.strerror}",
            "give this user write permission, or set PECIA_HOME",
        )
        return
    yield _check_disk(home)
    yield _check_keys(home / "keys.json")
    yield from _check_spool(home / "spool")


def check_server(kernel: "KernelSettings") -> Iterator[DoctorFinding]:
    """The server when one runs, else the port it would get."""
    found = find_running_server(kernel.home)
    if found is not None and found.version != __version__:
        yield DoctorFinding(
            "server",
            "warn",
            f"{found.lock.url} is Pecia {found.version}, this is {__version__}",
            "pecia stop, then pecia start",
        )
    elif found is not None:
        yield DoctorFinding("server", "ok", f"answers at {found.lock.url}")
    elif is_claimed(kernel.home):
        yield DoctorFinding(
            "server", "fail", "a process holds the home and does not answer", "pecia stop"
        )
    else:
        yield _check_port(kernel)


def _check_port(kernel: "KernelSettings") -> DoctorFinding:
    from pecia.interfaces.cli.server.port import find_port_holder, reserve_port
    from pecia.kernel.errors import PeciaError

    try:
        reserve_port(kernel.host, kernel.port, exact=True).release()
    except PeciaError:
        taken = f"port {kernel.port} is taken by {find_port_holder(kernel.port)}"
        return DoctorFinding("port", "warn", taken, "another one will be used, or set PECIA_PORT")
    return DoctorFinding("port", "ok", f"no server runs, and port {kernel.port} is free")


def check_orphans(system: Path) -> Iterator[DoctorFinding]:
    """Root's databases whose home is missing: moved, or deleted without them."""
    from pecia.kernel.store.cluster.data.removal import list_orphans

    for root, home in list_orphans(system):
        yield DoctorFinding(
            "orphan",
            "warn",
            f"{root} is the database of {home}, which is missing",
            f"if it was moved, open it at its new path once; if it was deleted: rm -r {root}",
        )


def _check_disk(home: Path) -> DoctorFinding:
    free = shutil.disk_usage(home).free
    found = f"{free / GIB:.1f} GiB free"
    if free < MIN_FREE_BYTES:
        return DoctorFinding("disk", "fail", found, "free some space")
    if free < WARN_FREE_BYTES:
        return DoctorFinding("disk", "warn", found, "free some space soon")
    return DoctorFinding("disk", "ok", found)


def _check_spool(folder: Path) -> Iterator[DoctorFinding]:
    """What is not or will not be in the audit log. Nothing where all is well."""
    from pecia.kernel.store.audit.spool import DAMAGED_FILE, list_foreign

    damaged = folder / DAMAGED_FILE
    if damaged.is_file():
        with damaged.open("rb") as file:
            count = sum(1 for _ in file)
        yield DoctorFinding(
            "audit spool",
            "warn",
            f"damaged lines in {damaged}, which are not in the audit log: {count}",
            f"look at them, then move the file away: {damaged}",
        )
    for path in list_foreign(folder):
        yield DoctorFinding(
            "audit spool",
            "warn",
            f"{path} is no file; it is ignored",
            f"move it away: {path}",
        )


def _check_keys(path: Path) -> DoctorFinding:
    from pecia.kernel.errors import PeciaError
    from pecia.kernel.secrets import key_file

    try:
        mode = stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        return DoctorFinding("keys", "ok", "no key file yet; the first start makes one")
    if mode & 0o077:
        return DoctorFinding("keys", "fail", f"{path} has mode {mode:04o}", f"chmod 600 {path}")
    try:
        key_file.load(path)
    except PeciaError as error:
        return DoctorFinding(
            "keys",
            "fail",
            error.message,
            "put a copy of it back, as `pecia backup --keys FILE` makes one; without one, move it "
            "away: the next start makes new keys, and credentials and secrets must be set again",
        )
    return DoctorFinding("keys", "ok", f"{path} is its owner's alone")
