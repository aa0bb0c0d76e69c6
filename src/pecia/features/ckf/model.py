"""Input of a compiler. Plain values: the caller has fetched and checked them."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeAlias

from pecia.features.ckf.package.model import NO_DATE
from pecia.kernel.identity.caller import Caller


@dataclass(frozen=True, slots=True)
class SourceText:
    """One text and its metadata. Without a `language` the compiler detects it.

    `stored_language` is the store's value: used only where detection fails, so that the same text
    gives the same package wherever it is read.
    """

    text: str
    title: str = ""
    uri: str = ""
    language: str | None = None
    author: str = ""
    filename: str = ""
    revision: str = ""
    stored_language: str = ""


@dataclass(frozen=True, slots=True)
class CompileOptions:
    """`created_at` is an input, so that the same text gives the same bytes on any day."""

    source_type: str = "article"
    compression_level: str = "standard"
    created_at: str = NO_DATE


def today() -> str:
    """The date for `created_at`. Not the time: a text gives the same bytes all day."""
    return f"{datetime.now(UTC).date().isoformat()}T00:00:00Z"


ReadSource: TypeAlias = Callable[[Caller, str], Awaitable[SourceText]]
"""Reads the text of a URI under the caller's rights, or NotFound."""
