"""Syncs files with live documents, in both directions.

Any process that finds a file behind may do it: it reads only the store and the disk.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import anyio
from anyio.to_thread import run_sync

from pecia.features.wiki.core.document import decode_utf8
from pecia.features.wiki.history.history import VersionDraft
from pecia.features.wiki.live.copies import DocumentFiles, remove_stranded
from pecia.features.wiki.live.file_swap import FileSwap, SwapStep
from pecia.features.wiki.live.limits import MAX_STATE_RATIO
from pecia.features.wiki.live.store import SQL, LiveRow, SystemLiveRows
from pecia.features.wiki.space_recovery import SpaceRecovery
from pecia.features.wiki.storage import disk
from pecia.features.wiki.storage.roots import SpaceRoots
from pecia.features.wiki.store import SQL as WIKI
from pecia.features.wiki.store import SpaceLocation
from pecia.kernel.errors import PayloadTooLarge, PeciaError, Unavailable, Unprocessable
from pecia.kernel.logs import Log
from pecia.kernel.store.store import Store

_log = Log(__name__)

MAX_RETRIES = 200
"""A program that writes constantly is waited for, and each of its writes is a step."""
RETRY_DELAY_S = 0.05


@dataclass(frozen=True, slots=True)
class LiveFlusher:
    """Runs as the system: serves no caller, and checks no right."""

    recovery: SpaceRecovery
    roots: SpaceRoots | None = None

    @property
    def store(self) -> Store:
        return self.recovery.store

    async def require_open(self, tenant_id: UUID, source_id: str, project: Path) -> Path:
        """The real path of a space's folder; refused if its tenant may no longer use it."""
        roots = self.roots or SpaceRoots(self.store)
        return await roots.resolve_source_folder(tenant_id, source_id, project)

    async def make_live(self, place: SpaceLocation, path: str, most_bytes: int) -> UUID:
        """Make a document live, unless it is; returns the id of its history.

        A history that has grown too long is reset here, while nobody has the document open.
        """
        await self.require_open(place.tenant_id, place.source_id, place.project)
        async with self.store.system() as tx:
            await tx.execute(WIKI["lock_space"], **place.sql_params())
            rows = SystemLiveRows(tx, place)
            row = await rows.find(path)
            if row is not None and await _needs_reset(rows, row, most_bytes):
                await rows.end(path)
                row = None
            if row is None:
                text = _text(path, await run_sync(disk.read, place.root, path))
                _require_size(text, most_bytes)
                row = await rows.begin(path, text)
            await remove_stranded(place, await rows.load_live_ids())
            return row.id

    async def flush(self, place: SpaceLocation, path: str) -> None:
        """Update one document's file, unless it is current."""
        await self.require_open(place.tenant_id, place.source_id, place.project)
        exchange = FileSwap(DocumentFiles(place, path))
        for _ in range(MAX_RETRIES):
            step = await self._step(place, exchange)
            if step is SwapStep.DONE:
                return
            if step is SwapStep.WAIT:
                await anyio.sleep(RETRY_DELAY_S)
        raise Unavailable(f"{path!r} keeps changing", path=path)

    async def flush_many(self, place: SpaceLocation, paths: Sequence[str]) -> None:
        """Several. A failure does not block the others: the edits are stored."""
        for path in paths:
            try:
                await self.flush(place, path)
            except PeciaError as error:
                _log.failure("wiki.flush", error)

    async def flush_all(self, place: SpaceLocation) -> None:
        """Every document of the space whose file is behind."""
        async with self.store.system() as tx:
            rows = await tx.fetch_all(SQL["unfiled"], **place.sql_params())
        keys = [it["key"] for it in rows if it["key"].startswith(place.prefix)]
        await self.flush_many(place, [it.removeprefix(place.prefix) for it in keys])

    async def _step(self, place: SpaceLocation, exchange: FileSwap) -> SwapStep:
        """One step. Its versions are in history once its rows are committed."""
        versions, transaction = VersionDraft(self.recovery.history(place)), None
        async with self.store.system() as tx:
            await tx.execute(WIKI["lock_space"], **place.sql_params())
            await self.recovery.settle(tx, place)
            step = await exchange.step(SystemLiveRows(tx, place), versions)
            if versions.prepared is not None:
                transaction = await self.recovery.begin(tx, place, versions.prepared)
        if transaction is not None:
            await self.recovery.finish(place, transaction)
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
