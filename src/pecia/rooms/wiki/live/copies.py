"""The files beside a live document's: the one that is to take its place, those that had it lately.

They lie in a folder of ours, so that no program takes them for documents. A file is removed only
after its row: one without a row is nobody's and is swept.
"""

import time
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from secrets import token_hex
from uuid import UUID

import anyio
from anyio.to_thread import run_sync

from pecia.kernel.errors import NotFound, Unprocessable
from pecia.rooms.wiki import disk
from pecia.rooms.wiki.disk import Look
from pecia.rooms.wiki.live.ancestor import ancestor
from pecia.rooms.wiki.live.held import Held, digest_of
from pecia.rooms.wiki.live.rows import Copy, Row, Rows
from pecia.rooms.wiki.live.text import LiveText
from pecia.rooms.wiki.own import prepare
from pecia.rooms.wiki.space import Place
from pecia.rooms.wiki.stored import decoded

FOLDER = ".pecia/cache/live"
KEPT_S = 2.0
"""How long a replaced file is kept at least: a program may be about to write it, or may have read
it and be about to write the file that took its place."""
KEPT_BLIND_S = 30.0
"""The same where the system does not say whether anybody still has it open."""
CALM_S = 0.1
"""Where the system does not say that nobody writes it: untouched for so long, a file is whole."""
MOST_LOOKS, LOOK_S = 20, 0.05
"""How often a file is looked for that is away: programs that save may take it away first."""
STRANDED_S = 3600.0
"""Files of documents that are not known are removed after so long."""


@dataclass(frozen=True, slots=True)
class DocumentFiles:
    """The file of one document, and those beside it."""

    place: Place
    path: str

    async def look(self) -> Look | None:
        """The file itself; None where there is none."""
        return await run_sync(disk.look, self.place.root, self.path)

    async def look_twice(self) -> Look | None:
        """The same, after a moment where there is none: programs that save take it away first."""
        for _ in range(MOST_LOOKS):
            if (found := await self.look()) is not None:
                return found
            await anyio.sleep(LOOK_S)
        return None

    async def look_at(self, copy: Copy) -> Look | None:
        return await run_sync(disk.look, self.place.project, _beside(copy.name))

    async def make(self, row: Row, text: str) -> tuple[str, str]:
        """A file that is to take the document's place: its name and inode."""
        name = f"{row.id}-{token_hex(8)}{disk.TEMPORARY}"
        return name, await run_sync(_make, self.place, self.path, name, text.encode())

    async def swap(self, intent: Copy) -> None:
        """NotFound where there is no file to be replaced."""
        kept = (self.place.project, _beside(intent.name))
        await run_sync(disk.swap, kept, (self.place.root, self.path))

    async def is_swapped(self, row: Row, intent: Copy) -> bool:
        """Whether the new file has taken the document's place already."""
        kept = _beside(intent.name)
        await run_sync(disk.finish_swap, self.place.project, kept)
        inode = await run_sync(disk.inode_of, self.place.project, kept)
        if inode is not None:
            return inode != intent.inode
        # Nobody but us has business there, but somebody has removed it: the file itself must tell.
        found = await self.look()
        return found is None or _is_ours(found, row, intent)

    async def sweep(self, row: Row, copies: Collection[Copy]) -> None:
        """Remove what has no row. To be called by whoever has the document to themselves."""
        await run_sync(_sweep, self.place, row.id, {it.name for it in copies})


async def settle(rows: Rows, row: Row, files: DocumentFiles) -> tuple[Row, list[Copy]]:
    """The document without an intended swap: it happened, or it never will. And its copies."""
    copies = await rows.copies(row)
    intent = next((it for it in copies if it.swapped_at is None), None)
    if intent is None:
        return row, copies
    if await files.is_swapped(row, intent):
        await rows.settle(row, intent, time.time())
    else:
        await rows.drop(row, intent)
    found = await rows.find(files.path)
    assert found is not None
    return found, await rows.copies(found)


@dataclass(frozen=True, slots=True)
class Found:
    """What the files of a document said. `text` is None where the file is half written."""

    text: str | None
    is_missing: bool
    done: list[Copy]
    """Copies that can say nothing more."""


async def read_files(files: DocumentFiles, mine: Held) -> Found:
    """Merge what programs wrote, the oldest file first: what it says may be in the next as well."""
    done: list[Copy] = []
    for copy in [*mine.copies]:
        found = await files.look_at(copy)
        # What is not text cannot be merged as it is, and must not be lost either.
        text = found.body.decode(errors="replace") if found else ""
        is_news = found and is_whole(found, copy.base) and mine.read_copy(copy, text)
        if found is None or (not is_news and is_done_with(found, copy)):
            done.append(copy)
    found = await files.look_twice()
    if found is None:
        return Found(None, is_missing=True, done=done)
    # Who is in the middle of writing it goes on in the old file, when that is replaced.
    if not is_whole(found, mine.row.base):
        return Found(None, is_missing=False, done=done)
    text = decoded(found.body)
    if text is None:
        raise Unprocessable(f"{files.path!r} is not in UTF-8", path=files.path)
    mine.read_file(text)
    return Found(text, is_missing=False, done=done)


def is_whole(found: Look, known: bytes) -> bool:
    """Whether nobody is in the middle of writing it. Who appends is never in the middle."""
    if found.is_open is None:
        return time.time() - found.changed_at > CALM_S
    return not found.is_open or _is_appended(found, known)


def is_done_with(found: Look, copy: Copy) -> bool:
    """Whether nobody will write a file any more that was replaced."""
    assert copy.swapped_at is not None
    kept_s = KEPT_BLIND_S if found.is_open is None else KEPT_S
    return not found.is_open and time.time() - max(copy.swapped_at, found.changed_at) > kept_s


async def sweep_stranded(place: Place, ids: Collection[str]) -> None:
    """Remove what documents have left that are live no more."""
    await run_sync(_sweep_stranded, place, ids)


def _is_appended(found: Look, known: bytes) -> bool:
    before = str(LiveText(known)).encode()
    is_longer = len(found.body) > len(before) > 0 and found.body.startswith(before)
    return found.body == before or (is_longer and decoded(found.body) is not None)


def _is_ours(found: Look, row: Row, intent: Copy) -> bool:
    if found.inode == intent.inode:
        return True
    text = decoded(found.body)
    if text is None or digest_of(text) in (row.digest, intent.digest):
        return text is None or digest_of(text) == intent.digest
    return ancestor(text, str(LiveText(intent.base)), [str(LiveText(row.base))]) is None


def _beside(name: str) -> str:
    return f"{FOLDER}/{name}"


def _make(place: Place, path: str, name: str, body: bytes) -> str:
    prepare(place.project)
    mode = disk.mode_of(place.root, path)
    return disk.create(place.project, _beside(name), body, mode)


def _sweep(place: Place, id_: UUID, known: Collection[str]) -> None:
    for name in disk.names_in(place.project, FOLDER):
        if name.startswith(f"{id_}-") and name.removesuffix(disk.ASIDE) not in known:
            with suppress(NotFound):
                disk.remove(place.project, _beside(name))


def _sweep_stranded(place: Place, ids: Collection[str]) -> None:
    for name in disk.names_in(place.project, FOLDER):
        found = disk.look(place.project, _beside(name))
        is_old = found is not None and time.time() - found.changed_at > STRANDED_S
        if is_old and name[:36] not in ids:
            with suppress(NotFound):
                disk.remove(place.project, _beside(name))
