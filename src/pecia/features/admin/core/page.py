"""Keyset pagination: a cursor is the last name of the previous page; not secret, not stored."""

from collections.abc import Sequence
from typing import Any

from pydantic import Field

from pecia.kernel.tool.model import Input


class PageInput(Input):
    cursor: str | None = Field(default=None, max_length=2000, description="From `next_cursor`.")
    limit: int = Field(default=50, ge=1, le=200)


class PageCursor:
    """The decoded cursor of a page."""

    @staticmethod
    def of(ask: PageInput) -> str:
        return ask.cursor or ""


def next_cursor(rows: Sequence[dict[str, Any]], limit: int, by: str) -> str | None:
    """The cursor of the next page, if one row more than the limit was returned."""
    return str(rows[limit - 1][by]) if len(rows) > limit else None
