"""The change log: which files changed, in commit order, and what an index needs of them.

For index writers, in system transactions. It says nothing about rights.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from pecia.kernel.errors import NotFound
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.store import Transaction

SQL = load_queries("pecia.kernel.corpus", "changelog.sql")

CHANNEL = "pecia_changes"
"""NOTIFY channel; the payload is the tenant. It only wakes: the log itself is authoritative."""

EMBEDDING_NODE_PREFIX = "embedding:"
"""Prefix of embedding nodes' names. Searches do not wait for them; the log is kept for them."""

# A node silent for longer no longer holds back trimming.
NODE_TTL_DAYS = 7
# A node silent for longer is not waited for.
NODE_ALIVE_MINUTES = 2


@dataclass(frozen=True, slots=True)
class ChangelogPosition:
    """The position of a tenant's log. Another `epoch` is another log: a copy of the database."""

    n: int
    trimmed: int
    epoch: UUID | None


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file added, changed or removed in the commit with this number."""

    n: int
    file_id: int


@dataclass(frozen=True, slots=True)
class ChangeBatch:
    """Whole commits, in order. `upto` is the cursor to continue from.

    `trimmed` says that the log does not reach back to the requested number, or is another log
    that has not come that far. Then only a rebuild helps.
    """

    entries: tuple[FileChange, ...]
    upto: int
    trimmed: bool
    epoch: UUID | None

    @property
    def file_ids(self) -> list[int]:
        """Each file once, in the order of its last change."""
        return [*reversed(dict.fromkeys(it.file_id for it in reversed(self.entries)))]


@dataclass(frozen=True, slots=True)
class IndexChunk:
    id: int
    seq: int
    text: str
    prefix: str
    headings: tuple[str, ...]
    unit_label: str
    text_hash: str


@dataclass(frozen=True, slots=True)
class FileDocuments:
    """All that a keyword index needs of one file. A file that is gone has none of these."""

    file_id: int
    acl_id: int
    source_id: str
    key: str
    content_type: str | None
    modified_at: datetime | None
    title: str
    language: str
    authors: Sequence[str]
    chunks: tuple[IndexChunk, ...]


@dataclass(frozen=True, slots=True)
class NodeLag:
    """The position of one tenant's index, and the last commit."""

    tenant_id: UUID
    n: int
    of: int


async def load_position(tx: Transaction, tenant_id: UUID) -> ChangelogPosition:
    """The same for the system, with where the log begins. NotFound if the tenant is gone."""
    rows = await tx.fetch_all_as(ChangelogPosition, SQL["clock_of"], tenant_id=tenant_id)
    if not rows:
        raise NotFound(f"no tenant {tenant_id}")
    return rows[0]


async def load_positions(tx: Transaction) -> dict[UUID, int]:
    """Every tenant that ever had a change, and its last number."""
    return {row["tenant_id"]: row["n"] for row in await tx.fetch_all(SQL["clocks"])}


async def tail(tx: Transaction, tenant_id: UUID, after: int, limit: int) -> ChangeBatch:
    """What was committed after `after`: at least `limit` changes where there are that many.

    A commit is never split, so a large one makes a large batch.
    """
    # Read first: a later commit is in the next batch, or already in this one.
    now = await load_position(tx, tenant_id)
    if not now.trimmed <= after <= now.n:
        return ChangeBatch((), now.n, trimmed=True, epoch=now.epoch)
    parameters = {"tenant_id": tenant_id, "after": after, "limit": limit}
    rows = await tx.fetch_all_as(FileChange, SQL["tail"], **parameters)
    return ChangeBatch(tuple(rows), rows[-1].n if rows else after, trimmed=False, epoch=now.epoch)


async def list_file_ids(
    tx: Transaction, tenant_id: UUID, after: int, upto: int, limit: int
) -> list[int]:
    """The ids of files, in order, to rebuild an index."""
    rows = await tx.fetch_all(
        SQL["files_after"], tenant_id=tenant_id, after=after, upto=upto, limit=limit
    )
    return [row["id"] for row in rows]


async def load_file_documents(
    tx: Transaction, tenant_id: UUID, file_ids: Sequence[int]
) -> list[FileDocuments]:
    """These files as they are now. Missing ones were removed from the tenant."""
    parameters = {"tenant_id": tenant_id, "file_ids": [*file_ids]}
    chunks: dict[int, list[IndexChunk]] = defaultdict(list)
    files = await tx.fetch_all(SQL["documents"], **parameters)
    for row in await tx.fetch_all(SQL["chunks"], **parameters):
        chunks[row.pop("file_id")].append(_chunk(row))
    return [FileDocuments(**row, chunks=tuple(chunks[row["file_id"]])) for row in files]


async def record_applied(tx: Transaction, tenant_id: UUID, node: str, n: int) -> None:
    """Record that this node's index holds everything up to `n`."""
    await tx.execute(SQL["applied"], tenant_id=tenant_id, node=node, n=n)


async def forget_applied(tx: Transaction, tenant_id: UUID, node: str) -> None:
    """Record that this node has no index of the tenant."""
    await tx.execute(SQL["forget_applied"], tenant_id=tenant_id, node=node)


async def load_applied(tx: Transaction, tenant_id: UUID, node: str) -> int | None:
    """The position this node recorded; None if it never did, or expired."""
    return await tx.fetch_value(SQL["applied_by"], tenant_id=tenant_id, node=node)


async def measure_lag(tx: Transaction, tenant_id: UUID) -> int:
    """How many commits the slowest live keyword index has yet to apply."""
    parameters = {
        "tenant_id": tenant_id,
        "minutes": NODE_ALIVE_MINUTES,
        "embedding": EMBEDDING_NODE_PREFIX,
    }
    return await tx.fetch_value(SQL["lag"], **parameters)


async def list_lagging(tx: Transaction, node: str) -> list[NodeLag]:
    """The tenants whose index on this node lacks commits."""
    return await tx.fetch_all_as(NodeLag, SQL["behind"], node=node)


async def trim(tx: Transaction) -> None:
    """Drop, in every tenant, what all nodes have applied, and expired nodes."""
    await tx.execute(SQL["forget_nodes"], days=NODE_TTL_DAYS)
    await tx.execute(SQL["trim"])


def _chunk(row: dict[str, Any]) -> IndexChunk:
    row["headings"] = tuple(row["headings"])
    return IndexChunk(**row)
