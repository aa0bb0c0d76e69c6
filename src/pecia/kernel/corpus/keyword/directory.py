"""Where the indexes of a home lie on disk, and who may write them. It never looks into one.

`index/node` names this home among all that follow the same database. `index/TENANT/` holds `lock`,
which one process at a time has; `current`, the name of the generation that is searched; and the
generations. A name says the version of the analysers and the log that a generation follows, so
that one of another kind is never taken for it.
"""

import os
import re
import shutil
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID, uuid4

from pecia.kernel.corpus.keyword.analysis.analyzer import ANALYZER_VERSION
from pecia.kernel.errors import Unavailable
from pecia.kernel.store.file_lock import FileLock, open_lock

_NODE = re.compile(r"[0-9a-f]{32}")
_GENERATION = re.compile(r"v\d+-[0-9a-f]{16}-[0-9a-f]{12}")


@dataclass(frozen=True, slots=True)
class IndexDirectory:
    """The folder of one tenant's index."""

    folder: Path

    @classmethod
    def of(cls, root: Path, tenant_id: UUID) -> "IndexDirectory":
        return cls(root / str(tenant_id))

    def lock(self) -> FileLock | None:
        """The right to write here, until it is closed; None while another process has it."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = FileLock(self.folder / "lock")
        if lock.try_acquire():
            return lock
        lock.close()
        return None

    def wait_lock(self) -> FileLock:
        """The same right, when it is given up."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = FileLock(self.folder / "lock")
        lock.acquire(lambda: None)
        return lock

    @contextmanager
    def request_lock(self) -> Generator[None]:
        """Ask whoever has the right to give it up for the time of the block."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with open_lock(self.folder / "wanted") as wish:
            wish.try_acquire(shared=True)
            yield

    def is_lock_requested(self) -> bool:
        """Whether a person waits for the right to write."""
        path = self.folder / "wanted"
        if not path.exists():
            return False
        with open_lock(path) as wish:
            return not wish.try_acquire()

    @property
    def pointer(self) -> Path:
        """The file that names the generation that is searched: another file after every change."""
        return self.folder / "current"

    def current_generation(self) -> Path | None:
        """The generation that is searched. A pointer that names none is as good as none: whoever
        writes the index builds another.
        """
        try:
            name = self.pointer.read_bytes().decode("ascii", "replace")
        except FileNotFoundError:
            return None
        return self.folder / name if _GENERATION.fullmatch(name) else None

    def new_generation(self, epoch: UUID) -> Path:
        """A generation that nobody has yet."""
        return self.folder / f"{_generation_prefix(epoch)}{uuid4().hex[:12]}"

    def is_generation_of(self, generation: Path, epoch: UUID) -> bool:
        """Whether a generation is of our version and of that log."""
        return generation.name.startswith(_generation_prefix(epoch))

    def publish(self, generation: Path) -> None:
        """From now on this generation is searched. It happens wholly or not at all."""
        fresh = self.folder / "current.new"
        with fresh.open("w", encoding="utf-8") as file:
            file.write(generation.name)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self.pointer)
        self.clear_suspect()

    def mark_suspect(self) -> None:
        """Whoever could not read the index says so; whoever keeps it looks."""
        (self.folder / "doubted").touch()

    def is_suspect(self) -> bool:
        return (self.folder / "doubted").exists()

    def clear_suspect(self) -> None:
        (self.folder / "doubted").unlink(missing_ok=True)

    def remove_old_generations(self) -> None:
        """Remove every generation but the current one. Who still reads one keeps its files."""
        current = self.current_generation()
        for found in self.folder.iterdir():
            if found.is_dir() and found != current:
                shutil.rmtree(found, ignore_errors=True)

    def size_bytes(self) -> int:
        """What lies here; a file that goes while we look counts as gone."""
        total = 0
        for found in self.folder.rglob("*"):
            with suppress(FileNotFoundError):
                total += found.stat().st_size
        return total

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


def list_directories(root: Path) -> Iterator[tuple[UUID, IndexDirectory]]:
    """The tenants that have a folder."""
    if not root.exists():
        return
    for found in sorted(root.iterdir()):
        with suppress(ValueError):
            yield UUID(found.name), IndexDirectory(found)


def load_node_name(root: Path) -> str:
    """The name of this home among those that follow the same database, made at first sight."""
    root.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = root / "node"
    if not path.exists():
        fresh = root / f"node.{uuid4().hex}"
        fresh.write_text(uuid4().hex, "utf-8")
        # Two that begin at once agree on one name: the first link stands.
        with suppress(FileExistsError):
            path.hardlink_to(fresh)
        fresh.unlink()
    return _node_name(path)


def _node_name(path: Path) -> str:
    name = path.read_bytes().decode("ascii", "replace")
    if not _NODE.fullmatch(name):
        raise Unavailable(
            f"{path} is damaged: it should hold 32 hexadecimal digits. Remove it and start again; "
            "the keyword index is then built anew",
            path=str(path),
        )
    return name


def _generation_prefix(epoch: UUID) -> str:
    return f"v{ANALYZER_VERSION}-{epoch.hex[:16]}-"
