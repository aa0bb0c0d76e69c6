"""How sources are, from the state of their files and of their last crawl together."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.transaction import Transaction

SQL = load_queries("pecia.features.lake", "source_status.sql")

SourceState: TypeAlias = Literal[
    "never_crawled", "crawling", "failed", "stopped", "incomplete", "up_to_date"
]
READ = ("ok", "empty")
"""The statuses of files that have been read: one that is empty has no more to read."""
SILENT_S = 12.0
"""A worker says that it lives every few seconds."""
STATUS_DESCRIPTION = (
    "Of the source, by its files: up_to_date; incomplete, when files could not be read; crawling, "
    "failed, stopped or never_crawled."
)


@dataclass(frozen=True, slots=True)
class SourceStatus:
    """`unread` are the files that could not be read, in all and not by the last crawl alone."""

    source_id: str
    condition: SourceState
    unread: int
    problem: str

    @property
    def note(self) -> str:
        """What somebody who looks should do, if anything."""
        if self.unread:
            files = "1 file" if self.unread == 1 else f"{self.unread} files"
            return f"{files} could not be read: pecia source unread {self.source_id}"
        return ""


async def worker_warning(tx: Transaction) -> str | None:
    """What to tell where no worker answers, and so no source is known to be up to date."""
    silent_s: float | None = await tx.fetch_value(SQL["worker_silence"])
    if silent_s is not None and silent_s <= SILENT_S:
        return None
    heard = "no worker runs" if silent_s is None else f"no worker has answered for {silent_s:.0f} s"
    return f"{heard}: changed files are not noticed and crawls wait; see `pecia doctor`"


async def load_source_statuses(tx: Transaction, sources: Sequence[str]) -> dict[str, SourceStatus]:
    """Of those that the caller owns. What others are is for their owners."""
    rows = await tx.fetch_all_as(SourceStatus, SQL["condition"], sources=[*sources])
    return {it.source_id: it for it in rows}
