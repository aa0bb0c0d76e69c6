"""The audit log: a spool in front of the audit table, drained in batches. One row a call."""

import time
from contextlib import suppress
from pathlib import Path

import anyio
import anyio.to_thread
import orjson
from psycopg.types.json import Jsonb

from pecia.kernel.errors import Json, PeciaError
from pecia.kernel.store.audit.spool import (
    AuditSpool,
    SpoolSegment,
    find_abandoned,
    list_segments,
    quarantine_lines,
    read_records,
)
from pecia.kernel.store.pg_errors import is_value_rejected
from pecia.kernel.store.store import SQL, Store

ROWS_PER_BATCH = 500


class AuditLog:
    """Calls are recorded in its spool, which never waits for the database; this drains it."""

    def __init__(self, store: Store, folder: Path) -> None:
        self._store = store
        self.spool = AuditSpool(folder)
        self._full_segments: list[SpoolSegment] = []
        self._drain_lock = anyio.Lock()
        self.drained_at = time.monotonic()
        """When the spool was last seen empty of finished calls."""

    async def drain_forever(self, *, every_s: float) -> None:
        """Drain until cancelled. If the database is down, the spool waits."""
        while True:
            await anyio.sleep(every_s)
            with suppress(PeciaError):
                await self.drain()

    async def recover_abandoned(self) -> int:
        """Write the calls of dead processes. Returns how many."""
        async with self._drain_lock:
            found = await anyio.to_thread.run_sync(lambda: [*find_abandoned(self.spool.folder)])
            left = [
                it for it in await anyio.to_thread.run_sync(read_records, found) if "begin" in it
            ]
            await self._insert_batches(left)
            for path in found:
                path.unlink(missing_ok=True)
            return len(left)

    async def drain(self) -> None:
        """Write every ended call. Those still running move to the newest file."""
        async with self._drain_lock:
            if full := self.spool.rotate():
                self._full_segments.append(full)
            if self._full_segments:
                await self._drain_segments()
            self.drained_at = time.monotonic()

    def backlog_bytes(self) -> int:
        """The bytes spooled on disk."""
        waiting = 0
        for path in list_segments(self.spool.folder):
            # Another process of this home may remove its own file at any moment.
            with suppress(FileNotFoundError):
                waiting += path.stat().st_size
        return waiting

    async def close(self) -> None:
        with suppress(PeciaError):
            await self.drain()
        self.spool.close()

    async def _drain_segments(self) -> None:
        found = await anyio.to_thread.run_sync(
            read_records, [it.path for it in self._full_segments]
        )
        await self._insert_batches([it for it in found if "begin" in it and "end" in it])
        for half in found:
            if "end" not in half or "begin" not in half:
                self.spool.append_record(half)
        for segment in self._full_segments:
            segment.discard()
        self._full_segments = []

    async def _insert_batches(self, rows: list[dict[str, Json]]) -> None:
        for start in range(0, len(rows), ROWS_PER_BATCH):
            batch = rows[start : start + ROWS_PER_BATCH]
            try:
                await self._insert(batch)
            except PeciaError as error:
                if not is_value_rejected(error):
                    raise
                await self._insert_each(batch)

    async def _insert_each(self, rows: list[dict[str, Json]]) -> None:
        """One by one: a record that no row can hold is set aside, and keeps no other waiting."""
        for row in rows:
            try:
                await self._insert([row])
            except PeciaError as error:
                if not is_value_rejected(error):
                    raise
                quarantine_lines(self.spool.folder, [orjson.dumps(row)])

    async def _insert(self, rows: list[dict[str, Json]]) -> None:
        async with self._store.system() as tx:
            await tx.execute(SQL["settle_audit"], records=Jsonb(rows))
