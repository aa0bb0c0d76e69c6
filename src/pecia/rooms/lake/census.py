"""What became of the files of a source: how many were read, which were not, and why."""

from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from pecia.kernel.corpus import catalog
from pecia.kernel.errors import Forbidden, Json
from pecia.kernel.identity.caller import Scope
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.store import Store
from pecia.kernel.store.transaction import Transaction
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, Input, Output, Tool
from pecia.rooms.lake.condition import READ
from pecia.rooms.lake.names import SourceId
from pecia.rooms.lake.place import LONGEST_CURSOR, open_name, seal_name

SQL = load_queries("pecia.rooms.lake", "census.sql")
KEEPING_SQL = load_queries("pecia.rooms.lake", "keeping.sql")
ROOM = "office"
MOST_REASONS = 100

Unread = Literal["empty", "encrypted", "corrupt", "too_large", "timeout", "crashed", "unsupported"]


class SourceStats(Input):
    source_id: SourceId


class StatusOut(Output):
    status: str
    files: int
    chunks: int
    size: int


class ReasonOut(Output):
    status: str
    reason: str
    files: int


class StatsOut(Output):
    source_id: str
    files: int
    chunks: int
    size: int = Field(description="Of the originals, in bytes, as far as it is known.")
    indexed: int = Field(description="Files whose text is there.")
    unread_files: int = Field(description="Files that could not be read, as everywhere.")
    by_status: list[StatusOut]
    unread: list[ReasonOut] = Field(description="Why files were not read, the commonest first.")
    has_more_reasons: bool = Field(description="`list_unread` names every file.")


class ListUnread(Input):
    source_id: SourceId
    status: Unread | None = Field(default=None, description="Only these.")
    cursor: str | None = Field(
        default=None, max_length=LONGEST_CURSOR, description="From `next_cursor`."
    )
    limit: int = Field(default=50, ge=1, le=200)


class UnreadOut(Output):
    key: str
    status: str
    reason: str
    size: int | None


class UnreadsOut(Output):
    files: list[UnreadOut]
    next_cursor: str | None = None


@dataclass(frozen=True, slots=True)
class Census:
    """The handlers."""

    store: Store

    async def source_stats(self, call: Call, ask: SourceStats) -> StatsOut:
        """How many files of a source were read and how many were not, and why; chunks and bytes.
        For its owners."""
        async with self.store.reading(call.caller) as tx:
            await _require_owner(tx, ask.source_id)
            counted = await tx.all_as(StatusOut, SQL["census"], source_id=ask.source_id)
            reasons = await tx.all_as(
                ReasonOut, SQL["reasons"], source_id=ask.source_id, most=MOST_REASONS + 1
            )
        return StatsOut(
            source_id=ask.source_id,
            files=sum(it.files for it in counted),
            chunks=sum(it.chunks for it in counted),
            size=sum(it.size for it in counted),
            indexed=sum(it.files for it in counted if it.status in READ),
            unread_files=sum(it.files for it in counted if it.status not in (*READ, "waiting")),
            by_status=counted,
            unread=reasons[:MOST_REASONS],
            has_more_reasons=len(reasons) > MOST_REASONS,
        )

    async def list_unread(self, call: Call, ask: ListUnread) -> UnreadsOut:
        """Files of a source that could not be read, by key, each with the reason. For its owners.
        Page on with next_cursor."""
        asked: Json = ["list_unread", ask.source_id, ask.status]
        after = open_name(ask.cursor, asked)
        async with self.store.reading(call.caller) as tx:
            await _require_owner(tx, ask.source_id)
            found = await tx.all_as(
                UnreadOut,
                SQL["unread"],
                source_id=ask.source_id,
                status=ask.status,
                after=after,
                most=ask.limit + 1,
            )
        page = found[: ask.limit]
        call.returned(ask.source_id, [it.key for it in page])
        more = len(found) > ask.limit
        return UnreadsOut(files=page, next_cursor=seal_name(page[-1].key, asked) if more else None)


def census_tools(store: Store) -> tuple[AnyTool, ...]:
    it = Census(store)
    return (
        Tool(ROOM, "source_stats", Scope.READ, SourceStats, StatsOut, it.source_stats),
        Tool(ROOM, "list_unread", Scope.READ, ListUnread, UnreadsOut, it.list_unread),
    )


async def _require_owner(tx: Transaction, source_id: str) -> None:
    await catalog.get_source(tx, source_id)
    if not await tx.value(KEEPING_SQL["owns"], source_id=source_id):
        raise Forbidden(
            f"what became of the files of source {source_id!r} is for its owners and"
            " administrators",
            source_id=source_id,
        )
