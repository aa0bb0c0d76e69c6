"""Backups of the whole database that the running server makes: one at a time, in one folder."""

import asyncio
import re
import secrets
import stat
import threading
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from pecia.kernel.errors import Conflict, Json, NotFound
from pecia.kernel.logs import Log
from pecia.kernel.settings.kernel import KernelSettings
from pecia.kernel.store.backup.dump import back_up

LINK_S = 60.0
"""How long a link to a backup works, once."""

_NAME = re.compile(r"pecia-\d{8}T\d{6}Z\.zip", re.ASCII)

log = Log(__name__)


def backup_folder(kernel: KernelSettings) -> Path:
    return kernel.backup_dir or kernel.home / "backups"


def next_backup(kernel: KernelSettings) -> Path:
    """Where the next backup is written: named by the time."""
    return backup_folder(kernel) / f"pecia-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.zip"


@dataclass(slots=True)
class RunningBackup:
    """What is known of a backup that is being made, or of the last one."""

    name: str
    done: int = 0
    total: int | None = None
    problem: str | None = None
    is_over: bool = False
    is_written: bool = False
    """The file is there, whole. Only then was it a success."""

    def as_json(self) -> dict[str, Json]:
        return {
            "name": self.name,
            "done": self.done,
            "total": self.total,
            "problem": self.problem,
            "running": not self.is_over,
            "ok": self.is_written,
        }


@dataclass(slots=True)
class Backups:
    """The backups of this server's folder, and the one it makes."""

    kernel: KernelSettings
    conninfo: str = field(repr=False)
    latest: RunningBackup | None = None
    links: dict[str, tuple[str, float]] = field(default_factory=dict[str, tuple[str, float]])

    def list_files(self) -> list[dict[str, Json]]:
        """Whole backups, newest first. What only has such a name is left out."""
        found = sorted(backup_folder(self.kernel).glob("pecia-*.zip"), reverse=True)
        return [backup for it in found if (backup := _describe(it)) is not None]

    def start(self) -> RunningBackup:
        """Begin one, in a thread of its own: it outlives the request and holds nothing up."""
        if self.latest is not None and not self.latest.is_over:
            raise Conflict("a backup is being made already", name=self.latest.name)
        target = next_backup(self.kernel)
        if target.exists():
            raise Conflict(
                f"{target.name} exists already",
                hint="Try again in a second: it is named by the time.",
            )
        self.latest = RunningBackup(target.name)
        work = threading.Thread(target=self._work, args=(target, self.latest), daemon=True)
        work.start()
        return self.latest

    def make_link(self, name: str) -> str:
        """A code by which one download of this backup is let in."""
        self.find(name)
        now = time.monotonic()
        self.links = {code: it for code, it in self.links.items() if it[1] > now}
        code = secrets.token_urlsafe(24)
        self.links[code] = (name, now + LINK_S)
        return code

    def take(self, name: str, code: str) -> Path:
        """The file that a code was made for. The code is spent."""
        try:
            return self.look(name, code)
        finally:
            self.links.pop(code, None)

    def look(self, name: str, code: str) -> Path:
        """The same, and the code can still be used."""
        wanted, until = self.links.get(code, ("", 0.0))
        if wanted != name or until < time.monotonic():
            raise NotFound(
                "this link has been used, or is older than a minute; open Backup for a new one"
            )
        return self.find(name)

    def find(self, name: str) -> Path:
        path = backup_folder(self.kernel) / name
        if not _NAME.fullmatch(name) or _describe(path) is None:
            raise NotFound(f"there is no backup {name[:80]!r}; GET /api/v1/backups lists them")
        return path

    def _work(self, target: Path, it: RunningBackup) -> None:
        def report(table: str, done: int, total: int) -> None:
            it.done, it.total = done, total

        try:
            target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            asyncio.run(back_up(self.conninfo, target, report))
        except Exception as error:  # noqa: BLE001 - the edge of the thread: nobody else tells it.
            it.problem = str(error) or type(error).__name__
            log.failure("backup.failed", error, file=it.name)
        else:
            it.is_written = True
        finally:
            it.is_over = True


def _describe(path: Path) -> dict[str, Json] | None:
    """None for what is no backup: no regular file, gone by now, or not named by a real time."""
    if not _NAME.fullmatch(path.name):
        return None
    try:
        made = datetime.strptime(path.name, "pecia-%Y%m%dT%H%M%SZ.zip").replace(tzinfo=UTC)
        found = path.stat()
    except (ValueError, OSError):
        return None
    if not stat.S_ISREG(found.st_mode):
        return None
    return {"name": path.name, "bytes": found.st_size, "made_at": made.isoformat()}
