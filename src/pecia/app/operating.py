"""What the operator of a cluster does, on the database itself: for nobody, and written down."""

import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from uuid import uuid4

from pecia.app.app import home_of, open_logins, parts
from pecia.kernel.errors import Json, PeciaError
from pecia.kernel.settings.kernel import KernelSettings
from pecia.kernel.store.audit import Ledger
from pecia.kernel.store.migrate import migrate
from pecia.kernel.store.store import SQL, PoolSize, Store
from pecia.kernel.store.trace import Status, Trace, audit_row
from pecia.kernel.store.transaction import Transaction


@asynccontextmanager
async def open_operating(
    settings: KernelSettings, *, who: str, report: Callable[[str], None]
) -> AsyncGenerator["Operating"]:
    """The database of these settings, up to date, for its operator. Makes no room, no tenant."""
    async with AsyncExitStack() as stack:
        logins = await stack.enter_async_context(open_logins(settings, report))
        await migrate(logins.owner, parts())
        store = Store(logins, app=PoolSize(most=1), system=PoolSize(most=2))
        await store.open()
        stack.push_async_callback(store.close)
        ledger = Ledger(store, home_of(settings) / "spool")
        stack.push_async_callback(ledger.close)
        yield Operating(store, ledger, who)


@dataclass(frozen=True, slots=True)
class Deed:
    """One act of an operator: a system transaction, and the trace that commits with it."""

    tx: Transaction
    trace: Trace


@dataclass(frozen=True, slots=True)
class Operating:
    """The operator's way to the database. `who` is whoever runs the command."""

    store: Store
    ledger: Ledger
    who: str
    door: str = "cli"

    @asynccontextmanager
    async def deed(self, verb: str, arguments: Mapping[str, Json]) -> AsyncGenerator[Deed]:
        """A transaction over every tenant. It leaves one audit row, like any call."""
        trace = Trace(uuid4(), verb, self.door, arguments={"operator": self.who, **arguments})
        self.ledger.begin(trace)
        started = time.perf_counter_ns()
        status: Status = "crashed"
        code: str | None = None
        try:
            async with self.store.system() as tx:
                yield Deed(tx, trace)
                await tx.run(SQL["add_audit"], **audit_row(trace, "ok"))
            status = "ok"
        except PeciaError as error:
            status, code = "error", error.code.name
            raise
        finally:
            self.ledger.end(trace, status, code, (time.perf_counter_ns() - started) // 1000)
