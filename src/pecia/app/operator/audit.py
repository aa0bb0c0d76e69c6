"""The audit rows of no tenant: requests refused before anybody was known, and operators' own."""

from pecia.app.operator.session import OperatorSession
from pecia.kernel.store.audit.status import AuditStatus
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.store import DictRow

SQL = load_queries("pecia.app.operator", "audit.sql")


async def list_cluster_audit(
    operating: OperatorSession, *, status: AuditStatus | None, limit: int
) -> list[DictRow]:
    """Newest first. Those of a tenant are its administrators' to read."""
    await operating.audit_log.recover_abandoned()
    async with operating.store.system() as tx:
        return await tx.fetch_all(SQL["cluster_audit"], status=status, limit=limit)
