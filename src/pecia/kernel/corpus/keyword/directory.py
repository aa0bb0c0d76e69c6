"""The index folders of a home, and their write locks. It never opens an index.

`index/node` names this home among all that follow the same database. `index/TENANT/` holds `lock`,
held by one process at a time; `current`, the name of the live generation; and the generations. A
name holds the analyser version and the epoch of the change log, so that a generation of another
kind is never used.
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
from pecia.kernel.logs import Log
from pecia.kernel.store.atomic_file import write_atomic
from pecia.kernel.store.file_lock import FileLock, open_lock

_log = Log(__name__)
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
        """The write lock, until closed; None while another process has it."""
        self._make_folder()
        lock = FileLock(self.folder / "lock")
        if lock.try_acquire():
            return lock
        lock.close()
        return None

    def wait_lock(self) -> FileLock:
        """Wait for the write lock."""
        self._make_folder()
        lock = FileLock(self.folder / "lock")
        lock.acquire(lambda: None)
        return lock

    @contextmanager
    def request_lock(self) -> Generator[None]:
        """Ask the holder of the write lock to release it, for the time of the block."""
        self._make_folder()
        with open_lock(self.folder / "wanted") as request:
            request.try_acquire(shared=True)
            yield

    def is_lock_requested(self) -> bool:
        """Whether a command waits for the write lock."""
        path = self.folder / "wanted"
        if not path.exists():
            return False
        with open_lock(path) as request:
            return not request.try_acquire()

    @property
    def pointer(self) -> Path:
        """The file that names the live generation; replaced at every change."""
        return self.folder / "current"

    def current_generation(self) -> Path | None:
        """The live generation. An invalid pointer counts as none: the writer rebuilds."""
        try:
            name = self.pointer.read_bytes().decode("ascii", "replace")
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            return None
        return self.folder / name if _GENERATION.fullmatch(name) else None

    def new_generation(self, epoch: UUID) -> Path:
        """A fresh path for a generation."""
        return self.folder / f"{_generation_prefix(epoch)}{uuid4().hex[:12]}"

    def is_generation_of(self, generation: Path, epoch: UUID) -> bool:
        """Whether a generation has our analyser version and that epoch."""
        return generation.name.startswith(_generation_prefix(epoch))

    def publish(self, generation: Path) -> None:
        """Make this generation the live one, atomically."""
        fresh = self.folder / "current.new"
        with fresh.open("w", encoding="utf-8") as file:
            file.write(generation.name)
            file.flush()
            os.fsync(file.fileno())
        if self.pointer.is_dir():
            # Damage: no file can replace it.
            shutil.rmtree(self.pointer)
        fresh.replace(self.pointer)
        self.clear_suspect()

    def mark_suspect(self) -> None:
        """Called by a reader that failed; the writer then verifies the index."""
        # A tenant that went has taken its folder along.
        with suppress(FileNotFoundError, NotADirectoryError):
            (self.folder / "doubted").touch()

    def is_suspect(self) -> bool:
        return (self.folder / "doubted").exists()

    def clear_suspect(self) -> None:
        (self.folder / "doubted").unlink(missing_ok=True)

    def remove_old_generations(self) -> None:
        """Remove every generation but the live one. Open readers keep their files."""
        current = self.current_generation()
        for found in self.folder.iterdir():
            if found.is_dir() and found != current:
                shutil.rmtree(found, ignore_errors=True)

    def _make_folder(self) -> None:
        """Everything in it is derived: what stands in its place and is no folder goes."""
        if self.folder.is_file():
            self.folder.unlink()
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)

    def size_bytes(self) -> int:
        """The size on disk; files that vanish meanwhile do not count."""
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


def list_suspects(root: Path) -> frozenset[UUID]:
    """The tenants whose index somebody could not read."""
    return frozenset(tenant_id for tenant_id, found in list_directories(root) if found.is_suspect())


def load_node_name(root: Path) -> str:
    """The name of this node in the change log, created on first use."""
    root.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = root / "node"
    if not path.exists():
        fresh = root / f"node.{uuid4().hex}"
        fresh.write_text(uuid4().hex, "utf-8")
        # Two processes that start at once agree on one name: the first hard link wins.
        with suppress(FileExistsError):
            path.hardlink_to(fresh)
        fresh.unlink()
    return _read_node(path) or _replace_node(path)


def is_node_damaged(root: Path) -> bool:
    """Whether the name of this home is there and is none."""
    path = root / "node"
    return path.exists() and _read_node(path) is None


def _read_node(path: Path) -> str | None:
    name = path.read_bytes().decode("ascii", "replace")
    return name if _NODE.fullmatch(name) else None


def _replace_node(path: Path) -> str:
    """Another name for a home whose own is damaged. An index says itself how far it is, so that it
    needs the old name for nothing; the log forgets who no longer answers to it.
    """
    with open_lock(path.with_suffix(".lock")) as lock:
        lock.acquire(lambda: None)
        # Another process may have been first.
        if name := _read_node(path):
            return name
        name = uuid4().hex
        write_atomic(path, name)
    _log.warning("index.node_replaced", path=str(path))
    return name


def _generation_prefix(epoch: UUID) -> str:
    return f"v{ANALYZER_VERSION}-{epoch.hex[:16]}-"
