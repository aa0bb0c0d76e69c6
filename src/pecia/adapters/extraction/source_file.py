"""The file on our side: opened, measured, and handed on as a descriptor. Never read."""

import os
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from pecia.adapters.extraction.model import MB
from pecia.adapters.extraction.status import ExtractionStatus
from pecia.kernel.errors import NotFound


@dataclass(frozen=True, slots=True)
class SourceRefusal:
    status: ExtractionStatus
    reason: str


class OpenSourceFile:
    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._before = _stat_mark(descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self.descriptor)

    def has_changed(self) -> bool:
        return _stat_mark(self.descriptor) != self._before


def open_source(source: Path | bytes, file_bytes: int) -> OpenSourceFile | SourceRefusal:
    """The file open for reading, or why it is not even opened."""
    size = len(source) if isinstance(source, bytes) else 0
    if size > file_bytes:
        return _too_large(size, file_bytes)
    if isinstance(source, bytes):
        return OpenSourceFile(_memory_file(source))
    try:
        # Without blocking: a pipe would wait for a writer that never comes.
        descriptor = os.open(source, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NotFound("the file is gone", name=source.name) from error
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        return SourceRefusal(ExtractionStatus.UNSUPPORTED, f"It cannot be opened: {why}.")
    return _check_file(descriptor, file_bytes)


def _check_file(descriptor: int, file_bytes: int) -> OpenSourceFile | SourceRefusal:
    found = os.fstat(descriptor)
    if stat.S_ISREG(found.st_mode) and found.st_size <= file_bytes:
        return OpenSourceFile(descriptor)
    os.close(descriptor)
    if stat.S_ISREG(found.st_mode):
        return _too_large(found.st_size, file_bytes)
    return SourceRefusal(
        ExtractionStatus.UNSUPPORTED, "It is a folder, a pipe or a device, and no file."
    )


def _too_large(size: int, file_bytes: int) -> SourceRefusal:
    return SourceRefusal(
        ExtractionStatus.TOO_LARGE,
        f"It has {size / MB:,.0f} MB; files of up to {file_bytes / MB:,.0f} MB are read.",
    )


def _memory_file(data: bytes) -> int:
    """The bytes as a file that has no name and is gone when closed."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("pecia")
    else:
        with tempfile.TemporaryFile() as nameless:
            descriptor = os.dup(nameless.fileno())
    waiting = memoryview(data)
    while waiting:
        waiting = waiting[os.write(descriptor, waiting) :]
    return descriptor


def _stat_mark(descriptor: int) -> tuple[int, int]:
    found = os.fstat(descriptor)
    return found.st_size, found.st_mtime_ns
