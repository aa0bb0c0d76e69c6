"""The audit record of one call: what is known at its start, and what it adds while running.

Its arguments are bounded and storable, and hold no secrets.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import orjson
from psycopg.types.json import Jsonb

from pecia.kernel.errors import Json
from pecia.kernel.redaction import redact, redact_value
from pecia.kernel.redaction.values import measure_depth, redact_name, replace_unstorable
from pecia.kernel.store.audit.status import AuditStatus

MAX_KEYS = 200
MAX_TEXT = 500
MAX_BYTES = 2_000
MAX_DEPTH = 128
"""Containers in each other. Every encoder and validator on the way takes more than this."""
MAX_SCANNED_CHARS = 8_000
"""Signs of a text: what is cut off must leave no half of a secret that no rule knows any more."""


@dataclass(slots=True)
class AuditRecord:
    """Exactly one audit row comes of it, however the call ends."""

    id: UUID
    tool: str
    interface: str
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
        "interface": trace.interface,
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


def bound_arguments(arguments: Mapping[str, Json]) -> dict[str, Json]:
    """Each argument as it came, long ones cut and marked, secrets replaced."""
    # As one object: a name may say that a value is a secret, or which program gets the flags.
    found = redact_value({name: _bound(it) for name, it in arguments.items()})
    assert isinstance(found, dict)
    return found


def is_too_deep(value: Json) -> bool:
    """Whether it is nested deeper than any argument may be."""
    return isinstance(value, dict | list) and measure_depth(value, MAX_DEPTH) > MAX_DEPTH


def _bound(value: Json) -> Json:
    if isinstance(value, str):
        if len(value) <= MAX_TEXT:
            return value
        return f"{redact(value[:MAX_SCANNED_CHARS])[:MAX_TEXT]}… ({len(value)} characters)"
    if not isinstance(value, dict | list):
        return value
    if is_too_deep(value):
        return f"(JSON nested deeper than {MAX_DEPTH} levels)"
    size = _size(value)
    return value if size <= MAX_BYTES else f"({size} bytes of JSON)"


def _size(value: Json) -> int:
    try:
        return len(orjson.dumps(value))
    except TypeError:
        # Larger than 64 bits, or half of a surrogate pair: the slower one writes both.
        return len(json.dumps(value, default=str, ensure_ascii=False))
