"""Where a page of hits starts: a cursor that fits one search and no other. Pure."""

import hashlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass

import orjson

from pecia.kernel.errors import InvalidFormat, Json

MOST = 10_000
"""Pages end here; who needs more needs a narrower question."""


@dataclass(frozen=True, slots=True)
class Place:
    offset: int = 0


def seal_place(place: Place, asked: Json) -> str:
    """The cursor. It carries a mark of the search, so that another one refuses it."""
    return urlsafe_b64encode(orjson.dumps([place.offset, _mark(asked)])).decode().rstrip("=")


def open_place(cursor: str | None, asked: Json) -> Place:
    """The place; an error where the cursor is not of this search."""
    if cursor is None:
        return Place()
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        match orjson.loads(urlsafe_b64decode(padded)):
            case [int(offset), str(mark)] if 0 < offset <= MOST:
                place = Place(offset)
            case _:
                raise ValueError
    except ValueError:
        raise InvalidFormat(
            "this cursor is none of ours", field="cursor", got=cursor[:100]
        ) from None
    if mark != _mark(asked):
        raise InvalidFormat(
            "this cursor belongs to another search: keep query, mode and filters as they were",
            field="cursor",
            got=cursor[:100],
        )
    return place


def _mark(asked: Json) -> str:
    body = orjson.dumps(asked, option=orjson.OPT_SORT_KEYS)
    return hashlib.blake2b(body, digest_size=8).hexdigest()
