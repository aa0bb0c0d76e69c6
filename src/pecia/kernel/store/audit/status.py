"""How an audited call ended. Apart, because the command line reads it without a database."""

from typing import Literal, TypeAlias

AuditStatus: TypeAlias = Literal["ok", "error", "denied", "cancelled", "crashed", "interrupted"]
