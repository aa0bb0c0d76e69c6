"""The words between the server and its children: orders one way, what was read the other. Pure.

Orders come in one message, each with its open file. Answers are JSON, each behind its length, so
that a child that floods or babbles is found out before anything is read into memory.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

import orjson

from pecia.adapters.extraction.status import Confinement, ExtractionStatus
from pecia.kernel.text.canonical import RawUnit, UnitKind, normalize

LENGTH_PREFIX_BYTES = 4
MAX_REQUEST_BYTES = 64_000
# Only the end of a name matters, and all orders of a message must fit it.
MAX_NAME_CHARS = 255
MAX_REQUESTS = 12


class MalformedFrame(Exception):
    """What came is no answer of ours."""


class OutputLimitExceeded(Exception):
    """More came than may come."""


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """Read the file that comes along: `count` of its units, from the one numbered `first`."""

    name: str
    content_type: str
    first: int
    count: int
    cpu_s: int


@dataclass(frozen=True, slots=True)
class Ready:
    """The child is up, with these walls around it."""

    confinement: Confinement


@dataclass(frozen=True, slots=True)
class OutlineHeading:
    """An entry of a document's own table of contents."""

    title: str
    level: int
    unit_no: int


@dataclass(frozen=True, slots=True)
class About:
    """What the reader knows of the whole file. It comes before the first unit."""

    content_type: str
    extractor: str
    version: str
    is_markdown: bool = False
    title: str = ""
    authors: tuple[str, ...] = ()
    date: str = ""
    language: str = ""
    unit_count: int = 0
    has_ranges: bool = False
    outline: tuple[OutlineHeading, ...] = ()
    notes: tuple[str, ...] = ()
    when_empty: str = "There is no text in it."


@dataclass(frozen=True, slots=True)
class Ending:
    """The last word on an order, from the child or about it."""

    status: ExtractionStatus
    reason: str
    language: str = ""
    notes: tuple[str, ...] = ()
    headings: tuple[OutlineHeading, ...] = ()


Message: TypeAlias = Ready | About | RawUnit | Ending


class FrameDecoder:
    """Bytes in, messages out, with a bound on all of them together."""

    def __init__(self, allowed_bytes: int) -> None:
        self._left = allowed_bytes
        self._waiting = bytearray()

    def allow(self, allowed_bytes: int) -> None:
        """The bound anew, for what another file brings; what came early counts."""
        self._left = allowed_bytes - len(self._waiting)

    def feed(self, piece: bytes) -> Iterator[Message]:
        self._left -= len(piece)
        if self._left < 0:
            raise OutputLimitExceeded
        self._waiting += piece
        while (frame := self._frame()) is not None:
            yield unpack(frame)

    def _frame(self) -> bytes | None:
        if len(self._waiting) < LENGTH_PREFIX_BYTES:
            return None
        end = LENGTH_PREFIX_BYTES + int.from_bytes(self._waiting[:LENGTH_PREFIX_BYTES], "big")
        if end - len(self._waiting) > self._left:
            raise OutputLimitExceeded
        if len(self._waiting) < end:
            return None
        frame = bytes(self._waiting[LENGTH_PREFIX_BYTES:end])
        del self._waiting[:end]
        return frame


def pack_requests(orders: Sequence[ReadRequest]) -> bytes:
    return json.dumps([asdict(it) for it in orders]).encode("ascii")


def unpack_requests(data: bytes) -> list[ReadRequest]:
    return [ReadRequest(**it) for it in json.loads(data)]


def pack(message: Message) -> bytes:
    """The message behind its length. Half a surrogate pair passes here, and is mended there."""
    named = [type(message).__name__, message]
    try:
        # A tenth of the time, but it takes no half of a surrogate pair.
        body = orjson.dumps(named)
    except TypeError:
        words = json.dumps([named[0], asdict(message)], ensure_ascii=False)
        body = words.encode("utf-8", "surrogatepass")
    return len(body).to_bytes(LENGTH_PREFIX_BYTES, "big") + body


def unpack(frame: bytes) -> Message:
    try:
        kind, fields = json.loads(frame.decode("utf-8", "surrogatepass"))
        return _PARSERS[kind](fields)
    # A child that was taken over may send anything that is JSON, or not even that.
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise MalformedFrame from error


def _ready(fields: dict[str, Any]) -> Ready:
    walls = fields["confinement"]
    return Ready(Confinement(bool(walls["memory"]), bool(walls["network"]), bool(walls["files"])))


def _unit(fields: dict[str, Any]) -> RawUnit:
    return RawUnit(
        _whole(fields["no"]),
        UnitKind(fields["kind"]),
        _text(fields["text"]),
        _line(fields["label"]),
        _moment(fields["ts_start_ms"]),
        _moment(fields["ts_end_ms"]),
    )


def _about(fields: dict[str, Any]) -> About:
    return About(
        content_type=_line(fields["content_type"]),
        extractor=_line(fields["extractor"]),
        version=_line(fields["version"]),
        is_markdown=bool(fields["is_markdown"]),
        title=_line(fields["title"]),
        authors=tuple(_line(it) for it in fields["authors"]),
        date=_line(fields["date"]),
        language=_line(fields["language"]),
        unit_count=_whole(fields["unit_count"]),
        has_ranges=bool(fields["has_ranges"]),
        outline=_headings(fields["outline"]),
        notes=tuple(_line(it) for it in fields["notes"]),
        when_empty=_line(fields["when_empty"]),
    )


def _read_ending(fields: dict[str, Any]) -> Ending:
    return Ending(
        ExtractionStatus(fields["status"]),
        _line(fields["reason"]),
        _line(fields["language"]),
        tuple(_line(it) for it in fields["notes"]),
        _headings(fields["headings"]),
    )


def _headings(found: list[dict[str, Any]]) -> tuple[OutlineHeading, ...]:
    return tuple(
        OutlineHeading(_line(it["title"]), _whole(it["level"]), _whole(it["unit_no"]))
        for it in found
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def _line(value: object) -> str:
    """One line that any store takes: white space is one blank, and nothing is half a character."""
    if not value:
        return _text(value)
    return " ".join(normalize(_text(value)).split())


def _whole(value: object) -> int:
    if not isinstance(value, int) or not 0 <= value < 2**31:
        raise TypeError(value)
    return value


def _moment(value: object) -> int | None:
    return None if value is None else _whole(value)


_PARSERS = {"Ready": _ready, "About": _about, "RawUnit": _unit, "Ending": _read_ending}
