"""What an index holds of one chunk, and what it finds of it. Pure."""

from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """One chunk, with what its file lends it. `id` is the chunk, `group` the file."""

    id: int
    group: int
    acl: int = 0
    source: str = ""
    key: str = ""
    content_type: str = ""
    modified_ms: int | None = None
    authors: tuple[str, ...] = ()
    language: str = ""
    title: str = ""
    headings: str = ""
    body: str = ""

    @property
    def mark(self) -> int:
        """A number of 63 bits that changes with anything of the entry but its class."""
        held = (
            self.group,
            self.source,
            self.key,
            self.content_type,
            self.modified_ms,
            self.authors,
            self.language,
            self.title,
            self.headings,
            self.body,
        )
        digest = blake2b(repr(held).encode("utf-8", "surrogatepass"), digest_size=8)
        return int.from_bytes(digest.digest()) >> 1

    def as_indexed(self) -> "IndexedChunk":
        """The entry as an index holds it."""
        return IndexedChunk(self.id, self.group, self.acl, self.mark)


class KeywordHit(NamedTuple):
    """A hit, with its ACL class as of the last indexing, and how many chunks its file has.

    A tuple, because a question makes hundreds: a dataclass takes four times as long.
    """

    id: int
    group: int
    score: float
    acl: int = 0
    chunks: int = 0


class TopHits(NamedTuple):
    """The best hits, best first; `is_all` says that there are no others."""

    hits: list[KeywordHit]
    is_all: bool


NO_HITS = TopHits([], is_all=True)


@dataclass(frozen=True, slots=True)
class IndexedChunk:
    """One chunk as the index holds it. Two indexes are equal when their sets of these are."""

    id: int
    group: int
    acl: int
    mark: int
