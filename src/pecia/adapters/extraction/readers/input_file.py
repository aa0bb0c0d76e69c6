"""A file as a reader sees it, and what a reader gives back. The bytes are read once."""

import ctypes
import mmap
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import TracebackType
from typing import BinaryIO, Self

from pecia.adapters.extraction.status import ExtractionStatus
from pecia.adapters.extraction.wire import About, OutlineHeading
from pecia.kernel.text.canonical import RawUnit, UnitKind
from pecia.kernel.text.charset import DecodedText, decode_any

# A small file is copied, so that one that shrinks under our hands does no harm.
_COPIED_BYTES = 32_000_000
_BLOCK_BYTES = 8_000_000
_CHARSET = re.compile(r"""(?i)\bcharset\s*=\s*["']?([\w.:-]{1,40})""")


class UnreadableFile(Exception):
    """A file that a reader will not or cannot read, and why, in words for people."""

    def __init__(self, status: ExtractionStatus, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


@dataclass(frozen=True, slots=True)
class ReaderResult:
    """What is known of a file, then its units, read as they are asked for.

    A reader adds to `notes` and `headings` while it reads.
    """

    about: About
    units: Iterable[RawUnit]
    notes: list[str] = field(default_factory=list[str])
    headings: list[OutlineHeading] = field(default_factory=list[OutlineHeading])

    def with_units(self, units: Iterable[RawUnit]) -> "ReaderResult":
        return replace(self, units=units)


class InputFile:
    """An open file under the name it was found with; the name is a hint and no more."""

    def __init__(self, descriptor: int, name: str, content_type: str) -> None:
        self._descriptor = descriptor
        self.name = name
        kind, _, parameters = content_type.partition(";")
        self.content_type = kind.strip().lower()
        found = _CHARSET.search(parameters)
        self.charset = found[1].lower() if found else ""
        dot = name.rfind(".", 1)
        self.extension = name[dot + 1 :].lower() if dot > 0 else ""
        self.size_bytes = os.fstat(descriptor).st_size

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # The map is let go by the garbage collector: a library may still point into it.
        os.close(self._descriptor)

    @cached_property
    def head(self) -> bytes:
        """The first bytes, enough to tell what it is."""
        return os.pread(self._descriptor, 65_536, 0)

    @cached_property
    def data(self) -> bytes:
        """All of it, copied."""
        pieces: list[bytes] = []
        at = 0
        while piece := os.pread(self._descriptor, _BLOCK_BYTES, at):
            pieces.append(piece)
            at += len(piece)
        return b"".join(pieces)

    @cached_property
    def text(self) -> DecodedText:
        """All of it as text, whatever the bytes are: for files whose kind is known already."""
        return decode_any(self.data, self.charset)

    def stream(self) -> BinaryIO:
        """For a library that seeks."""
        stream = os.fdopen(os.dup(self._descriptor), "rb")
        stream.seek(0)
        return stream

    def buffer(self) -> "bytes | ctypes.Array[ctypes.c_char]":
        """All of it for a library that reads here and there; a large file stays on the disk."""
        if self.size_bytes <= _COPIED_BYTES:
            return self.data
        mapped = mmap.mmap(self._descriptor, self.size_bytes, access=mmap.ACCESS_COPY)
        return (ctypes.c_char * self.size_bytes).from_buffer(mapped)


def one_section(text: str, label: str = "") -> list[RawUnit]:
    """The whole file as one unit: its text stays as it is."""
    return [RawUnit(1, UnitKind.SECTION, text, label)]
