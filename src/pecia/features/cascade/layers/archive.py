"""A zip or tar file as a layer. Read in memory under limits; nothing is ever unpacked to a disk."""

import tarfile
import zipfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import IO

from anyio.to_thread import run_sync

from pecia.features.cascade.core.concept_id import is_id
from pecia.features.cascade.layers.layer import (
    LayerContent,
    LayerFile,
    ReportProgress,
    no_progress,
    parse_files,
)
from pecia.features.cascade.manifest import LayerSpec
from pecia.features.cascade.okf.document import MAX_BYTES
from pecia.features.cascade.ports import FetchFile
from pecia.kernel.compute.pool import compute
from pecia.kernel.errors import PeciaError

MAX_ARCHIVE_BYTES = 200_000_000
MAX_TEXT_BYTES = 500_000_000
MAX_ENTRIES = 200_000


class ArchiveTooLarge(Exception):
    """The archive exceeds the limits."""


class ArchiveLayer:
    """A bundle in one file, local or from the web."""

    def __init__(self, spec: LayerSpec, fetched: FetchFile | None) -> None:
        self.spec = spec
        self._fetched = fetched

    async def read(self, report: ReportProgress = no_progress) -> LayerContent:
        try:
            raw = await self._raw()
            files = await run_sync(self._files, raw)
            found = await compute(self.spec.name, parse_files, self.spec.name, files, len(files))
            report(len(files), len(files))
            return found
        except PeciaError as error:
            return LayerContent(degraded=error.message)
        except (OSError, ArchiveTooLarge, zipfile.BadZipFile, tarfile.TarError, EOFError) as error:
            return LayerContent(degraded=f"the archive cannot be read: {error}")

    async def _raw(self) -> bytes:
        if self.spec.path is not None:
            return await run_sync(_file, self.spec.path)
        if self._fetched is None or self.spec.url is None:
            raise ArchiveTooLarge("this server cannot fetch from the web")
        return await self._fetched(self.spec.url, MAX_ARCHIVE_BYTES)

    def _files(self, raw: bytes) -> list[LayerFile]:
        return sorted(_members(raw, self.spec.subdir), key=lambda it: it.path)


def _file(path: Path) -> bytes:
    if path.stat().st_size > MAX_ARCHIVE_BYTES:
        raise ArchiveTooLarge(f"more than {MAX_ARCHIVE_BYTES} bytes")
    return path.read_bytes()


def _members(raw: bytes, subdir: str) -> Iterator[LayerFile]:
    """Every Markdown file. One with path traversal comes without content, to be reported."""
    lead = f"{subdir}/" if subdir else ""
    left = MAX_TEXT_BYTES
    for number, (name, body) in enumerate(_read_members(raw), start=1):
        left -= len(body)
        if number > MAX_ENTRIES or left < 0:
            raise ArchiveTooLarge("too many files or too much text")
        path = name.removeprefix("./")
        if path.startswith(lead) and path.lower().endswith(".md"):
            inner = path[len(lead) :]
            if is_id(inner) and not any(it.startswith(".") for it in inner.split("/")):
                yield LayerFile(inner, body)
            elif not is_id(inner):
                yield LayerFile(inner, b"")


def _read_members(raw: bytes) -> Iterator[tuple[str, bytes]]:
    if zipfile.is_zipfile(BytesIO(raw)):
        with zipfile.ZipFile(BytesIO(raw)) as archive:
            for it in archive.infolist():
                if not it.is_dir():
                    with archive.open(it) as file:
                        yield it.filename, _read_bounded(file)
        return
    with tarfile.open(fileobj=BytesIO(raw)) as archive:
        for member in archive:
            # Neither links nor devices: nothing can point outside the archive.
            if member.isreg() and (file := archive.extractfile(member)):
                yield member.name, _read_bounded(file)


def _read_bounded(file: IO[bytes]) -> bytes:
    return file.read(MAX_BYTES + 1)
