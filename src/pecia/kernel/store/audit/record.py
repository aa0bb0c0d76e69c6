"""The audit record of one call: what is known at its start, and what it adds while running."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias
from uuid import UUID

from psycopg.types.json import Jsonb

from pecia.kernel.errors import Json
from pecia.kernel.redaction import redact
from pecia.kernel.redaction.values import redact_name, replace_unstorable
from pecia.kernel.store.audit.arguments import bound_arguments

MAX_KEYS = 200

AuditStatus: TypeAlias = Literal["ok", "error", "denied", "cancelled", "crashed", "interrupted"]


@dataclass(slots=True)
class AuditRecord:
    """Exactly one audit row comes of it, however the call ends."""

    id: UUID
    tool: str
    door: str
    tenant_id: UUID | None = None
    user_id: UUID | None = None
    credential_id: UUID | None = None
    arguments: Mapping[str, Json] = field(default_factory=dict[str, Json])
    client_ip: str | None = None
    request_id: str | None = None
    at: datetime = field(default_factory=lambda: datetime.now(UTC))
    sources: list[str] = field(default_factory=list[str])
    keys: list[str] = field(default_factory=list[str])
    row_count: int = 0
    is_written: bool = False

    def __post_init__(self) -> None:
        """Redacted here and nowhere else, so that no secret gets into the audit log."""
        self.tool = redact_name(self.tool)
        self.arguments = bound_arguments(self.arguments)
        if self.request_id is not None:
            self.request_id = replace_unstorable(redact(self.request_id))

    def record_returned(self, source: str, keys: Sequence[str]) -> None:
        """Record what was returned. The count is exact; the list of keys is bounded."""
        if source not in self.sources:
            self.sources.append(source)
        self.row_count += len(keys)
        self.keys.extend(keys[: max(0, MAX_KEYS - len(self.keys))])


def build_audit_row(trace: AuditRecord, status: AuditStatus) -> dict[str, Any]:
    """The row as it stands inside the call's own transaction: how long it took is not known yet."""
    return {
        "id": trace.id,
        "tenant_id": trace.tenant_id,
        "at": trace.at,
        "user_id": trace.user_id,
        "credential_id": trace.credential_id,
        "tool": trace.tool,
        "door": trace.door,
        "arguments": Jsonb(trace.arguments),
        "sources": trace.sources,
        "keys": trace.keys,
        "row_count": trace.row_count,
        "status": status,
        "code": None,
        "client_ip": trace.client_ip,
        "request_id": trace.request_id,
        "duration_us": None,
    }
