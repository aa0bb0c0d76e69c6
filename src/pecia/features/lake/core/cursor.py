"""Where a page starts: a cursor that fits one question and no other. Pure."""

import hashlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass

import orjson

from pecia.kernel.errors import InvalidFormat, Json

MAX_OFFSET = 10_000
"""Pages of hits end here; who needs more needs a narrower question."""

MAX_CURSOR_CHARS = 12_000
"""A name in UTF-8 and base64, with its mark."""


@dataclass(frozen=True, slots=True)
class SearchCursor:
    offset: int = 0


def advance_cursor(place: SearchCursor, shown: int) -> SearchCursor | None:
    """Where the next page starts; None where pages end."""
    offset = place.offset + shown
    return SearchCursor(offset) if offset <= MAX_OFFSET else None


def encode_search_cursor(place: SearchCursor, asked: Json) -> str:
    """The cursor. It carries a mark of the search, so that another one refuses it."""
    return _encode(place.offset, asked)


def decode_search_cursor(cursor: str | None, asked: Json) -> SearchCursor:
    """The place; an error where the cursor is not of this search."""
    if cursor is None:
        return SearchCursor()
    match _decode(cursor, asked):
        case int(offset) if 0 <= offset <= MAX_OFFSET:
            return SearchCursor(offset)
        case _:
            raise _invalid_cursor(cursor)


def encode_name_cursor(name: str, asked: Json) -> str:
    """The cursor of a listing, which goes on after a name."""
    return _encode(name, asked)


def decode_name_cursor(cursor: str | None, asked: Json) -> str:
    """The name to go on after, empty at the beginning; an error as for a search."""
    if cursor is None:
        return ""
    match _decode(cursor, asked):
        case str(name):
            return name
        case _:
            raise _invalid_cursor(cursor)


def _encode(at: Json, asked: Json) -> str:
    return urlsafe_b64encode(orjson.dumps([at, _scope_hash(asked)])).decode().rstrip("=")


def _decode(cursor: str, asked: Json) -> Json:
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        match orjson.loads(urlsafe_b64decode(padded)):
            case [at, str(mark)]:
                pass
            case _:
                raise ValueError
    except ValueError:
        raise _invalid_cursor(cursor) from None
    if mark != _scope_hash(asked):
        raise InvalidFormat(
            "this cursor belongs to another search: keep query, mode and filters as they were",
            field="cursor",
            got=cursor[:100],
            expected="next_cursor of the page before",
        )
    return at


def _invalid_cursor(cursor: str) -> InvalidFormat:
    return InvalidFormat(
        "this cursor is none of ours",
        field="cursor",
        got=cursor[:100],
        expected="next_cursor of the page before",
    )


def _scope_hash(asked: Json) -> str:
    body = orjson.dumps(asked, option=orjson.OPT_SORT_KEYS)
    return hashlib.blake2b(body, digest_size=8).hexdigest()
