"""Pagination of long lists and texts, to fit one answer. Pure.

An answer has everything twice, as structured content and as text, and clients take events of at
most 1 MiB: a part is a good quarter of that as JSON.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from pecia.kernel.errors import InvalidFormat, Json, OutOfRange

MAX_ROWS = 1_000
MAX_PART_BYTES = 280_000


@dataclass(frozen=True, slots=True)
class RowsPage:
    """A page of rows, and the cursor of the next."""

    rows: list[dict[str, Json]]
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class TextPart:
    """Characters of a text, from `start` to `end` of `total`."""

    text: str
    start: int
    end: int
    total: int

    @property
    def next_offset(self) -> int | None:
        return self.end if self.end < self.total else None


def paginate_rows(rows: Sequence[dict[str, Json]], cursor: str | None, limit: int) -> RowsPage:
    """The page after a cursor. Rows are ordered by name, and a cursor names the last one returned:
    stable under inserts and deletes."""
    after = _decode_cursor(cursor) if cursor else None
    left = [it for it in rows if after is None or _key(it) > after]
    page = _fit(left, limit)
    is_last = len(page) == len(left)
    return RowsPage(page, None if is_last else _encode_key(_key(page[-1])))


def paginate_ranked(
    rows: Sequence[dict[str, Json]], keys: Sequence[str], cursor: str | None, limit: int
) -> RowsPage:
    """The page after a cursor, in the order of the rows, whatever that is.

    A cursor has the key and the position of the last row returned. Where rows came or went before
    it, the nearest row with its key counts: keys may repeat. Where that row is gone, the next one
    has its position.
    """
    start = _position_after(cursor, keys) if cursor else 0
    page = _fit(rows[start:], limit)
    end = start + len(page)
    return RowsPage(page, None if end >= len(rows) else _encode_key((keys[end - 1], str(end))))


def sort_rows(rows: list[dict[str, Json]]) -> list[dict[str, Json]]:
    """The rows in cursor order."""
    return sorted(rows, key=_key)


def slice_text(text: str, offset: int, limit: int | None = None) -> TextPart:
    """As much of the text from the offset as one answer holds, or as many characters as asked."""
    total = len(text)
    if offset > total:
        raise OutOfRange(
            f'Field "offset" is at most {total}, the length of this document in characters',
            field="offset",
            min=0,
            max=total,
            got=offset,
        )
    piece = text[offset : offset + min(limit or MAX_PART_BYTES, MAX_PART_BYTES)]
    while (size := len(orjson.dumps(piece))) > MAX_PART_BYTES:
        piece = piece[: min(len(piece) - 1, len(piece) * MAX_PART_BYTES // size)]
    return TextPart(piece, offset, offset + len(piece), total)


def _fit(rows: Sequence[dict[str, Json]], limit: int) -> list[dict[str, Json]]:
    """The first rows, as many as one answer holds; at least one, if there is one."""
    page: list[dict[str, Json]] = []
    size = 0
    for row in rows[:limit]:
        size += len(orjson.dumps(row))
        if page and size > MAX_PART_BYTES:
            break
        page.append(row)
    return page


def _key(row: dict[str, Json]) -> tuple[str, str]:
    return str(row["docName"]), str(row["kind"])


def _encode_key(key: tuple[str, str]) -> str:
    return urlsafe_b64encode(orjson.dumps(key)).decode()


def _position_after(cursor: str, keys: Sequence[str]) -> int:
    key, text = _decode_cursor(cursor)
    position = int(text) if text.isdecimal() and len(text) < 10 else 0
    same = [number for number, it in enumerate(keys, start=1) if it == key]
    return min(same, key=lambda it: abs(it - position), default=max(position - 1, 0))


def _decode_cursor(cursor: str) -> tuple[str, str]:
    try:
        match orjson.loads(urlsafe_b64decode(cursor)):
            case [str(name), str(kind)]:
                return name, kind
            case _:
                raise ValueError
    except ValueError:
        raise InvalidFormat(
            "this is not a valid cursor: use `nextCursor` of the previous page",
            field="cursor",
            got=cursor[:100],
        ) from None
