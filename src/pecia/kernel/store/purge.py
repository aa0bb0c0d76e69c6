"""What a purge erases. Every feature that stores data outside the database gets it."""

from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True, slots=True)
class PurgeTarget:
    """A tenant; with `user_id` one user of it; with `source_id` and `key` one file."""

    tenant_id: UUID
    user_id: UUID | None = None
    source_id: str | None = None
    key: str | None = None
