"""Which OS user runs postgres. PostgreSQL refuses to run as root, so root lends it another user."""

import os
import pwd
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass

from pecia.kernel.errors import Unavailable

DEDICATED_USER = "pecia"
LAST_RESORT = "nobody"


@dataclass(frozen=True, slots=True)
class OsUser:
    """The uid and gid that own the data and run the server."""

    uid: int
    gid: int


def server_user(report: Callable[[str], None]) -> OsUser:
    """Ourselves; for root, the user `pecia`, made when it is missing."""
    if os.geteuid() != 0:
        return OsUser(os.geteuid(), os.getegid())
    found = _look_up(DEDICATED_USER)
    if found is None:
        _add(DEDICATED_USER)
        found = _look_up(DEDICATED_USER)
    if found is None:
        report(f"Could not add the OS user {DEDICATED_USER!r}; PostgreSQL runs as {LAST_RESORT!r}.")
        found = _look_up(LAST_RESORT)
    if found is None or found.uid == 0:
        raise Unavailable(
            f"PostgreSQL does not run as root, and there is no other user to run it: "
            f"add one with `useradd --system {DEDICATED_USER}`, or run Pecia as an ordinary user"
        )
    return found


def _look_up(name: str) -> OsUser | None:
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        return None
    return OsUser(entry.pw_uid, entry.pw_gid)


def _add(name: str) -> None:
    """Add a system user with whichever tool is here. Its failure shows as the user's absence."""
    tools = {
        "useradd": ["--system", "--user-group", "--no-create-home", "--shell", "/bin/false", name],
        "adduser": ["-S", "-D", "-H", "-s", "/bin/false", name],
    }
    for tool, arguments in tools.items():
        program = shutil.which(tool, path="/usr/sbin:/sbin:/usr/bin:/bin")
        if program:
            subprocess.run([program, *arguments], capture_output=True, check=False, timeout=30)
            return
