"""Syncs files with live documents, in both directions.

Any process that finds a file behind may do it: it reads only the store and the disk.
"""

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias
from uuid import UUID

import anyio
from anyio.to_thread import run_sync

from pecia.features.wiki.core.document import decode_utf8
from pecia.features.wiki.history.history import VersionDraft
from pecia.features.wiki.live.copies import DocumentFiles, remove_stranded
from pecia.features.wiki.live.core.debounce import FlushKind
from pecia.features.wiki.live.file_swap import FileSwap, SwapStep
from pecia.features.wiki.live.limits import MAX_STATE_RATIO
from pecia.features.wiki.live.store import SQL, LiveRow, SystemLiveRows
from pecia.features.wiki.space_recovery import SpaceRecovery
from pecia.features.wiki.storage import disk
from pecia.features.wiki.storage.roots import SpaceRoots
from pecia.features.wiki.store import SpaceLocation
from pecia.kernel.errors import PayloadTooLarge, PeciaError, Unavailable, Unprocessable
from pecia.kernel.logs import Log
from pecia.kernel.store.store import Store

_log = Log(__name__)

MAX_RETRIES = 200
"""A program that writes constantly is waited for, and each of its writes is a step."""
RETRY_DELAY_S = 0.05
DRAIN_TIMEOUT_S = 2.0
"""How long a stop waits for programs that have a replaced file open."""
MAX_REPLACED = 1_000
"""How many are remembered for that: older ones were read by a worker since."""
FILE_BEHIND = "a program has it open; what it still writes is put into the file at the next start"

LiveKey: TypeAlias = tuple[SpaceLocation, str]


@dataclass(frozen=True, slots=True)
class LiveFlusher:
    """Runs as the system: serves no caller, and checks no right."""

    recovery: SpaceRecovery
    roots: SpaceRoots | None = None
    _replaced: dict[LiveKey, None] = field(default_factory=dict[LiveKey, None])
    """Documents of which this process left replaced files behind."""

    @property
    def store(self) -> Store:
        return self.recovery.store

    async def require_open(self, tenant_id: UUID, source_id: str, project: Path) -> Path:
        """The real path of a space's folder; refused if its tenant may no longer use it."""
        roots = self.roots or SpaceRoots(self.store)
        return await roots.resolve_source_folder(tenant_id, source_id, project)

    async def make_live(self, location: SpaceLocation, path: str, most_bytes: int) -> UUID:
        """Make a document live, unless it is; returns the id of its history.

        A history that has grown too long is reset here, while nobody has the document open.
        """
        await self.require_open(location.tenant_id, location.source_id, location.project)
        async with self.recovery.queue.turn(location), self.recovery.locked(location) as tx:
            rows = SystemLiveRows(tx, location)
            row = await rows.find(path)
            if row is not None and await _needs_reset(rows, row, most_bytes):
                await rows.end(path)
                row = None
            if row is not None and row.is_gone:
                await rows.revive(row)
            if row is None:
                text = _text(path, await run_sync(disk.read, location.root, path))
                _require_size(text, most_bytes)
                row = await rows.begin(path, text)
            await remove_stranded(location, await rows.load_live_ids())
            return row.id

    async def flush(
        self,
        location: SpaceLocation,
        path: str,
        kind: FlushKind = FlushKind.WRITE,
        *,
        restores: bool = False,
    ) -> None:
        """Update one document's file, unless it is current. A missing one is created only if it
        `restores`."""
        await self.require_open(location.tenant_id, location.source_id, location.project)
        exchange = FileSwap(DocumentFiles(location, path), kind, restores)
        left, step = MAX_RETRIES, SwapStep.AGAIN
        while left > 0:
            # One turn for all steps that follow each other: who comes next waits once.
            async with self.recovery.queue.turn(location):
                while step is not SwapStep.WAIT and left > 0:
                    step, left = await self._step(location, exchange), left - 1
                    self._note_copies(location, path, may_be_written=exchange.may_be_written)
                    if step is SwapStep.DONE:
                        return
            await anyio.sleep(RETRY_DELAY_S)
            step = SwapStep.AGAIN
        raise Unavailable(f"{path!r} keeps changing", path=path)

    async def flush_many(
        self, location: SpaceLocation, paths: Sequence[str], restored: Collection[str] = ()
    ) -> bool:
        """Several; whether all succeeded. A failure does not block the others: the edits are
        stored. Missing files are created of those that are `restored`."""
        are_done = True
        for path in paths:
            try:
                await self.flush(location, path, restores=path in restored)
            except PeciaError as error:
                _log.failure("wiki.flush", error)
                are_done = False
        return are_done

    async def flush_all(self, location: SpaceLocation, left_s: float = 0) -> bool:
        """Every document of the space whose file is behind, and that nobody changed for so long."""
        async with self.store.system() as tx:
            rows = await tx.fetch_all(SQL["unfiled"], seconds=left_s, **location.sql_params())
        keys = [it["key"] for it in rows if it["key"].startswith(location.prefix)]
        return await self.flush_many(location, [it.removeprefix(location.prefix) for it in keys])

    async def drain(self) -> None:
        """Before this process ends: put into the files what programs wrote to those that it
        replaced. Afterwards nobody reads them until the next start."""
        waiting, end = [*self._replaced], time.monotonic() + DRAIN_TIMEOUT_S
        while waiting and time.monotonic() < end:
            flushed = [it for it in waiting if await self.flush_many(it[0], [it[1]])]
            waiting = [it for it in flushed if it in self._replaced]
            if waiting:
                await anyio.sleep(RETRY_DELAY_S)

    def log_undrained(self) -> None:
        """Name the documents whose files may lack what programs write."""
        for location, path in self._replaced:
            _log.warning(
                "wiki.file_behind", path=path, space=location.source_id, reason=FILE_BEHIND
            )

    def _note_copies(self, location: SpaceLocation, path: str, *, may_be_written: bool) -> None:
        self._replaced.pop((location, path), None)
        if may_be_written:
            self._replaced[location, path] = None
        if len(self._replaced) > MAX_REPLACED:
            del self._replaced[next(iter(self._replaced))]

    async def _step(self, location: SpaceLocation, exchange: FileSwap) -> SwapStep:
        """One step, in a turn. Its versions are in history once its rows are committed."""
        versions, transaction = VersionDraft(self.recovery.history(location)), None
        async with self.recovery.locked(location) as tx:
            await self.recovery.settle(tx, location)
            step = await exchange.step(SystemLiveRows(tx, location), versions)
            if versions.prepared is not None:
                transaction = await self.recovery.begin(tx, location, versions.prepared)
        if transaction is not None:
            await self.recovery.finish_in_turn(location, transaction)
        return step


async def _needs_reset(rows: SystemLiveRows, row: LiveRow, most_bytes: int) -> bool:
    is_long = 2 * len(row.base) > MAX_STATE_RATIO * most_bytes
    return is_long and row.is_flushed and not await rows.copies(row)


def _text(path: str, body: bytes) -> str:
    text = decode_utf8(body)
    if text is None:
        raise Unprocessable(f"{path!r} is not UTF-8", path=path)
    return text


def _require_size(text: str, most_bytes: int) -> None:
    if len(text.encode()) > most_bytes:
        raise PayloadTooLarge(
            f"a live document has at most {most_bytes} bytes",
            field="doc",
            max=most_bytes,
        )
