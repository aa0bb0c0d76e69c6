"""`pecia stop`: ends the server of this home, and waits until it has ended."""

import os
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import cast

from pecia.interfaces.cli.output.terminal import Terminal
from pecia.interfaces.cli.server.client import API, ServerClient
from pecia.interfaces.cli.server.credentials import read_owner_token
from pecia.interfaces.cli.server.discover import find_running_server
from pecia.interfaces.cli.server.home import require_home
from pecia.interfaces.cli.server.lock import (
    CLAIM_NAME,
    ServerLock,
    folder_lock_path,
    home_lock_path,
    is_claimed,
    read_lock,
    remove_lock,
)
from pecia.interfaces.cli.settings import find_home, load_settings
from pecia.interfaces.cli.tools.direct import CommandArguments, DirectCommand
from pecia.kernel.errors import PeciaError, Timeout, Unavailable

LIST_SPACES = f"{API}/admin/list_spaces"
AFTER_GRACE_S = 30.0
POLL_INTERVAL_S = 0.05


def stop(terminal: Terminal, given: CommandArguments) -> None:
    home = find_home(terminal)
    lock = _server_to_stop(home)
    if lock is None:
        require_home(load_settings(terminal).kernel)
        terminal.print_result(
            {"stopped": False}, lambda it: it.info("no server runs for this home")
        )
        return
    folders = _served_folders(lock)
    with suppress(ProcessLookupError):
        os.kill(lock.pid, signal.SIGTERM)
    _wait_until_stopped(terminal, home, _grace_s(terminal) + AFTER_GRACE_S)
    for folder in folders:
        remove_lock(folder_lock_path(folder), instance=lock.instance)
    terminal.print_result(
        {"stopped": True, **lock.as_json()},
        lambda it: it.print_line(f"stopped the server at {lock.url}"),
    )


def _server_to_stop(home: Path) -> ServerLock | None:
    """The server that answers; or one that does not, when its process certainly holds the home."""
    if found := find_running_server(home):
        return found.lock
    if not is_claimed(home):
        return None
    lock = read_lock(home_lock_path(home))
    if lock is None or not holds_claim(lock.pid, home):
        raise Unavailable(
            f"an unknown process holds {home}; wait until it has started",
            hint="pecia status",
        )
    return lock


def _served_folders(lock: ServerLock) -> list[Path]:
    """The folders that a local server serves: their locks become stale."""
    try:
        found = ServerClient(lock.url, read_owner_token(Path(lock.home))).call(
            LIST_SPACES, {"limit": 200}
        )
    except PeciaError:
        # Not allowed, or no answer. A stale lock is detected when it is read.
        return []
    spaces = cast(dict[str, list[dict[str, str]]], found)["spaces"]
    return [Path(it["folder"]) for it in spaces]


def holds_claim(pid: int, home: Path) -> bool:
    """Whether that process has the claim file of the home open."""
    import psutil

    with suppress(psutil.Error):
        claim = (home / CLAIM_NAME).resolve()
        return any(Path(it.path) == claim for it in psutil.Process(pid).open_files())
    return False


def _wait_until_stopped(terminal: Terminal, home: Path, limit_s: float) -> None:
    terminal.info("stopping…")
    deadline = time.monotonic() + limit_s
    while is_claimed(home):
        if time.monotonic() > deadline:
            raise Timeout(
                f"the server has not ended after {limit_s:g} s",
                timeout_s=limit_s,
                hint="see whether it is down by now: pecia status; calls may still be ending",
            )
        time.sleep(POLL_INTERVAL_S)


def _grace_s(terminal: Terminal) -> float:
    return load_settings(terminal).kernel.shutdown_grace_s


COMMANDS = {
    "stop": DirectCommand(stop, "Stop the server of this home. Running calls may finish first.", {})
}
