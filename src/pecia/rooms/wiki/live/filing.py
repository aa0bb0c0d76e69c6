"""Brings files up to what was written in live documents, and the other way round.

Whoever finds a file behind may do it, in any process: it reads nothing but the store and the disk.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from anyio.to_thread import run_sync

from pecia.kernel.corpus import texts
from pecia.kernel.errors import NotFound, PayloadTooLarge, PeciaError, Unavailable, Unprocessable
from pecia.kernel.logs import Log
from pecia.kernel.store.store import Store
from pecia.kernel.store.transaction import Transaction
from pecia.rooms.wiki import disk
from pecia.rooms.wiki.history.history import History
from pecia.rooms.wiki.history.note import FILE_SYSTEM, Note
from pecia.rooms.wiki.history.port import OpenVersions
from pecia.rooms.wiki.live.bounds import STATES
from pecia.rooms.wiki.live.held import Held, held
from pecia.rooms.wiki.live.rows import SQL, HouseRows
from pecia.rooms.wiki.names import split_extension
from pecia.rooms.wiki.space import SQL as WIKI
from pecia.rooms.wiki.space import Place
from pecia.rooms.wiki.stored import decoded, stored_document

_log = Log(__name__)

MOST_TRIES = 10


@dataclass(frozen=True, slots=True)
class Filing:
    """For the house: it serves nobody, and asks for no right."""

    store: Store
    versions: OpenVersions

    async def begin(self, place: Place, path: str, most_bytes: int) -> UUID:
        """Make a document live, unless it is; the id of its history.

        A history that has grown too long ends here, between two who open the document.
        """
        async with self.store.system() as tx:
            await tx.run(WIKI["lock_space"], **place.named())
            rows = HouseRows(tx, place)
            row = await rows.find(path)
            if row is not None and row.is_filed and 2 * len(row.base) > STATES * most_bytes:
                await rows.end(path)
                row = None
            if row is None:
                text = _text(path, await run_sync(disk.read, place.root, path))
                _require_short(text, most_bytes)
                row = await rows.begin(path, text)
            return row.id

    async def file(self, place: Place, path: str) -> None:
        """Bring one document's file up to date, unless it is."""
        for _ in range(MOST_TRIES):
            async with self.store.system() as tx:
                await tx.run(WIKI["lock_space"], **place.named())
                if await self._file(tx, place, path):
                    return
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

    async def _file(self, tx: Transaction, place: Place, path: str) -> bool:
        """One step; False where another is needed.

        What the file says is put down before anything is written over it. Whoever dies between the
        file and the store leaves one that holds what is in the store, and no other words.
        """
        rows = HouseRows(tx, place)
        row = await rows.find(path)
        if row is None:
            return True
        written = await rows.changes(row)
        body = await self._read(place, path)
        if body is None:
            await self._rescue(place, path, held(row, written, None))
            await rows.end(path)
            return True
        found = held(row, written, _text(path, body))
        if found.added:
            await rows.add(row, found.added, found.seen)
            return False
        if written:
            await self._write(tx, place, path, found, body)
            await rows.file(row, found.filed())
        return True

    async def _write(
        self, tx: Transaction, place: Place, path: str, found: Held, before: bytes
    ) -> None:
        after = found.text.encode()
        if after != before:
            stamp = await run_sync(disk.write, place.root, path, after)
            facts, words, _ = stored_document(place.source_id, place.key(path), after, stamp)
            await texts.put(tx, facts, words, tenant_id=place.tenant_id)
        await record_written(self._history(place), path, found, before)

    async def _rescue(self, place: Place, path: str, found: Held) -> None:
        """The file went without us: what was written until then stays as a version."""
        if found.writers:
            history, name = self._history(place), split_extension(path)[0]
            await record_written(history, path, found, found.file_text.encode())
            gone = Note(FILE_SYSTEM, f"delete: {name}", (name,))
            await history.record({}, {path: None}, gone)

    async def _read(self, place: Place, path: str) -> bytes | None:
        try:
            return await run_sync(disk.read, place.root, path)
        except NotFound:
            return None

    def _history(self, place: Place) -> History:
        return History(place.project, place.lead, self.versions)


async def record_written(history: History, path: str, found: Held, before: bytes | None) -> None:
    """What people wrote together, as a version with all of their names."""
    if not found.writers:
        return
    name = split_extension(path)[0]
    first, *others = found.writers
    note = Note(first, f"wip: {name}", (name,), others=tuple(others))
    # What a tool wrote is a version before its file is written: the file is no news then.
    known = {} if await history.knows(path) else {path: before}
    await history.record(known, {path: found.text.encode()}, note)


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
