"""Structured logs: one line a record, to stderr and optionally a file.

Every record has an `action`; a request is one record. Stdout belongs to the protocol and is never
written. Callers pass no secrets and no document text; `redact` is the last resort, not the rule.
"""

import json
import logging
import math
import os
import re
import sys
import time
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any, TextIO, cast

from pecia.kernel.errors import Cancelled, InternalError, InvalidInput, Json, PeciaError
from pecia.kernel.redaction import REDACTED, is_secret_name, redact
from pecia.kernel.settings.kernel import KernelSettings

MAX_FIELD_CHARS = 1_000
MAX_SCANNED_CHARS = 8_000
"""Of a field: what is cut off must not leave half of a secret that no rule knows any more."""
MAX_TRACEBACK_CHARS = 20_000

_request_id: ContextVar[str | None] = ContextVar("request_id", default=None)


@contextmanager
def configure_logging(
    settings: KernelSettings, *, stream: TextIO | None = None, process: str = ""
) -> Generator[None]:
    """Send every record of this process where the settings say, until the block ends.

    A second process of one home names itself in `process` and so gets a log file of its own: two
    processes that rotate one file lose lines.
    """
    root, ours = logging.getLogger(), logging.getLogger("pecia")
    handlers, root_level, our_level = root.handlers[:], root.level, ours.level
    with ExitStack() as stack:
        made = _handlers(settings, stream or sys.stderr, process)
        for handler in made:
            stack.callback(handler.close)
        root.handlers[:] = made
        # Libraries log URLs at info: only their warnings are kept.
        root.setLevel(logging.INFO if settings.log_level == "debug" else logging.WARNING)
        ours.setLevel(settings.log_level.upper())
        try:
            yield
        finally:
            root.handlers[:] = handlers
            root.setLevel(root_level)
            ours.setLevel(our_level)


class Log:
    """The logger of one module. Actions are dotted words: `store.opened`."""

    def __init__(self, name: str) -> None:
        self._logger = logging.getLogger(name)

    def debug(self, action: str, **fields: Json) -> None:
        self.emit(logging.DEBUG, action, fields)

    def info(self, action: str, **fields: Json) -> None:
        self.emit(logging.INFO, action, fields)

    def warning(self, action: str, **fields: Json) -> None:
        self.emit(logging.WARNING, action, fields)

    def error(self, action: str, **fields: Json) -> None:
        self.emit(logging.ERROR, action, fields)

    def failure(self, action: str, error: BaseException, **fields: Json) -> None:
        """An error with its traceback, where it is handled and nowhere else."""
        self.emit(logging.ERROR, action, fields, error)

    def emit(
        self,
        level: int,
        action: str,
        fields: Mapping[str, Json],
        error: BaseException | None = None,
    ) -> None:
        """The one way to a record."""
        extra = {"action": action, "fields": fields}
        self._logger.log(level, "", extra=extra, exc_info=error)


@dataclass(slots=True)
class RequestRecord:
    """The record of a request that is still running."""

    action: str
    fields: dict[str, Json] = field(default_factory=dict[str, Json])
    error: BaseException | None = None
    is_routine: bool = False
    """A frequent probe: logged only when it fails, or at debug level."""

    def note(self, **fields: Json) -> None:
        """Add fields known later: principal, tool, rows."""
        self.fields.update(fields)

    def fail(self, error: BaseException) -> None:
        """For a failure that is returned, not raised. A raised one is recorded anyway."""
        self.error = error


@contextmanager
def log_request(action: str, *, request_id: str) -> Generator[RequestRecord]:
    """One request, one record: written when the block ends, however it ends.

    Every other record of the block has the same request id.
    """
    line = RequestRecord(action)
    token = _request_id.set(request_id)
    started = time.perf_counter()
    try:
        yield line
    except BaseException as error:
        line.fail(error)
        raise
    finally:
        _write(line, took_ms=round((time.perf_counter() - started) * 1000, 3))
        _request_id.reset(token)


_BARE = re.compile(r"[\w./:@+\[\]-]+", re.ASCII)
_log = Log("pecia.request")


def _write(line: RequestRecord, *, took_ms: float) -> None:
    failure = _as_pecia(line.error)
    # An expected failure is logged by its code; only an unexpected one with a traceback.
    surprise = line.error if isinstance(failure, InternalError) else None
    status = "ok" if failure is None else failure.code.name
    fields: dict[str, Json] = {**line.fields, "status": status, "took_ms": took_ms}
    quiet = line.is_routine and failure is None
    _log.emit(logging.DEBUG if quiet else _log_level(failure), line.action, fields, surprise)


