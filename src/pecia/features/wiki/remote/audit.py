"""The audit row of a sync, which is no call: written with what the run says of itself.

A sync that found nothing to do leaves none: there is one every few minutes.
"""

import time
from dataclasses import dataclass, field
from uuid import UUID, uuid4

from pecia.features.wiki.remote.store import RemoteRun
from pecia.kernel.errors import Json
from pecia.kernel.store.audit.record import AuditRecord, build_audit_row
from pecia.kernel.store.audit.status import AuditStatus
from pecia.kernel.store.store import SQL, Transaction

TOOL = "admin.sync_space"
INTERFACE = "job"


@dataclass(frozen=True, slots=True)
class SyncAudit:
    """Of one run, and who asked for it, if anybody did."""

    run: RemoteRun
    user_id: UUID | None
    _begun: int = field(default_factory=time.perf_counter_ns)

    async def record_changes(self, tx: Transaction, pulled: int, pushed: int) -> None:
        if pulled or pushed:
            await self._record(tx, {"pulled": pulled, "pushed": pushed}, "ok", None)

    async def record_failure(self, tx: Transaction, code: str) -> None:
        await self._record(tx, {}, "error", code)

    async def _record(
        self, tx: Transaction, counts: dict[str, Json], status: AuditStatus, code: str | None
    ) -> None:
        arguments: dict[str, Json] = {"name": self.run.source_id, "url": self.run.url, **counts}
        record = AuditRecord(
            uuid4(), TOOL, INTERFACE, self.run.tenant_id, self.user_id, arguments=arguments
        )
        record.sources.append(self.run.source_id)
        ended = {"code": code, "duration_us": (time.perf_counter_ns() - self._begun) // 1000}
        await tx.execute(SQL["add_audit"], **{**build_audit_row(record, status), **ended})
