"""The connector interface: where the files of a source come from. Adapters implement it."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol, TypeAlias, runtime_checkable

MAX_KEY_BYTES = 2000
"""Of a key in UTF-8: an index of the store holds no more of it beside the source's name."""


@dataclass(frozen=True, slots=True)
class PosixAccess:
    """Who may read a file at its origin, by its mode bits.

    `above` are mode, owner and group of the folders on the way to it that not everybody may enter,
    from the root of the file system down.
    """

    mode: int
    uid: int
    gid: int
    above: tuple[tuple[int, int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A file as its origin lists it. With an equal stamp it need not be read again."""

    key: str
    stamp: str
    size_bytes: int | None = None
    modified_at: datetime | None = None
    content_type: str | None = None
    storage_class: str | None = None
    owner: str | None = None
    posix: PosixAccess | None = None


@dataclass(frozen=True, slots=True)
class SkippedFile:
    """A file that was skipped, and why.

    Where the place could not say for now, it is `unsure`: what was known of it stays. A file that
    was wanted and could not be taken is a failure: it counts as unread until it is gone or renamed.
    """

    key: str
    reason: str
    unsure: bool = False
    is_failure: bool = False


ListingEntry: TypeAlias = ListedFile | SkippedFile


def is_storable_key(key: str) -> bool:
    """Whether the store can hold a file by this key. One that it cannot would fail its batch."""
    try:
        size = len(key.encode())
    except UnicodeEncodeError:
        return False
    return 0 < size <= MAX_KEY_BYTES and "\0" not in key


@dataclass(frozen=True, slots=True)
class OriginalFile:
    """The bytes of a file, as a local file for as long as it is needed."""

    path: Path
    content_type: str | None = None


class Connector(Protocol):
    """One origin of files."""

    def listing(self) -> AsyncGenerator[ListingEntry]:
        """Everything there is, once each, in any order. A failure ends it with an error.

        Where something `unsure` was passed over, others may be missing that lie behind it.
        """
        ...

    def opening(self, key: str, most_bytes: int) -> AbstractAsyncContextManager[OriginalFile]:
        """One file's bytes; NotFound when it is gone, PayloadTooLarge past `most_bytes`."""
        ...


@runtime_checkable
class SupportsStatMany(Protocol):
    """An origin that can stat a few files without listing all."""

    async def stat_many(self, keys: Sequence[str]) -> list[ListingEntry]:
        """The files among these keys that exist and match; the others are gone."""
        ...
