"""Ingest results of a source: how many files were read, which were not, and why."""

from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from pecia.features.lake.core.cursor import MAX_CURSOR_CHARS, decode_name_cursor, encode_name_cursor
from pecia.features.lake.model import SourceId, parse_config
from pecia.features.lake.source_status import READ, load_source_statuses
from pecia.kernel.corpus.catalog import catalog
from pecia.kernel.errors import Forbidden, InvalidFormat, Json
from pecia.kernel.identity.caller import Scope
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.store import Store, Transaction
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, Input, Output, Tool

SQL = load_queries("pecia.features.lake", "source_status.sql")
SOURCES_SQL = load_queries("pecia.features.lake.tools", "sources.sql")
CRAWL_SQL = load_queries("pecia.features.lake.crawl", "queries.sql")
FEATURE = "admin"
MAX_REASONS = 100

UnreadStatus = Literal[
    "empty", "encrypted", "corrupt", "too_large", "timeout", "crashed", "unsupported", "skipped"
]


class SourceStats(Input):
    source_id: SourceId


class StatusCountOut(Output):
    status: str
    files: int
    chunks: int
    size: int


class ReasonCountOut(Output):
    status: str
    reason: str
    files: int


class SourceRulesOut(Output):
    """How it is trimmed, crawled and searched: what `set_source` changes."""

    trim_mode: str
    enabled: bool
    include: list[str]
    exclude: list[str]
    most_bytes: int
    schedule: str | None
    hybrid: bool


class SourceStatsOut(Output):
    source_id: str
    files: int
    chunks: int
    size: int = Field(description="Of the originals, in bytes, as far as known.")
    indexed: int = Field(description="Files with indexed text.")
    embedded: int | None = Field(
        description="Chunks that search by meaning finds already; null where there is none."
    )
    unread_files: int = Field(description="Files that could not be read.")
    by_status: list[StatusCountOut]
    unread: list[ReasonCountOut] = Field(
        description="Why files were not read, most frequent first."
    )
    has_more_reasons: bool = Field(description="`list_unread` names every file.")
    rules: SourceRulesOut | None = Field(
        description="What set_source changes; null where another toolset manages the source."
    )


class ListUnread(Input):
    source_id: SourceId
    status: UnreadStatus | None = Field(default=None, description="Only these.")
    cursor: str | None = Field(
        default=None, max_length=MAX_CURSOR_CHARS, description="From `next_cursor`."
    )
    limit: int = Field(default=50, ge=1, le=200)


class UnreadFileOut(Output):
    key: str
    status: str
    reason: str
    size: int | None


class UnreadFilesOut(Output):
    files: list[UnreadFileOut]
    next_cursor: str | None = None


@dataclass(frozen=True, slots=True)
class SourceStatsTools:
    """The handlers."""

    store: Store
    model: str | None
    """The embedder's; None without one."""

    async def source_stats(self, call: Call, ask: SourceStats) -> SourceStatsOut:
        """How many files of a source were read and how many were not, and why; chunks and bytes.
        For its owners."""
        async with self.store.reading(call.caller) as tx:
            await _require_owner(tx, ask.source_id)
            counted = await tx.fetch_all_as(StatusCountOut, SQL["census"], source_id=ask.source_id)
            reasons = await tx.fetch_all_as(
                ReasonCountOut, SQL["reasons"], source_id=ask.source_id, most=MAX_REASONS + 1
            )
            embedded = await self._count_embedded(tx, ask.source_id)
            known = (await load_source_statuses(tx, [ask.source_id])).get(ask.source_id)
            rules = await _load_rules(tx, ask.source_id)
        return SourceStatsOut(
            source_id=ask.source_id,
            files=sum(it.files for it in counted),
            chunks=sum(it.chunks for it in counted),
            size=sum(it.size for it in counted),
            indexed=sum(it.files for it in counted if it.status in READ),
            embedded=embedded,
            unread_files=known.unread if known else 0,
            by_status=counted,
            unread=reasons[:MAX_REASONS],
            has_more_reasons=len(reasons) > MAX_REASONS,
            rules=rules,
        )

    async def _count_embedded(self, tx: Transaction, source_id: str) -> int | None:
        if self.model is None:
            return None
        return await tx.fetch_value(SQL["embedded"], source_id=source_id, model=self.model)

    async def list_unread(self, call: Call, ask: ListUnread) -> UnreadFilesOut:
        """Files of a source that could not be read, by key, each with the reason. For its owners.
        Page on with next_cursor."""
        asked: Json = ["list_unread", ask.source_id, ask.status]
        after = decode_name_cursor(ask.cursor, asked)
        async with self.store.reading(call.caller) as tx:
            await _require_owner(tx, ask.source_id)
            found = await tx.fetch_all_as(
                UnreadFileOut,
                SQL["unread"],
                source_id=ask.source_id,
                status=ask.status,
                after=after,
                most=ask.limit + 1,
            )
        page = found[: ask.limit]
        call.record_returned(ask.source_id, [it.key for it in page])
        more = len(found) > ask.limit
        return UnreadFilesOut(
            files=page, next_cursor=encode_name_cursor(page[-1].key, asked) if more else None
        )


async def _load_rules(tx: Transaction, source_id: str) -> SourceRulesOut | None:
    source = await catalog.get_source(tx, source_id)
    missing = f"no source {source_id!r}"
    row = await tx.fetch_one(CRAWL_SQL["config"], missing, source_id=source_id)
    try:
        config = parse_config(row["config"])
    except InvalidFormat:
        # Its crawl says so; the figures are true all the same.
        return None
    if config is None:
        return None
    return SourceRulesOut(
        trim_mode=source.trim_mode,
        enabled=source.enabled,
        include=[*config.include],
        exclude=[*config.exclude],
        most_bytes=config.most_bytes,
        schedule=config.schedule,
        hybrid=config.hybrid,
    )


def source_stats_tools(store: Store, model: str | None) -> tuple[AnyTool, ...]:
    it = SourceStatsTools(store, model)
    return (
        Tool(FEATURE, "source_stats", Scope.READ, SourceStats, SourceStatsOut, it.source_stats),
        Tool(FEATURE, "list_unread", Scope.READ, ListUnread, UnreadFilesOut, it.list_unread),
    )


async def _require_owner(tx: Transaction, source_id: str) -> None:
    await catalog.get_source(tx, source_id)
    if not await tx.fetch_value(SOURCES_SQL["owns"], source_id=source_id):
        raise Forbidden(
            f"the file statistics of source {source_id!r} are for its owners and administrators",
            source_id=source_id,
        )
