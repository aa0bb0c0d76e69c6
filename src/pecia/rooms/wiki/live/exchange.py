"""Brings one document's file up to date, in steps that are each a transaction.

What programs wrote is put down before anything is written over it. What is to be written is put
down before it is written. The new file and the old one then change places in one step, and the old
one is looked at again until nobody can write it any more. Whoever is killed between two steps
leaves what the next needs to go on, in any process.
"""

import time
from dataclasses import dataclass, field, replace
from enum import Enum, auto

from anyio.to_thread import run_sync

from pecia.kernel.corpus import texts
from pecia.kernel.errors import NotFound
from pecia.rooms.wiki import disk
from pecia.rooms.wiki.history.history import History
from pecia.rooms.wiki.history.note import FILE_SYSTEM, Note
from pecia.rooms.wiki.live.copies import DocumentFiles, Found, read_files
from pecia.rooms.wiki.live.held import Held, held
from pecia.rooms.wiki.live.rows import Based, Change, Copy, HouseRows, Row, Rows
from pecia.rooms.wiki.live.text import LiveText
from pecia.rooms.wiki.names import split_extension
from pecia.rooms.wiki.parse import parse_document

PATIENCE_S = 2.0
"""How long a file may be half written until that is what it is."""
MOST_MISSED = 3
"""How often in a row a file was away for a while when it is gone."""


class Step(Enum):
    DONE = auto()
    AGAIN = auto()
    WAIT = auto()
    """A program is in the middle of writing."""


@dataclass(slots=True)
class Exchange:
    """Of one document, by whoever has the space to themselves."""

    files: DocumentFiles
    history: History
    _until: int | None = None
    """The change that the file is to have. What comes later is left to whoever comes later."""
    _begun: float = field(default_factory=time.monotonic)
    _missed: int = 0

    async def step(self, rows: HouseRows) -> Step:
        """The next one."""
        row = await rows.find(self.files.path)
        if row is None:
            return Step.DONE
        copies = await rows.copies(row)
        await self.files.sweep(row, copies)
        written = await rows.changes(row)
        intent = next((it for it in copies if it.swapped_at is None), None)
        if intent is not None:
            return await self._swap(rows, row, written, intent)
        if self._until is not None and row.filed >= self._until:
            return Step.DONE
        mine = held(row, written, copies)
        found = await read_files(self.files, mine)
        if found.is_missing:
            return await self._miss(rows, mine)
        self._missed = 0
        return await self._put_down(rows, mine, found)

    async def _put_down(self, rows: HouseRows, mine: Held, found: Found) -> Step:
        """What programs wrote, and then what is to be in the file."""
        await put_down(rows, mine)
        for copy in found.done:
            await rows.drop(mine.row, copy)
        head = mine.row.head + len(mine.added)
        self._until = head if self._until is None else self._until
        if head > mine.row.filed:
            step = await self._intend(rows, mine, head, found.text)
        else:
            is_patient = time.monotonic() - self._begun < PATIENCE_S
            step = Step.WAIT if found.text is None and is_patient else Step.DONE
        # Once more, to remove their files: nobody may come for this document for a long time.
        return Step.AGAIN if step is Step.DONE and found.done else step

    async def _miss(self, rows: HouseRows, mine: Held) -> Step:
        """It is gone when it stays away."""
        self._missed += 1
        if self._missed < MOST_MISSED:
            return Step.WAIT
        await self._rescue(mine)
        await rows.end(self.files.path)
        return Step.DONE

    async def _swap(self, rows: HouseRows, row: Row, written: list[Change], intent: Copy) -> Step:
        """What was put down as intended is done, unless it was before somebody was killed."""
        if not await self.files.is_swapped(row, intent):
            try:
                await self.files.swap(intent)
            except NotFound:
                await rows.drop(row, intent)
                return Step.WAIT
        await rows.settle(row, intent, time.time())
        now = LiveText(intent.base)
        mine = Held(row, Based(row.base, row.digest), now, written[: intent.head - row.filed])
        await self._keep(rows, mine, intent)
        await record_written(self.history, self.files.path, mine, mine.file_text.encode())
        return Step.AGAIN

    async def _keep(self, rows: HouseRows, mine: Held, intent: Copy) -> None:
        """Tell the corpus, unless the file is another one by now: then it will be told of that."""
        place, path = self.files.place, self.files.path
        stamp = await run_sync(disk.stamp, place.root, path)
        if stamp is not None and str(stamp.inode) == intent.inode:
            body = mine.text.encode()
            facts, words = await parse_document(place, path, body, stamp)
            await texts.put(rows.tx, facts, words, tenant_id=place.tenant_id)

    async def _intend(self, rows: HouseRows, mine: Held, head: int, on_disk: str | None) -> Step:
        after, row = mine.filed(), replace(mine.row, head=head)
        if on_disk is not None and mine.text == on_disk:
            await record_written(self.history, self.files.path, mine, on_disk.encode())
            await rows.file(row, after)
            return Step.DONE
        name, inode = await self.files.make(row, mine.text)
        await rows.intend(row, Copy(name, inode, after.base, after.digest, head))
        return Step.AGAIN

    async def _rescue(self, found: Held) -> None:
        """The file went without us: what was written until then stays as a version."""
        if found.writers:
            path, name = self.files.path, split_extension(self.files.path)[0]
            await record_written(self.history, path, found, found.file_text.encode())
            gone = Note(FILE_SYSTEM, f"delete: {name}", (name,))
            await self.history.record({}, {path: None}, gone)


async def put_down(rows: Rows, mine: Held) -> None:
    """What was added, and what the files are known to have with that."""
    if mine.added:
        await rows.add(mine.row, mine.added, mine.seen)
    for copy in mine.read:
        await rows.see(mine.row, copy)


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
