"""Search and listing cursors, each bound to one query by a hash. Pure."""

import hashlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass

import orjson

from pecia.kernel.errors import InvalidFormat, Json

MAX_OFFSET = 10_000
"""Pagination ends here; narrow the query instead."""

MAX_CURSOR_CHARS = 12_000
"""A name in UTF-8 and base64, with its hash."""


@dataclass(frozen=True, slots=True)
class SearchCursor:
    offset: int = 0


def advance_cursor(position: SearchCursor, shown: int) -> SearchCursor | None:
    """The cursor of the next page; None at the end of pagination."""
    offset = position.offset + shown
    return SearchCursor(offset) if offset <= MAX_OFFSET else None


def encode_search_cursor(position: SearchCursor, scope: Json) -> str:
    """Encode the cursor with a hash of the query, so that another query refuses it."""
    return _encode(position.offset, scope)


def decode_search_cursor(cursor: str | None, scope: Json) -> SearchCursor:
    """The decoded cursor; an error if it belongs to another query."""
    if cursor is None:
        return SearchCursor()
    match _decode(cursor, scope):
        case int(offset) if 0 <= offset <= MAX_OFFSET:
            return SearchCursor(offset)
        case _:
            raise _invalid_cursor(cursor)


def encode_name_cursor(name: str, scope: Json) -> str:
    """The cursor of a listing: the last name shown."""
    return _encode(name, scope)


def decode_name_cursor(cursor: str | None, scope: Json) -> str:
    """The last name shown, empty on the first page; an error as for a search."""
    if cursor is None:
        return ""
    match _decode(cursor, scope):
        case str(name):
            return name
        case _:
            raise _invalid_cursor(cursor)


def _encode(at: Json, scope: Json) -> str:
    return urlsafe_b64encode(orjson.dumps([at, _scope_hash(scope)])).decode().rstrip("=")


def _decode(cursor: str, scope: Json) -> Json:
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        match orjson.loads(urlsafe_b64decode(padded)):
            case [at, str(mark)]:
                pass
            case _:
                raise ValueError
    except ValueError:
        raise _invalid_cursor(cursor) from None
    if mark != _scope_hash(scope):
        raise InvalidFormat(
            "this cursor is of another search: keep query, mode and filters as they were",
            field="cursor",
            got=cursor[:100],
            expected="next_cursor of the previous page",
        )
    return at


def _invalid_cursor(cursor: str) -> InvalidFormat:
    return InvalidFormat(
        "this is not a valid cursor",
        field="cursor",
        got=cursor[:100],
        expected="next_cursor of the previous page",
    )


def _scope_hash(scope: Json) -> str:
    body = orjson.dumps(scope, option=orjson.OPT_SORT_KEYS)
    return hashlib.blake2b(body, digest_size=8).hexdigest()
