"""Brings files up to what was written in live documents, and the other way round.

Whoever finds a file behind may do it, in any process: it reads nothing but the store and the disk.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import anyio
from anyio.to_thread import run_sync

from pecia.kernel.errors import PayloadTooLarge, PeciaError, Unavailable, Unprocessable
from pecia.kernel.logs import Log
from pecia.kernel.store.store import Store
from pecia.rooms.wiki import disk
from pecia.rooms.wiki.history.history import History
from pecia.rooms.wiki.history.port import OpenVersions
from pecia.rooms.wiki.live.bounds import STATES
from pecia.rooms.wiki.live.copies import DocumentFiles, sweep_stranded
from pecia.rooms.wiki.live.exchange import Exchange, Step
from pecia.rooms.wiki.live.rows import SQL, HouseRows, Row
from pecia.rooms.wiki.roots import SpaceRoots
from pecia.rooms.wiki.space import SQL as WIKI
from pecia.rooms.wiki.space import Place
from pecia.rooms.wiki.stored import decoded

_log = Log(__name__)

MOST_TRIES = 200
"""A program that writes all the time is waited for, and each of its writes is a step."""
WAIT_S = 0.05


@dataclass(frozen=True, slots=True)
class Filing:
    """For the house: it serves nobody, and asks for no right."""

    store: Store
    versions: OpenVersions
    roots: SpaceRoots | None = None

    async def require_open(self, tenant_id: UUID, source_id: str, project: Path) -> Path:
        """The real path of a space's folder; refused where its tenant may not have it any more."""
        roots = self.roots or SpaceRoots(self.store)
        return await roots.opened_source(tenant_id, source_id, project)

    async def begin(self, place: Place, path: str, most_bytes: int) -> UUID:
        """Make a document live, unless it is; the id of its history.

        A history that has grown too long ends here, between two who open the document.
        """
        await self.require_open(place.tenant_id, place.source_id, place.project)
        async with self.store.system() as tx:
            await tx.run(WIKI["lock_space"], **place.named())
            rows = HouseRows(tx, place)
            row = await rows.find(path)
            if row is not None and await _is_worn(rows, row, most_bytes):
                await rows.end(path)
                row = None
            if row is None:
                text = _text(path, await run_sync(disk.read, place.root, path))
                _require_short(text, most_bytes)
                row = await rows.begin(path, text)
            await sweep_stranded(place, await rows.ids())
            return row.id

    async def file(self, place: Place, path: str) -> None:
        """Bring one document's file up to date, unless it is."""
        await self.require_open(place.tenant_id, place.source_id, place.project)
        exchange = Exchange(DocumentFiles(place, path), self._history(place))
        for _ in range(MOST_TRIES):
            async with self.store.system() as tx:
                await tx.run(WIKI["lock_space"], **place.named())
                step = await exchange.step(HouseRows(tx, place))
            if step is Step.DONE:
                return
            if step is Step.WAIT:
                await anyio.sleep(WAIT_S)
        raise Unavailable(f"{path!r} does not stop changing", path=path)

    async def file_those(self, place: Place, paths: Sequence[str]) -> None:
        """Several. One that cannot be holds up none of the others: its words are stored."""
        for path in paths:
            try:
                await self.file(place, path)
            except PeciaError as error:
                _log.failure("wiki.file", error)

    async def file_all(self, place: Place) -> None:
        """Every document of the place whose file is behind."""
        async with self.store.system() as tx:
            rows = await tx.all(SQL["unfiled"], **place.named())
        keys = [it["key"] for it in rows if it["key"].startswith(place.lead)]
        await self.file_those(place, [it.removeprefix(place.lead) for it in keys])

    def _history(self, place: Place) -> History:
        return History(place.project, place.lead, self.versions)


async def _is_worn(rows: HouseRows, row: Row, most_bytes: int) -> bool:
    is_long = 2 * len(row.base) > STATES * most_bytes
    return is_long and row.is_filed and not await rows.copies(row)


def _text(path: str, body: bytes) -> str:
    text = decoded(body)
    if text is None:
        raise Unprocessable(f"{path!r} is not in UTF-8", path=path)
    return text


def _require_short(text: str, most_bytes: int) -> None:
    if len(text.encode()) > most_bytes:
        raise PayloadTooLarge(
            f"a document that is edited together has at most {most_bytes} bytes",
            field="doc",
            max=most_bytes,
        )
