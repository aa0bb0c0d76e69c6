"""The archive: a zip with one member a table and a manifest. Nothing here knows the database."""

import os
import zipfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from pecia.kernel.errors import NotFound, Unprocessable

FORMAT = 1
MANIFEST = "manifest.json"


class TableEntry(BaseModel):
    """One table: its columns in the order of the text, and how to know that nothing is missing."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    columns: list[str]
    rows: int
    sha256: str

    @property
    def member(self) -> str:
        return f"tables/{self.name}.copy"


class MigrationEntry(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    part: str
    name: str
    sha256: str


class BackupManifest(BaseModel):
    """What the archive holds."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: int
    pecia: str
    made_at: str
    migrations: list[MigrationEntry]
    tables: list[TableEntry]

    @property
    def rows(self) -> int:
        return sum(it.rows for it in self.tables)


@dataclass(frozen=True, slots=True)
class BackupArchive:
    """An archive opened for reading, its manifest checked."""

    file: zipfile.ZipFile
    manifest: BackupManifest


@contextmanager
def new_archive(path: Path) -> Generator[zipfile.ZipFile]:
    """A new archive beside its place, moved there when it is whole; on failure nothing is left."""
    unfinished = path.with_name(path.name + ".part")
    try:
        with unfinished.open("xb") as raw:
            unfinished.chmod(0o600)
            with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED, compresslevel=3) as file:
                yield file
            raw.flush()
            os.fsync(raw.fileno())
        unfinished.replace(path)
    except BaseException:
        with suppress(FileNotFoundError):
            unfinished.unlink()
        raise


@contextmanager
def open_archive(path: Path) -> Generator[BackupArchive]:
    """An archive of ours, or Unprocessable with what is wrong with it."""
    if not path.is_file():
        raise NotFound(f"no backup at {path}")
    try:
        with zipfile.ZipFile(path) as file:
            yield BackupArchive(file, _manifest(file, path))
    except zipfile.BadZipFile:
        raise Unprocessable(f"{path} is not a backup of Pecia, or it is damaged") from None


def _manifest(file: zipfile.ZipFile, path: Path) -> BackupManifest:
    try:
        manifest = BackupManifest.model_validate_json(file.read(MANIFEST))
    except (KeyError, ValidationError):
        raise Unprocessable(f"{path} is not a backup of Pecia") from None
    if manifest.format > FORMAT:
        raise Unprocessable(
            f"{path} was made by Pecia {manifest.pecia}, which is newer; upgrade first",
            made_by=manifest.pecia,
        )
    return manifest
