"""Status of sources, from the state of their files and their last crawl."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from pecia.kernel.corpus.changelog import EMBEDDING_NODE_PREFIX, NODE_ALIVE_MINUTES
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.transaction import Transaction

SQL = load_queries("pecia.features.lake", "source_status.sql")

SourceState: TypeAlias = Literal[
    "never_crawled", "crawling", "failed", "stopped", "incomplete", "up_to_date", "no_worker"
]
NEEDS_WORKER = ("crawling", "up_to_date")
"""Conditions that hold only while a worker is alive."""
READ = ("ok", "empty")
"""Statuses of files that have been read; an empty file counts as read."""
SILENT_S = 12.0
"""The heartbeat of a worker, in seconds, with margin."""
STATUS_DESCRIPTION = (
    "Of the source, by its files: up_to_date; incomplete, when files could not be read; crawling, "
    "failed, stopped or never_crawled; no_worker, when nothing runs that would notice changes."
)


@dataclass(frozen=True, slots=True)
class SourceStatus:
    """`unread` are the files that could not be read, in all, not only by the last crawl."""

    source_id: str
    condition: SourceState
    unread: int
    problem: str

    @property
    def note(self) -> str:
        """What the user should do, if anything."""
        if self.unread:
            files = "1 file" if self.unread == 1 else f"{self.unread} files"
            return f"{files} could not be read: pecia source unread {self.source_id}"
        return ""


async def worker_warning(tx: Transaction) -> str | None:
    """A warning if no worker is alive, so that no source is known to be up to date."""
    silent_s: float | None = await tx.fetch_value(SQL["worker_silence"])
    if silent_s is not None and silent_s <= SILENT_S:
        return None
    problem = (
        "no worker runs" if silent_s is None else f"no worker has answered for {silent_s:.0f} s"
    )
    return f"{problem}: changed files are not noticed and crawls wait; see `pecia doctor`"


async def measure_index_lag(tx: Transaction) -> int:
    """How many commits the slowest keyword index of the caller's tenant has yet to apply."""
    which = {"minutes": NODE_ALIVE_MINUTES, "embedding": EMBEDDING_NODE_PREFIX}
    return await tx.fetch_value(SQL["index_lag"], **which)


async def load_source_statuses(tx: Transaction, sources: Sequence[str]) -> dict[str, SourceStatus]:
    """The status of the sources that the caller owns; others' are not shown."""
    rows = await tx.fetch_all_as(SourceStatus, SQL["condition"], sources=[*sources])
    if await worker_warning(tx) is not None:
        rows = [
            replace(it, condition="no_worker") if it.condition in NEEDS_WORKER else it
            for it in rows
        ]
    return {it.source_id: it for it in rows}
