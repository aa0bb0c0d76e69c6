"""Audit lines on disk before they are rows: two appends a call, which survive `kill -9` of Pecia.

Each process appends to a file of its own and holds a lock on it. A file nobody holds was left by
a process that died: what it began and never ended is `interrupted`. No database is known here.
"""

import errno
import fcntl
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

import orjson

from pecia.kernel.errors import Json
from pecia.kernel.logs import Log
from pecia.kernel.store.audit.record import AuditRecord
from pecia.kernel.store.audit.status import AuditStatus

SEGMENT_SUFFIX = ".audit"
DAMAGED_FILE = "damaged"
PROBE_BYTES = 4096

_log = Log(__name__)


class AuditSpool:
    """The file of this process. Appending is one system call; the kernel keeps it if we die."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._segment = _new_segment(folder)

    def begin(self, trace: AuditRecord) -> None:
        """A call started. Written before anything is done."""
        self._append(
            {
                "begin": trace.id,
                "at": trace.at,
                "tenant_id": trace.tenant_id,
                "user_id": trace.user_id,
                "credential_id": trace.credential_id,
                "tool": trace.tool,
                "interface": trace.interface,
                "arguments": trace.arguments,
                "client_ip": trace.client_ip,
                "request_id": trace.request_id,
            }
        )

    def end(
        self, trace: AuditRecord, status: AuditStatus, code: str | None, duration_us: int
    ) -> None:
        """A call ended, in whichever way."""
        self._append(
            {
                "end": trace.id,
                "status": status,
                "code": code,
                "sources": trace.sources,
                "keys": trace.keys,
                "row_count": trace.row_count,
                "duration_us": duration_us,
            }
        )

    def append_record(self, record: dict[str, Json]) -> None:
        """Write a begin again to the newest file, before its old one is removed."""
        self._append(record)

    def rotate(self) -> "SpoolSegment | None":
        """Go on in a new file. The old one is ours to drain; None if it was empty."""
        if os.fstat(self._segment.file).st_size == 0:
            return None
        full, self._segment = self._segment, _new_segment(self.folder)
        return full

    def close(self) -> None:
        """Close. An empty file is removed; one with lines is adopted by the next process."""
        if os.fstat(self._segment.file).st_size == 0:
            self._segment.discard()
        else:
            os.close(self._segment.file)

    def require_room(self) -> None:
        """An OSError where the next line would find none. Calls are refused then, so that none of
        them would find out when there is room again."""
        probe = self._segment.path.with_suffix(".probe")
        try:
            probe.write_bytes(b"\n" * PROBE_BYTES)
        finally:
            with suppress(OSError):
                probe.unlink(missing_ok=True)

    def _append(self, line: dict[str, Any]) -> None:
        data = _encode(line)
        if os.write(self._segment.file, data) != len(data):
            # Half a line would swallow the next one.
            size = os.fstat(self._segment.file).st_size
            os.ftruncate(self._segment.file, size - measure_torn_line(self._segment.path))
            raise OSError(errno.ENOSPC, "a line of the audit log was cut short")


def measure_torn_line(path: Path) -> int:
    """How many bytes follow the last whole line."""
    content = path.read_bytes()
    return len(content) - (content.rfind(b"\n") + 1)


def _encode(line: dict[str, Any]) -> bytes:
    """One line of JSON that PostgreSQL will take: it refuses NUL signs and lone surrogates."""
    try:
        data = orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE)
    except TypeError:
        text = json.dumps(line, ensure_ascii=False, default=str)
        data = text.encode("utf-8", "replace") + b"\n"
    return data.replace(b"\\u0000", b"\\ufffd")


@dataclass(frozen=True, slots=True)
class SpoolSegment:
    """One file of lines, locked by the process that wrote it until its rows are in the database."""

    path: Path
    file: int

    def discard(self) -> None:
        self.path.unlink(missing_ok=True)
        os.close(self.file)


def _new_segment(folder: Path) -> SpoolSegment:
    path = folder / f"{os.getpid()}-{uuid4().hex}{SEGMENT_SUFFIX}"
    # Locked before it has its name: without a lock, others would take it for abandoned.
    unnamed = path.with_suffix(".new")
    file = os.open(unnamed, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL, 0o600)
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    unnamed.rename(path)
    return SpoolSegment(path, file)


def list_segments(folder: Path) -> list[Path]:
    """Every file of lines. Its process may remove one at any moment."""
    return [it for it in sorted(folder.glob(f"*{SEGMENT_SUFFIX}")) if not _is_foreign(it)]


def list_foreign(folder: Path) -> list[Path]:
    """What has the name of a file of lines and is none: a folder, a pipe. Left as it is."""
    return [it for it in sorted(folder.glob(f"*{SEGMENT_SUFFIX}")) if _is_foreign(it)]


def _is_foreign(path: Path) -> bool:
    return path.exists() and not path.is_file()


def find_abandoned(folder: Path) -> Iterator[Path]:
    """Files whose process is gone."""
    for path in list_segments(folder):
        # Its process may be done with it, and another may adopt it, while we look.
        with suppress(BlockingIOError, FileNotFoundError):
            with path.open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield path


def read_records(paths: list[Path]) -> list[dict[str, Json]]:
    """One record a call, ended or not, in the order they began. A torn last line is no line.

    A damaged line, such as the blocks of zeros that a power loss leaves, is set aside in the
    folder's `damaged` file: one of them must not keep the others, or a server, waiting.
    """
    begun: dict[str, dict[str, Json]] = {}
    for line in _lines(paths):
        if "begin" in line:
            begun[str(line["begin"])] = {**line, **begun.pop(str(line["begin"]), {})}
        else:
            begun[str(line["end"])] = {**begun.pop(str(line["end"]), {}), **line}
    return list(begun.values())


def quarantine_lines(folder: Path, lines: Sequence[bytes]) -> None:
    """Keep what cannot become a row in the `damaged` file, and log it."""
    path = folder / DAMAGED_FILE
    with path.open("ab") as file:
        os.fchmod(file.fileno(), 0o600)
        file.writelines(line if line.endswith(b"\n") else line + b"\n" for line in lines)
    _log.warning("audit.damaged_lines", count=len(lines), kept_in=str(path))


def _lines(paths: list[Path]) -> Iterator[dict[str, Json]]:
    for path in paths:
        damaged: list[bytes] = []
        for line in _content(path).splitlines(keepends=True):
            if not line.endswith(b"\n"):
                continue
            if (record := _record(line)) is not None:
                yield record
            elif line.strip(b"\0\n"):
                damaged.append(line)
        if damaged:
            quarantine_lines(path.parent, damaged)


def _content(path: Path) -> bytes:
    """What is left in a file; another process may have adopted it, and then it has its rows."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""


def _record(line: bytes) -> dict[str, Json] | None:
    """A line as it was written; None for one that was not. Zeros before it are no part of it."""
    try:
        found: Any = orjson.loads(line.lstrip(b"\0"))
    except ValueError:
        return None
    if not isinstance(found, dict):
        return None
    record = cast(dict[str, Json], found)
    return record if "begin" in record or "end" in record else None
