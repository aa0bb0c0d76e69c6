"""Status of sources, from the state of their files and their last crawl."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from pecia.features.lake.model import parse_config
from pecia.kernel.corpus.changelog import EMBEDDING_NODE_PREFIX, NODE_ALIVE_MINUTES
from pecia.kernel.corpus.connector_kind import ConnectorRegistry
from pecia.kernel.errors import InvalidFormat, Json
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.store import Transaction

SQL = load_queries("pecia.features.lake", "source_status.sql")

SourceState: TypeAlias = Literal[
    "never_crawled",
    "crawling",
    "failed",
    "stopped",
    "incomplete",
    "indexing",
    "up_to_date",
    "no_worker",
]
NEEDS_WORKER = ("crawling", "indexing", "up_to_date")
"""Conditions that hold only while a worker is alive."""
READ = ("ok", "empty")
"""Statuses of files that have been read; an empty file counts as read."""
MAX_NAMED_SOURCES = 5
"""Named in a message; more are counted."""
SILENT_S = 12.0
"""The heartbeat of a worker, in seconds, with margin."""
LIVE_INDEXES = {"minutes": NODE_ALIVE_MINUTES, "embedding": EMBEDDING_NODE_PREFIX}
"""Parameters of queries: which indexes are waited for."""
STATUS_DESCRIPTION = (
    "Of the source, by its files: up_to_date; incomplete, when files could not be read; indexing, "
    "when keyword search does not find all that was crawled yet; crawling, failed, stopped or "
    "never_crawled; no_worker, when nothing runs that would notice changes."
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


async def measure_index_lag(tx: Transaction, source_id: str) -> int:
    """How many commits the slowest keyword index has yet to apply until it finds what the last
    crawl of a source read; while one runs, until it finds all."""
    return await tx.fetch_value(SQL["index_lag"], source_id=source_id, **LIVE_INDEXES)


async def load_source_statuses(tx: Transaction, sources: Sequence[str]) -> dict[str, SourceStatus]:
    """The status of the sources that the caller owns; others' are not shown."""
    rows = await tx.fetch_all_as(SourceStatus, SQL["condition"], sources=[*sources], **LIVE_INDEXES)
    if await worker_warning(tx) is not None:
        rows = [
            replace(it, condition="no_worker") if it.condition in NEEDS_WORKER else it
            for it in rows
        ]
    return {it.source_id: it for it in rows}


async def list_crawl_notes(
    tx: Transaction, found: Sequence[Mapping[str, Any]], kinds: ConnectorRegistry
) -> tuple[str, ...]:
    """Notes for owners and administrators where files may be missing from an answer, because
    these sources are being crawled or never were."""
    soon = await worker_warning(tx) or "search again shortly"
    crawling = [str(it["source_id"]) for it in found if it["is_crawling"]]
    never = [it for it in found if not it["is_crawling"]]
    # The worker crawls what it watches without being asked.
    watched = [str(it["source_id"]) for it in never if _is_watched(it["config"], kinds)]
    others = [str(it["source_id"]) for it in never if it["source_id"] not in watched]
    not_yet = ("has not been crawled yet", "have not been crawled yet")
    notes = (
        (crawling, ("is being crawled", "are being crawled"), soon),
        (watched, not_yet, soon),
        (others, not_yet, f"crawl with `pecia source crawl {''.join(others[:1])}`"),
    )
    return tuple(
        f"{name_sources(those)} {verbs[len(those) > 1]}, so that files may be missing here: {what}"
        for those, verbs, what in notes
        if those
    )


def _is_watched(config: dict[str, Json], kinds: ConnectorRegistry) -> bool:
    try:
        parsed = parse_config(config)
    except InvalidFormat:
        # The worker says so in its log and leaves it alone; a search goes on.
        return False
    return parsed is not None and kinds.is_watched(parsed.origin)


def name_sources(them: Sequence[str]) -> str:
    named = ", ".join(repr(it) for it in them[:MAX_NAMED_SOURCES])
    more = len(them) - MAX_NAMED_SOURCES
    subject = "the source" if len(them) == 1 else "the sources"
    return f"{subject} {named}" + (f" and {more} more" if more > 0 else "")
