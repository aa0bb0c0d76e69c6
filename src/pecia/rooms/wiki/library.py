"""The store is told what the disk says: documents that came, changed or went outside our tools.

The files are canonical. Whatever is kept here is derived from them, and made again when in doubt.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

import anyio
from anyio.to_thread import run_sync

from pecia.kernel.corpus import texts
from pecia.kernel.corpus.catalog import FileFacts
from pecia.kernel.corpus.stock import take_stock
from pecia.kernel.corpus.texts import Text
from pecia.kernel.errors import NotFound, PayloadTooLarge
from pecia.kernel.store.store import Store
from pecia.kernel.text.canonical import canonical_text
from pecia.rooms.wiki import disk
from pecia.rooms.wiki.disk import Stamp
from pecia.rooms.wiki.facts import Facts
from pecia.rooms.wiki.names import split_extension
from pecia.rooms.wiki.parse import SMALL_BYTES, facts_in, parse_document, parse_facts
from pecia.rooms.wiki.scan import Scan, scan
from pecia.rooms.wiki.space import SQL, Place
from pecia.rooms.wiki.stored import CONTENT_TYPE, document_facts, document_of

BATCH = 200
# So many at once may make a table another to plan for. Fewer are not worth anybody's waiting.
MANY = 50


@dataclass(slots=True)
class _Shelf:
    """What is remembered of one place, as of the last look at it."""

    looking: anyio.Lock = field(default_factory=anyio.Lock)
    told: dict[str, Stamp] = field(default_factory=dict[str, Stamp])
    young: dict[str, bytes] = field(default_factory=dict[str, bytes])
    """What files hold whose state was too young to be sure of."""
    facts: dict[str, tuple[Stamp, Facts]] = field(default_factory=dict[str, tuple[Stamp, Facts]])
    version: int = 0
    is_complete: bool = False


@dataclass(frozen=True, slots=True)
class Looked:
    """A place as it is. The same version means that no document is another."""

    scan: Scan
    version: int


@dataclass(slots=True)
class Library:
    """All spaces of this process."""

    store: Store
    _shelves: dict[Place, _Shelf] = field(default_factory=dict[Place, _Shelf])

    async def look(self, place: Place) -> Looked:
        """The place as it is now; the store knows all of it when this returns."""
        shelf = self._shelf(place)
        async with shelf.looking:
            found = await run_sync(scan, place.root)
            stamps = {path: found.stamps[path] for path in found.documents.values()}
            changed = await run_sync(_changed, place.root, shelf, stamps)
            gone = sorted(shelf.told.keys() - stamps.keys())
            if changed or gone or not shelf.is_complete:
                telling = _Telling(self.store, place)
                if not shelf.is_complete:
                    changed, gone = await telling.differing(stamps)
                shelf.young |= await telling.tell(changed, gone)
                shelf.version += 1
            _settle(shelf, stamps, [*changed, *gone])
            return Looked(found, shelf.version)

    async def facts(self, place: Place, stamps: Mapping[str, Stamp]) -> dict[str, Facts]:
        """What these documents say of themselves, by path. One that went meanwhile is left out."""
        kept = self._shelf(place).facts
        found, large = await run_sync(_read_all, place.root, kept, stamps)
        # One at a time: what waits for a worker is not held in memory.
        for path in large:
            try:
                body, now = await run_sync(disk.read_stamped, place.root, path)
            except (NotFound, PayloadTooLarge):
                continue
            found |= await parse_facts(place.tenant_id, {path: body})
            kept[path] = (now, found[path])
        return found

    def _shelf(self, place: Place) -> _Shelf:
        return self._shelves.setdefault(place, _Shelf())


@dataclass(frozen=True, slots=True)
class _Telling:
    store: Store
    place: Place

    async def differing(self, stamps: Mapping[str, Stamp]) -> tuple[list[str], list[str]]:
        """What the store does not know as it is, and what it knows that is gone."""
        async with self.store.system() as tx:
            rows = await tx.all(SQL["known_files"], **self.place.named())
        known = {row["key"]: row["etag"] for row in rows if _is_document(self.place, row["key"])}
        news = [
            path
            for path, it in sorted(stamps.items())
            if known.get(self.place.key(path)) != it.etag or not it.settled
        ]
        there = {it.removeprefix(self.place.lead) for it in known}
        return news, sorted(there - stamps.keys())

    async def tell(self, changed: Sequence[str], gone: Sequence[str]) -> dict[str, bytes]:
        """Tell it; what young files hold comes back."""
        young: dict[str, bytes] = {}
        for start in range(0, len(changed), BATCH):
            young |= await self._put(changed[start : start + BATCH])
            if len(changed) >= MANY:
                await take_stock(self.store)
        if gone:
            await self._remove(gone)
        return young

    async def _put(self, paths: Sequence[str]) -> dict[str, bytes]:
        async with self.store.system() as tx:
            # Read when it is our turn: what a writer does until then is read, not undone.
            await tx.run(SQL["lock_space"], **self.place.named())
            files, young, large = await run_sync(_files, self.place, paths)
            for path, body, stamp in large:
                files.append(await parse_document(self.place, path, body, stamp))
            await texts.put_many(tx, files, tenant_id=self.place.tenant_id)
            await tx.run(SQL["indexed_now"], **self.place.named())
        return young

    async def _remove(self, paths: Sequence[str]) -> None:
        async with self.store.system() as tx:
            await tx.run(SQL["lock_space"], **self.place.named())
            known = {row["key"] for row in await tx.all(SQL["known_files"], **self.place.named())}
            for path in paths:
                key = self.place.key(path)
                # What is there and left out by an ignore rule is a file of the lake's all the same.
                if key in known and await run_sync(disk.stamp, self.place.root, path) is None:
                    await texts.remove(
                        tx, self.place.source_id, key, tenant_id=self.place.tenant_id
                    )


def _changed(root: Path, shelf: _Shelf, stamps: Mapping[str, Stamp]) -> list[str]:
    """Documents whose state is another, and young ones that hold something else by now."""
    found = [path for path, it in stamps.items() if shelf.told.get(path) != it]
    for path in shelf.young.keys() & stamps.keys():
        if shelf.told.get(path) == stamps[path] and _digest(root, path) != shelf.young[path]:
            found.append(path)
    return sorted(found)


def _settle(shelf: _Shelf, stamps: dict[str, Stamp], changed: Sequence[str]) -> None:
    """Remember this look. What has not changed since it was young is sure by now."""
    for path in changed:
        shelf.facts.pop(path, None)
    shelf.told, shelf.is_complete = stamps, True
    settled = [it for it in shelf.young if it not in stamps or stamps[it].settled]
    for path in settled:
        del shelf.young[path]


def _is_document(place: Place, key: str) -> bool:
    return key.startswith(place.lead) and bool(split_extension(key)[1])


def _files(
    place: Place, paths: Sequence[str]
) -> tuple[list[tuple[FileFacts, Text | None]], dict[str, bytes], list[tuple[str, bytes, Stamp]]]:
    """The files as the store is told of them, what young ones hold, and the large ones unparsed."""
    found: list[tuple[FileFacts, Text | None]] = []
    young: dict[str, bytes] = {}
    large: list[tuple[str, bytes, Stamp]] = []
    for path in paths:
        try:
            body, stamp = disk.read_stamped(place.root, path)
        except NotFound:
            continue
        except PayloadTooLarge as error:
            facts = FileFacts(place.source_id, place.key(path), content_type=CONTENT_TYPE)
            found.append((facts, Text(canonical_text(()), status="too_large", reason=str(error))))
            continue
        if not stamp.settled:
            young[path] = sha256(body).digest()
        if len(body) > SMALL_BYTES:
            large.append((path, body, stamp))
            continue
        key = place.key(path)
        found.append((document_facts(place.source_id, key, stamp), document_of(key, body)))
    return found, young, large


def _digest(root: Path, path: str) -> bytes:
    try:
        return sha256(disk.read(root, path)).digest()
    except (NotFound, PayloadTooLarge):
        return b""


def _read_all(
    root: Path, kept: dict[str, tuple[Stamp, Facts]], stamps: Mapping[str, Stamp]
) -> tuple[dict[str, Facts], list[str]]:
    """What is known or small, and the paths of what is large."""
    found: dict[str, Facts] = {}
    large: list[str] = []
    for path, stamp in stamps.items():
        known = kept.get(path)
        if known and known[0] == stamp:
            found[path] = known[1]
            continue
        try:
            body, now = disk.read_stamped(root, path)
        except (NotFound, PayloadTooLarge):
            continue
        if len(body) > SMALL_BYTES:
            large.append(path)
            continue
        found[path] = facts_in(body)
        kept[path] = (now, found[path])
    return found, large
