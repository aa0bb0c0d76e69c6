"""Reads the audit log. Users see their own calls, administrators those of the tenant."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import Field

from pecia.kernel.errors import InvalidFormat, InvalidInput
from pecia.kernel.identity.caller import Scope
from pecia.kernel.store.audit.log import AuditLog
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.store import Store
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.former_names import current_tool_name, former_tool_names
from pecia.kernel.tool.model import AnyTool, Input, Output, Tool

SQL = load_queries("pecia.features.admin.tools", "audit_log.sql")
FEATURE = "admin"


class AuditEntryOut(Output):
    id: UUID
    at: datetime
    user: str | None
    tool: str
    interface: str
    arguments: dict[str, Any]
    sources: list[str]
    keys: list[str]
    row_count: int
    status: str
    code: str | None
    client_ip: str | None
    request_id: str | None
    duration_us: int | None


class AuditLogOut(Output):
    rows: list[AuditEntryOut]
    next_cursor: str | None = None


class ListAudit(Input):
    tool: str | None = Field(
        default=None, max_length=200, description="`search_content` or `lake.search_content`."
    )
    tools: list[Annotated[str, Field(max_length=200)]] | None = Field(
        default=None,
        min_length=1,
        max_length=100,
        description="Any of these, each named as in `tool`; in its place.",
    )
    user: str | None = Field(default=None, max_length=200)
    status: Literal["ok", "error", "denied", "cancelled", "crashed", "interrupted"] | None = None
    since: datetime | None = Field(default=None, description="Inclusive, RFC 3339.")
    until: datetime | None = Field(default=None, description="Exclusive, RFC 3339.")
    cursor: str | None = Field(default=None, max_length=100)
    limit: int = Field(default=50, ge=1, le=1000)


@dataclass(frozen=True, slots=True)
class AuditLogTools:
    """The handler over the audit log."""

    store: Store
    audit_log: AuditLog

    async def list_audit(self, call: Call, ask: ListAudit) -> AuditLogOut:
        """Who called what, when, with which outcome; newest first."""
        before_at, before_id = _decode_cursor(ask.cursor)
        tools = _asked_tools(ask)
        # Calls that ended before this one began must be in the answer.
        await self.audit_log.drain()
        async with self.store.reading(call.caller) as tx:
            found = await tx.fetch_all(
                SQL["audit"],
                tools=tools and [it for tool in tools for it in _all_names(tool)],
                short_names=[it for it in tools or () if "." not in it] or None,
                user=ask.user,
                status=ask.status,
                since=ask.since,
                until=ask.until,
                before_at=before_at,
                before_id=before_id,
                limit=ask.limit + 1,
            )
        page = [AuditEntryOut(**it) for it in found[: ask.limit]]
        more = len(found) > ask.limit
        last = page[-1] if page else None
        return AuditLogOut(
            rows=page, next_cursor=f"{last.at.isoformat()}~{last.id}" if more and last else None
        )


def audit_log_tools(store: Store, audit_log: AuditLog) -> tuple[AnyTool, ...]:
    """The one tool over the audit log."""
    it = AuditLogTools(store, audit_log)
    return (Tool(FEATURE, "list_audit", Scope.READ, ListAudit, AuditLogOut, it.list_audit),)


def _asked_tools(ask: ListAudit) -> list[str] | None:
    if ask.tool is None:
        return ask.tools
    if ask.tools is not None:
        raise InvalidInput(
            'give "tool" or "tools", not both; "tools" takes several',
            field="tools",
        )
    return [ask.tool]


def _all_names(tool: str) -> list[str]:
    """A tool's name and those it had before: old rows keep the name they were written under."""
    name = current_tool_name(tool)
    return [name, *former_tool_names(name)]


def _decode_cursor(cursor: str | None) -> tuple[datetime | None, UUID | None]:
    if cursor is None:
        return None, None
    at, _, id_ = cursor.partition("~")
    try:
        return datetime.fromisoformat(at), UUID(id_)
    except ValueError:
        raise InvalidFormat(
            'Field "cursor" is not a cursor of this tool', field="cursor", got=cursor
        ) from None
