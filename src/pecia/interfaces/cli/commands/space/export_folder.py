"""The folder of an export: filled beside its place, and put there when it is whole."""

import os
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from pecia.features.wiki.core.names import find_path_problem
from pecia.kernel.errors import Conflict, InvalidInput, Unavailable

TEMPORARY_SUFFIX = ".pecia-export"


@dataclass(frozen=True, slots=True)
class ExportFolder:
    """A folder that nobody sees yet. Nothing is written outside of it, whatever a path says."""

    root: Path

    def problem(self, path: str) -> str:
        """Why no file can have this path, or nothing."""
        return find_path_problem(path, may_be_ours=True)

    def append(self, path: str, part: bytes) -> None:
        place = self._place(path)
        with place.open("ab") as file:
            file.write(part)

    def write(self, path: str, body: bytes) -> None:
        """A new file; FileExistsError where the file system takes two names for one."""
        with self._place(path).open("xb") as file:
            file.write(body)

    def has(self, path: str) -> bool:
        return (self.root / path).exists()

    def remove(self, path: str) -> None:
        (self.root / path).unlink()

    def clear(self) -> None:
        for it in self.root.iterdir():
            shutil.rmtree(it) if it.is_dir() else it.unlink()

    def _place(self, path: str) -> Path:
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        return place


def require_export_target(target: Path, *, replace: bool) -> None:
    """Refuse a target that is no folder, or that has something in it, unless told."""
    if target.exists() and not target.is_dir():
        raise InvalidInput(f"{target} is a file", field="to", expected="a folder")
    if not target.parent.is_dir():
        raise InvalidInput(
            f"there is no folder {target.parent}", field="to", hint=f"mkdir -p {target.parent}"
        )
    if target.is_dir() and any(target.iterdir()) and not replace:
        raise Conflict(
            f"the folder {target} is not empty",
            field="to",
            hint="choose another folder, or add --replace, which removes everything in it",
        )


@contextmanager
def open_export(target: Path, *, replace: bool) -> Generator[ExportFolder]:
    """An empty folder that takes the place of the target at the end. After a failure nothing of it
    stays; after a kill a hidden folder beside the target does, which is never taken for it."""
    require_export_target(target, replace=replace)
    made: Path | None = None
    try:
        made = Path(tempfile.mkdtemp(TEMPORARY_SUFFIX, f".{target.name}.", dir=target.parent))
        yield ExportFolder(made)
        made.chmod(0o755)
        _put_in_place(made, target)
    except BaseException as error:
        if made is not None:
            shutil.rmtree(made, ignore_errors=True)
        if isinstance(error, OSError):
            raise Unavailable(
                f"the export cannot be written to {target}: {error.strerror or error}",
                field="to",
                hint="choose another folder, or free space on this disk",
            ) from error
        raise


def _put_in_place(made: Path, target: Path) -> None:
    for folder, _, names in os.walk(made):
        for name in names:
            _sync(Path(folder) / name)
        _sync(Path(folder))
    if not target.exists() or not any(target.iterdir()):
        # Atomic, also over an empty folder.
        made.replace(target)
    else:
        aside = Path(tempfile.mkdtemp(TEMPORARY_SUFFIX, f".{target.name}.", dir=target.parent))
        target.replace(aside)
        try:
            made.replace(target)
        except OSError:
            aside.replace(target)
            raise
        shutil.rmtree(aside)
    _sync(target.parent)


def _sync(path: Path) -> None:
    with suppress(OSError):
        held = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(held)
        finally:
            os.close(held)
