"""A connector for Pecia: the files in a zip archive of this machine."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from mimetypes import guess_type
from pathlib import Path, PurePosixPath
from typing import BinaryIO
from zipfile import BadZipFile, ZipFile, ZipInfo

from anyio.to_thread import run_sync

from pecia.plugin import (
    ConnectorContext,
    ConnectorKind,
    Field,
    FileSelection,
    InvalidFormat,
    ListedFile,
    ListingEntry,
    LocalOrigin,
    NotFound,
    OriginalFile,
    OriginOptions,
    PayloadTooLarge,
    SkippedFile,
    Unprocessable,
    file_selection,
    is_storable_key,
    open_local_file,
    temp_file,
)

BLOCK_BYTES = 1 << 20


class ZipOrigin(LocalOrigin):
    """What is stored of a source."""

    path: str

    @property
    def local_path(self) -> PurePosixPath:
        return PurePosixPath(self.path)


class ZipOptions(OriginOptions):
    """The argument of `add_source`, and the flag of `pecia source add`."""

    zip: str | None = Field(default=None, max_length=4000, description="A zip archive's path.")

    def build_origin(self, source_id: str) -> ZipOrigin:
        path = PurePosixPath(self.zip or "")
        if not path.is_absolute() or ".." in path.parts:
            raise InvalidFormat(
                'Field "zip" must be an absolute path', field="zip", got=str(path)[:500]
            )
        return ZipOrigin(path=str(path))


@dataclass(frozen=True, slots=True)
class ZipConnector:
    """One archive, open. It stays the one that was allowed, whatever its path comes to mean."""

    archive: ZipFile
    selection: FileSelection

    async def listing(self) -> AsyncGenerator[ListingEntry]:
        for info in self.archive.infolist():
            if info.is_dir() or not self.selection.admits(info.filename):
                continue
            if not _is_plain(info.filename):
                yield SkippedFile(ascii(info.filename)[1:-1][:200], "the name is no plain path")
            elif info.flag_bits & 1:
                yield SkippedFile(info.filename, "it is encrypted")
            else:
                yield ListedFile(
                    info.filename,
                    stamp=f"{info.CRC:x}-{info.file_size:x}",
                    size_bytes=info.file_size,
                    content_type=guess_type(info.filename)[0],
                )

    @asynccontextmanager
    async def opening(self, key: str, most_bytes: int) -> AsyncGenerator[OriginalFile]:
        try:
            info = self.archive.getinfo(key)
        except KeyError:
            raise NotFound("the archive has no such file", key=key) from None
        async with temp_file(lambda path: self._unpack(info, path, most_bytes)) as path:
            yield OriginalFile(path)

    def _unpack(self, info: ZipInfo, path: Path, most_bytes: int) -> None:
        left = most_bytes
        with self.archive.open(info) as packed, path.open("wb") as file:
            while block := packed.read(BLOCK_BYTES):
                left -= len(block)
                if left < 0:
                    # What the archive says of its size is not trusted.
                    raise PayloadTooLarge(
                        f"the file is larger than {most_bytes} bytes", field="key", max=most_bytes
                    )
                file.write(block)


@asynccontextmanager
async def open_zip(origin: ZipOrigin, context: ConnectorContext) -> AsyncGenerator[ZipConnector]:
    file = await run_sync(_open, origin, context)
    try:
        archive = await run_sync(_read_directory, origin, file)
        yield ZipConnector(archive, file_selection(context))
    finally:
        file.close()


async def check_zip(origin: ZipOrigin, context: ConnectorContext) -> None:
    """Before the source is saved: is it there, allowed, and an archive?"""
    async with open_zip(origin, context):
        pass


def _open(origin: ZipOrigin, context: ConnectorContext) -> BinaryIO:
    return open_local_file(context, Path(origin.path), confined=origin.confined, field="zip")


def _read_directory(origin: ZipOrigin, file: BinaryIO) -> ZipFile:
    try:
        return ZipFile(file)
    except (BadZipFile, NotImplementedError) as error:
        raise Unprocessable(f"{origin.path} is not a zip archive: {error}", field="zip") from None


def _is_plain(name: str) -> bool:
    parts = name.split("/")
    return is_storable_key(name) and name.isprintable() and {"", ".", ".."}.isdisjoint(parts)


ZIP = ConnectorKind(
    "zip",
    "The files in a zip archive.",
    ZipOrigin,
    open_zip,
    options=ZipOptions,
    check=check_zip,
)
