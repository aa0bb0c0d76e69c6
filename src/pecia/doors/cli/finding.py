"""What the doctor finds on the machine, in the home and at the port. Asks no database."""

import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from pecia import __version__
from pecia.doors.cli.find import running
from pecia.doors.cli.lock import is_claimed

if TYPE_CHECKING:
    from pecia.kernel.settings.kernel import KernelSettings

State: TypeAlias = Literal["ok", "warn", "fail"]

GIB = 1024**3
LITTLE_SPACE, NO_SPACE = GIB, GIB // 10


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report. What is not ok says what to do."""

    check: str
    state: State
    found: str
    advice: str = ""


def of_machine() -> Iterator[Finding]:
    """The Python that runs us."""
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info >= (3, 11):  # noqa: UP036 - what is checked is the machine, not the code
        yield Finding("python", "ok", version)
    else:
        yield Finding("python", "fail", version, "install Python 3.11 or newer")


def of_home(kernel: "KernelSettings") -> Iterator[Finding]:
    """Whether the home can be written, has room, and keeps its keys to itself."""
    home = kernel.home
    try:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryFile(dir=home):
            yield Finding("home", "ok", f"{home} can be written")
    except OSError as error:
        yield Finding(
            "home",
            "fail",
            f"{home}: {error.strerror}",
            "give this user the right, or set PECIA_HOME",
        )
        return
    yield _space(home)
    yield _keys(home / "keys.json")


def of_server(kernel: "KernelSettings") -> Iterator[Finding]:
    """The server when one runs, else the port it would get."""
    found = running(kernel.home)
    if found is not None and found.version != __version__:
        yield Finding(
            "server",
            "warn",
            f"{found.lock.url} is Pecia {found.version}, this is {__version__}",
            "pecia stop, then pecia start",
        )
    elif found is not None:
        yield Finding("server", "ok", f"answers at {found.lock.url}")
    elif is_claimed(kernel.home):
        yield Finding("server", "fail", "a process has the home and does not answer", "pecia stop")
    else:
        yield _port(kernel)


def _port(kernel: "KernelSettings") -> Finding:
    from pecia.doors.cli.listen import holder_of, reserve
    from pecia.kernel.errors import PeciaError

    try:
        reserve(kernel.host, kernel.port, exact=True).let_go()
    except PeciaError:
        taken = f"port {kernel.port} is taken by {holder_of(kernel.port)}"
        return Finding("port", "warn", taken, "another one will be used, or set PECIA_PORT")
    return Finding("port", "ok", f"no server runs, and port {kernel.port} is free")


def _space(home: Path) -> Finding:
    free = shutil.disk_usage(home).free
    found = f"{free / GIB:.1f} GiB free"
    if free < NO_SPACE:
        return Finding("disk", "fail", found, "free some space")
    if free < LITTLE_SPACE:
        return Finding("disk", "warn", found, "free some space soon")
    return Finding("disk", "ok", found)


def _keys(path: Path) -> Finding:
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        return Finding("keys", "ok", "no key file yet; the first start makes one")
    if mode & 0o077:
        return Finding("keys", "fail", f"{path} has mode {mode:04o}", f"chmod 600 {path}")
    return Finding("keys", "ok", f"{path} is its owner's alone")
