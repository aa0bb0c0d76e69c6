"""The change log: which files changed, in the order of commits, and what an index needs of them.

For the processes that keep indexes, in system transactions. It never says who may see a file.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from pecia.kernel.errors import NotFound
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.transaction import Transaction

SQL = load_queries("pecia.kernel.corpus", "changelog.sql")

CHANNEL = "pecia_changes"
"""NOTIFY says on it that a tenant, its payload, has changes. It only wakes: the log is true."""

EMBEDDING_NODE_PREFIX = "embedding:"
"""How the names of nodes begin that embed. Nobody waits for them, but the log is kept for them."""

# A node that was not heard of for so long no longer keeps the log from being trimmed.
NODE_TTL_DAYS = 7
# One that was not heard of for so long is not there to be waited for.
NODE_ALIVE_MINUTES = 2


@dataclass(frozen=True, slots=True)
class ChangelogPosition:
    """How far a tenant's log is. Another `epoch` is another log: a copy of the database has one."""

    n: int
    trimmed: int
    epoch: UUID | None


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file that came, changed or went in the commit with this number."""

    n: int
    file_id: int


@dataclass(frozen=True, slots=True)
class ChangeBatch:
    """Whole commits, in order. `upto` is the number to go on from.

    `trimmed` says that the log does not hold what comes after the number asked for: it begins
    later, or is another log that has not come that far. Then only a rebuild helps.
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
    chunks: tuple[IndexChunk, ...]


@dataclass(frozen=True, slots=True)
class NodePosition:
    """How far one node's index of a tenant is."""

    node: str
    n: int
    seen_at: datetime


@dataclass(frozen=True, slots=True)
class NodeLag:
    """How far one tenant's index is, of how many commits."""

    tenant_id: UUID
    n: int
    of: int


async def current_position(tx: Transaction) -> int:
    """The number of the last commit in the caller's tenant, to be waited for by a search."""
    return await tx.fetch_value(SQL["clock"])


async def load_position(tx: Transaction, tenant_id: UUID) -> ChangelogPosition:
    """The same for the system, with where the log begins. NotFound when the tenant is gone."""
    found = await tx.fetch_all_as(ChangelogPosition, SQL["clock_of"], tenant_id=tenant_id)
    if not found:
        raise NotFound(f"no tenant {tenant_id}")
    return found[0]


async def load_positions(tx: Transaction) -> dict[UUID, int]:
    """Every tenant that ever had a change, and its last number."""
    return {row["tenant_id"]: row["n"] for row in await tx.fetch_all(SQL["clocks"])}


async def tail(tx: Transaction, tenant_id: UUID, after: int, limit: int) -> ChangeBatch:
    """What was committed after `after`: at least `limit` changes where there are that many.

    A commit is never split, so a great one makes a great batch.
    """
    # Asked first: what commits after it is in the next batch, or already in this one.
    now = await load_position(tx, tenant_id)
    if not now.trimmed <= after <= now.n:
        return ChangeBatch((), now.n, trimmed=True, epoch=now.epoch)
    asked = {"tenant_id": tenant_id, "after": after, "limit": limit}
    rows = await tx.fetch_all_as(FileChange, SQL["tail"], **asked)
    return ChangeBatch(tuple(rows), rows[-1].n if rows else after, trimmed=False, epoch=now.epoch)


async def list_file_ids(tx: Transaction, tenant_id: UUID, after: int, limit: int) -> list[int]:
    """The ids of files, in order, for who rebuilds an index from the beginning."""
    rows = await tx.fetch_all(SQL["files_after"], tenant_id=tenant_id, after=after, limit=limit)
    return [row["id"] for row in rows]


async def load_file_documents(
    tx: Transaction, tenant_id: UUID, file_ids: Sequence[int]
) -> list[FileDocuments]:
    """These files as they are now. Who is not among them is gone, or has gone from the tenant."""
    asked = {"tenant_id": tenant_id, "file_ids": [*file_ids]}
    chunks: dict[int, list[IndexChunk]] = defaultdict(list)
    files = await tx.fetch_all(SQL["documents"], **asked)
    for row in await tx.fetch_all(SQL["chunks"], **asked):
        chunks[row.pop("file_id")].append(_chunk(row))
    return [FileDocuments(**row, chunks=tuple(chunks[row["file_id"]])) for row in files]


async def record_applied(tx: Transaction, tenant_id: UUID, node: str, n: int) -> None:
    """Say that this node's index holds everything up to `n`."""
    await tx.execute(SQL["applied"], tenant_id=tenant_id, node=node, n=n)


async def list_nodes(tx: Transaction, tenant_id: UUID) -> list[NodePosition]:
    return await tx.fetch_all_as(NodePosition, SQL["nodes"], tenant_id=tenant_id)


async def load_applied(tx: Transaction, tenant_id: UUID, node: str) -> int | None:
    """How far this node said it is; None when it never did, or was given up."""
    return await tx.fetch_value(SQL["applied_by"], tenant_id=tenant_id, node=node)


async def measure_lag(tx: Transaction, tenant_id: UUID) -> int:
    """How many commits the slowest live keyword index has yet to apply."""
    asked = {
        "tenant_id": tenant_id,
        "minutes": NODE_ALIVE_MINUTES,
        "embedding": EMBEDDING_NODE_PREFIX,
    }
    return await tx.fetch_value(SQL["lag"], **asked)


async def list_lagging(tx: Transaction, node: str) -> list[NodeLag]:
    """The tenants whose index on this node lacks commits."""
    return await tx.fetch_all_as(NodeLag, SQL["behind"], node=node)


async def trim(tx: Transaction) -> None:
    """Forget, in every tenant, what all nodes have applied, and nodes that are long gone."""
    await tx.execute(SQL["forget_nodes"], days=NODE_TTL_DAYS)
    await tx.execute(SQL["trim"])


def _chunk(row: dict[str, Any]) -> IndexChunk:
    row["headings"] = tuple(row["headings"])
    return IndexChunk(**row)
