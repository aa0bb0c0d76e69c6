"""Operator access to the database: system transactions, audited."""

import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from uuid import uuid4

from pecia.app.app import ensure_home, migration_parts, open_logins
from pecia.kernel.errors import Json, PeciaError
from pecia.kernel.settings.kernel import KernelSettings
from pecia.kernel.store.audit.log import AuditLog
from pecia.kernel.store.audit.record import AuditRecord, build_audit_row
from pecia.kernel.store.audit.status import AuditStatus
from pecia.kernel.store.migrate import migrate
from pecia.kernel.store.store import SQL, PoolSize, Store, Transaction


@asynccontextmanager
async def open_operator_session(
    settings: KernelSettings, *, who: str, report: Callable[[str], None]
) -> AsyncGenerator["OperatorSession"]:
    """The database of these settings, up to date, for its operator. No features, no new tenant."""
    async with AsyncExitStack() as stack:
        logins = await stack.enter_async_context(open_logins(settings, report))
        await migrate(logins.owner, migration_parts())
        store = Store(logins, app=PoolSize(max_size=1), system=PoolSize(max_size=2))
        await store.open()
        stack.push_async_callback(store.close)
        audit_log = AuditLog(store, ensure_home(settings) / "spool")
        stack.push_async_callback(audit_log.close)
        yield OperatorSession(store, audit_log, who)


@dataclass(frozen=True, slots=True)
class OperatorTransaction:
    """One operator action: a system transaction, and the audit record that commits with it."""

    tx: Transaction
    trace: AuditRecord


@dataclass(frozen=True, slots=True)
class OperatorSession:
    """The operator's database session. `who` runs the command."""

    store: Store
    audit_log: AuditLog
    operator: str
    interface: str = "cli"

    @asynccontextmanager
    async def transaction(
        self, verb: str, arguments: Mapping[str, Json]
    ) -> AsyncGenerator[OperatorTransaction]:
        """A transaction over every tenant. It leaves one audit row, like any call."""
        trace = AuditRecord(
            uuid4(), verb, self.interface, arguments={"operator": self.operator, **arguments}
        )
        self.audit_log.spool.begin(trace)
        started = time.perf_counter_ns()
        status: AuditStatus = "crashed"
        code: str | None = None
        try:
            async with self.store.system() as tx:
                yield OperatorTransaction(tx, trace)
                await tx.execute(SQL["add_audit"], **build_audit_row(trace, "ok"))
            status = "ok"
        except PeciaError as error:
            status, code = "error", error.code.name
            raise
        finally:
            duration_us = (time.perf_counter_ns() - started) // 1000
            self.audit_log.spool.end(trace, status, code, duration_us)
