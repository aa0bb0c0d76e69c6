"""Where a page starts: a cursor that fits one question and no other. Pure."""

import hashlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass

import orjson

from pecia.kernel.errors import InvalidFormat, Json

MOST = 10_000
"""Pages of hits end here; who needs more needs a narrower question."""

LONGEST_CURSOR = 12_000
"""A name in UTF-8 and base64, with its mark."""


@dataclass(frozen=True, slots=True)
class Place:
    offset: int = 0


def place_after(place: Place, shown: int) -> Place | None:
    """Where the next page starts; None where pages end."""
    offset = place.offset + shown
    return Place(offset) if offset <= MOST else None


def seal_place(place: Place, asked: Json) -> str:
    """The cursor. It carries a mark of the search, so that another one refuses it."""
    return _sealed(place.offset, asked)


def open_place(cursor: str | None, asked: Json) -> Place:
    """The place; an error where the cursor is not of this search."""
    if cursor is None:
        return Place()
    match _opened(cursor, asked):
        case int(offset) if 0 <= offset <= MOST:
            return Place(offset)
        case _:
            raise _not_ours(cursor)


def seal_name(name: str, asked: Json) -> str:
    """The cursor of a listing, which goes on after a name."""
    return _sealed(name, asked)


def open_name(cursor: str | None, asked: Json) -> str:
    """The name to go on after, empty at the beginning; an error as for a search."""
    if cursor is None:
        return ""
    match _opened(cursor, asked):
        case str(name):
            return name
        case _:
            raise _not_ours(cursor)


def _sealed(at: Json, asked: Json) -> str:
    return urlsafe_b64encode(orjson.dumps([at, _mark(asked)])).decode().rstrip("=")


def _opened(cursor: str, asked: Json) -> Json:
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        match orjson.loads(urlsafe_b64decode(padded)):
            case [at, str(mark)]:
                pass
            case _:
                raise ValueError
    except ValueError:
        raise _not_ours(cursor) from None
    if mark != _mark(asked):
        raise InvalidFormat(
            "this cursor belongs to another search: keep query, mode and filters as they were",
            field="cursor",
            got=cursor[:100],
            expected="next_cursor of the page before",
        )
    return at


def _not_ours(cursor: str) -> InvalidFormat:
    return InvalidFormat(
        "this cursor is none of ours",
        field="cursor",
        got=cursor[:100],
        expected="next_cursor of the page before",
    )


def _mark(asked: Json) -> str:
    body = orjson.dumps(asked, option=orjson.OPT_SORT_KEYS)
    return hashlib.blake2b(body, digest_size=8).hexdigest()