def _as_pecia(error: BaseException | None) -> PeciaError | None:
    if error is None or isinstance(error, PeciaError):
        return error
    # Not an Exception: cancellation or an interrupt.
    return InternalError("") if isinstance(error, Exception) else Cancelled("")


def _log_level(failure: PeciaError | None) -> int:
    if isinstance(failure, InternalError):
        return logging.ERROR
    return logging.WARNING if failure is not None and failure.code.http >= 500 else logging.INFO


def _record(record: logging.LogRecord) -> dict[str, Json]:
    """A record as plain data, cleaned; our own fields and those of any library alike."""
    attributes = record.__dict__
    when = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
    fixed: dict[str, Json] = {
        "time": when.replace("+00:00", "Z"),
        "level": record.levelname.lower(),
        "action": _clean(str(attributes.get("action", record.name))),
    }
    if (current := _request_id.get()) is not None:
        fixed["request_id"] = _clean(current)
    if message := record.getMessage():
        fixed["message"] = _clean(message)
    for name, value in cast(dict[str, Any], attributes.get("fields", {})).items():
        # A field that bears a name of ours is kept beside it.
        fixed[f"{name}_" if name in fixed else redact(name)] = _clean_field(name, value)
    return fixed


def _clean_field(name: str, value: Any) -> Json:
    return REDACTED if is_secret_name(name) else _clean(value)


def _clean(value: Any) -> Json:
    if value is None or isinstance(value, int):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, dict):
        pairs = cast(dict[str, Any], value).items()
        return {redact(str(name)): _clean_field(str(name), it) for name, it in pairs}
    if isinstance(value, list | tuple):
        return [_clean(it) for it in cast(list[Any], value)]
    return _shorten(redact(_shorten(str(value), MAX_SCANNED_CHARS)), MAX_FIELD_CHARS)


def _shorten(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[:longest]}… (+{len(text) - longest})"


class _Lines(logging.Formatter):
    def trace(self, record: logging.LogRecord) -> str:
        if not record.exc_info:
            return ""
        return _shorten(redact(self.formatException(record.exc_info)), MAX_TRACEBACK_CHARS)


class _JsonLines(_Lines):
    def format(self, record: logging.LogRecord) -> str:
        fields = _record(record)
        if trace := self.trace(record):
            fields["traceback"] = trace
        return json.dumps(fields, separators=(",", ":"))


class _TextLines(_Lines):
    def format(self, record: logging.LogRecord) -> str:
        fields = _record(record)
        when, level, action = (fields.pop(it) for it in ("time", "level", "action"))
        lead = f"{when} {str(level).upper():<7} {_word(action)}"
        words = (f"{_word(name)}={_word(value)}" for name, value in fields.items())
        # The indent keeps a forged line in an exception's message from passing for a record.
        trace = (f"\n  {_printable(it)}" for it in self.trace(record).splitlines())
        return " ".join((lead, *words)) + "".join(trace)


def _word(value: Json) -> str:
    if isinstance(value, str) and _BARE.fullmatch(value):
        return value
    return _printable(json.dumps(value, ensure_ascii=False))


def _printable(text: str) -> str:
    """Text that cannot break the line or drive a terminal."""
    return "".join(it if it.isprintable() else f"\\u{ord(it):04x}" for it in text)


def _handlers(settings: KernelSettings, stream: TextIO, process: str) -> list[logging.Handler]:
    made: list[logging.Handler] = [logging.StreamHandler(stream)]
    if settings.log_file is not None:
        own = f"{settings.log_file.stem}.{process}" if process else settings.log_file.stem
        made.append(_file(settings.log_file.with_stem(own), settings))
    for handler in made:
        handler.setFormatter(_JsonLines() if settings.log_format == "json" else _TextLines())
    return made


def _file(path: Path, settings: KernelSettings) -> logging.Handler:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return _PrivateFile(
            path, maxBytes=settings.log_file_max_bytes, backupCount=settings.log_files_kept
        )
    except OSError as error:
        raise InvalidInput(
            f"log_file: {path} cannot be written: {error.strerror}",
            field="log_file",
            expected="a file that can be written",
            got=str(path),
        ) from error


class _PrivateFile(RotatingFileHandler):
    """A log file that only its owner can read, from its first byte."""

    def _open(self) -> TextIOWrapper:
        descriptor = os.open(self.baseFilename, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        return os.fdopen(descriptor, "a", encoding="utf-8", errors="backslashreplace")
