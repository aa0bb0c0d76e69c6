"""The ledger: a spool in front of the audit table, drained in batches. One row a call."""

import time
from contextlib import suppress
from pathlib import Path

import anyio
import anyio.to_thread
import orjson
from psycopg.types.json import Jsonb

from pecia.kernel.errors import Json, PeciaError
from pecia.kernel.store.failures import refuses_value
from pecia.kernel.store.spool import SUFFIX, Segment, Spool, abandoned, records, set_aside
from pecia.kernel.store.store import SQL, Store
from pecia.kernel.store.trace import Status, Trace

BATCH = 500


class Ledger:
    """Where calls are written down. `begin` and `end` never wait for the database."""

    def __init__(self, store: Store, folder: Path) -> None:
        self._store = store
        self._spool = Spool(folder)
        self._full: list[Segment] = []
        self._draining = anyio.Lock()
        self.drained_at = time.monotonic()
        """When the spool was last seen empty of finished calls."""

    def begin(self, trace: Trace) -> None:
        self._spool.begin(trace)

    def end(self, trace: Trace, status: Status, code: str | None, duration_us: int) -> None:
        self._spool.end(trace, status, code, duration_us)

    async def keep_draining(self, *, every_s: float) -> None:
        """Drain for ever. A database that is away is not an error here: the spool waits."""
        while True:
            await anyio.sleep(every_s)
            with suppress(PeciaError):
                await self.drain()

    async def adopt(self) -> int:
        """Settle what dead processes left behind. Says how many calls that was."""
        async with self._draining:
            found = await anyio.to_thread.run_sync(lambda: [*abandoned(self._spool.folder)])
            left = [it for it in await anyio.to_thread.run_sync(records, found) if "begin" in it]
            await self._settle(left)
            for path in found:
                path.unlink(missing_ok=True)
            return len(left)

    async def drain(self) -> None:
        """Settle every call that has ended. Those still running are carried to the newest file."""
        async with self._draining:
            if full := self._spool.turn():
                self._full.append(full)
            if self._full:
                await self._empty()
            self.drained_at = time.monotonic()

    def backlog_bytes(self) -> int:
        """What waits on disk for the database."""
        waiting = 0
        for path in self._spool.folder.glob(f"*{SUFFIX}"):
            # Another process of this home may be done with its own at any moment.
            with suppress(FileNotFoundError):
                waiting += path.stat().st_size
        return waiting

    async def close(self) -> None:
        with suppress(PeciaError):
            await self.drain()
        self._spool.close()

    async def _empty(self) -> None:
        found = await anyio.to_thread.run_sync(records, [it.path for it in self._full])
        await self._settle([it for it in found if "begin" in it and "end" in it])
        for half in found:
            if "end" not in half or "begin" not in half:
                self._spool.carry(half)
        for segment in self._full:
            segment.discard()
        self._full = []

    async def _settle(self, rows: list[dict[str, Json]]) -> None:
        for start in range(0, len(rows), BATCH):
            batch = rows[start : start + BATCH]
            try:
                await self._insert(batch)
            except PeciaError as error:
                if not refuses_value(error):
                    raise
                await self._insert_each(batch)

    async def _insert_each(self, rows: list[dict[str, Json]]) -> None:
        """One by one: a record that no row can hold is set aside, and keeps no other waiting."""
        for row in rows:
            try:
                await self._insert([row])
            except PeciaError as error:
                if not refuses_value(error):
                    raise
                set_aside(self._spool.folder, [orjson.dumps(row)])

    async def _insert(self, rows: list[dict[str, Json]]) -> None:
        async with self._store.system() as tx:
            await tx.run(SQL["settle_audit"], records=Jsonb(rows))
