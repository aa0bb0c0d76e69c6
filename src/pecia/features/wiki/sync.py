"""The store is told what the disk says: documents that came, changed or went outside our tools.

The files are canonical. Whatever is kept here is derived from them, and made again when in doubt.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

import anyio
from anyio.to_thread import run_sync

from pecia.features.wiki.core.document import CONTENT_TYPE, document_facts, document_of
from pecia.features.wiki.core.metadata import DocumentMetadata
from pecia.features.wiki.core.names import split_extension
from pecia.features.wiki.parse import SMALL_BYTES, facts_in, parse_document, parse_facts
from pecia.features.wiki.storage import disk
from pecia.features.wiki.storage.disk import FileStamp
from pecia.features.wiki.storage.scan import SpaceScan, scan_space
from pecia.features.wiki.store import SQL, SpaceLocation
from pecia.kernel.corpus.catalog import texts
from pecia.kernel.corpus.catalog.catalog import FileMetadata
from pecia.kernel.corpus.catalog.statistics import refresh_statistics
from pecia.kernel.corpus.catalog.texts import ExtractedText
from pecia.kernel.errors import NotFound, PayloadTooLarge
from pecia.kernel.store.store import Store
from pecia.kernel.text.canonical import build_canonical_text

BATCH_SIZE = 200
# So many at once may make a table another to plan for. Fewer are not worth anybody's waiting.
MANY = 50


@dataclass(slots=True)
class _SyncState:
    """What is remembered of one place, as of the last look at it."""

    lock: anyio.Lock = field(default_factory=anyio.Lock)
    synced: dict[str, FileStamp] = field(default_factory=dict[str, FileStamp])
    young_digests: dict[str, bytes] = field(default_factory=dict[str, bytes])
    """What files hold whose state was too young to be sure of."""
    facts: dict[str, tuple[FileStamp, DocumentMetadata]] = field(
        default_factory=dict[str, tuple[FileStamp, DocumentMetadata]]
    )
    version: int = 0
    is_complete: bool = False


@dataclass(frozen=True, slots=True)
class SyncedScan:
    """A place as it is. The same version means that no document is another."""

    scan: SpaceScan
    version: int


@dataclass(slots=True)
class SpaceSync:
    """All spaces of this process."""

    store: Store
    _states: dict[SpaceLocation, _SyncState] = field(
        default_factory=dict[SpaceLocation, _SyncState]
    )

    async def sync(self, place: SpaceLocation) -> SyncedScan:
        """The place as it is now; the store knows all of it when this returns."""
        shelf = self._state(place)
        async with shelf.lock:
            found = await run_sync(scan_space, place.root)
            stamps = {path: found.stamps[path] for path in found.documents.values()}
            changed = await run_sync(_find_changed, place.root, shelf, stamps)
            gone = sorted(shelf.synced.keys() - stamps.keys())
            if changed or gone or not shelf.is_complete:
                telling = _CorpusUpdate(self.store, place)
                if not shelf.is_complete:
                    changed, gone = await telling.find_differences(stamps)
                shelf.young_digests |= await telling.apply(changed, gone)
                shelf.version += 1
            _remember_scan(shelf, stamps, [*changed, *gone])
            return SyncedScan(found, shelf.version)

    async def load_metadata(
        self, place: SpaceLocation, stamps: Mapping[str, FileStamp]
    ) -> dict[str, DocumentMetadata]:
        """What these documents say of themselves, by path. One that went meanwhile is left out."""
        kept = self._state(place).facts
        found, large = await run_sync(_load_all_metadata, place.root, kept, stamps)
        # One at a time: what waits for a worker is not held in memory.
        for path in large:
            try:
                body, now = await run_sync(disk.read_with_stamp, place.root, path)
            except (NotFound, PayloadTooLarge):
                continue
            found |= await parse_facts(place.tenant_id, {path: body})
            kept[path] = (now, found[path])
        return found

    def _state(self, place: SpaceLocation) -> _SyncState:
        return self._states.setdefault(place, _SyncState())


@dataclass(frozen=True, slots=True)
class _CorpusUpdate:
    store: Store
    location: SpaceLocation

    async def find_differences(
        self, stamps: Mapping[str, FileStamp]
    ) -> tuple[list[str], list[str]]:
        """What the store does not know as it is, and what it knows that is gone."""
        async with self.store.system() as tx:
            rows = await tx.fetch_all(SQL["known_files"], **self.location.sql_params())
        known = {row["key"]: row["etag"] for row in rows if _is_document(self.location, row["key"])}
        news = [
            path
            for path, it in sorted(stamps.items())
            if known.get(self.location.key(path)) != it.etag or not it.settled
        ]
        there = {it.removeprefix(self.location.prefix) for it in known}
        return news, sorted(there - stamps.keys())

    async def apply(self, changed: Sequence[str], gone: Sequence[str]) -> dict[str, bytes]:
        """Tell it; what young files hold comes back."""
        young: dict[str, bytes] = {}
        for start in range(0, len(changed), BATCH_SIZE):
            young |= await self._put(changed[start : start + BATCH_SIZE])
            if len(changed) >= MANY:
                await refresh_statistics(self.store)
        if gone:
            await self._remove(gone)
        return young

    async def _put(self, paths: Sequence[str]) -> dict[str, bytes]:
        async with self.store.system() as tx:
            # Read when it is our turn: what a writer does until then is read, not undone.
            await tx.execute(SQL["lock_space"], **self.location.sql_params())
            files, young, large = await run_sync(_read_corpus_files, self.location, paths)
            for path, body, stamp in large:
                files.append(await parse_document(self.location, path, body, stamp))
            await texts.put_many(tx, files, tenant_id=self.location.tenant_id)
            await tx.execute(SQL["indexed_now"], **self.location.sql_params())
        return young

    async def _remove(self, paths: Sequence[str]) -> None:
        async with self.store.system() as tx:
            await tx.execute(SQL["lock_space"], **self.location.sql_params())
            known = {
                row["key"]
                for row in await tx.fetch_all(SQL["known_files"], **self.location.sql_params())
            }
            for path in paths:
                key = self.location.key(path)
                # What is there and left out by an ignore rule is a file of the lake's all the same.
                if (
                    key in known
                    and await run_sync(disk.stat_file, self.location.root, path) is None
                ):
                    await texts.remove(
                        tx, self.location.source_id, key, tenant_id=self.location.tenant_id
                    )


def _find_changed(root: Path, shelf: _SyncState, stamps: Mapping[str, FileStamp]) -> list[str]:
    """Documents whose state is another, and young ones that hold something else by now."""
    found = [path for path, it in stamps.items() if shelf.synced.get(path) != it]
    for path in shelf.young_digests.keys() & stamps.keys():
        if (
            shelf.synced.get(path) == stamps[path]
            and _digest(root, path) != shelf.young_digests[path]
        ):
            found.append(path)
    return sorted(found)


def _remember_scan(shelf: _SyncState, stamps: dict[str, FileStamp], changed: Sequence[str]) -> None:
    """Remember this look. What has not changed since it was young is sure by now."""
    for path in changed:
        shelf.facts.pop(path, None)
    shelf.synced, shelf.is_complete = stamps, True
    settled = [it for it in shelf.young_digests if it not in stamps or stamps[it].settled]
    for path in settled:
        del shelf.young_digests[path]


def _is_document(place: SpaceLocation, key: str) -> bool:
    return key.startswith(place.prefix) and bool(split_extension(key)[1])


def _read_corpus_files(
    place: SpaceLocation, paths: Sequence[str]
) -> tuple[
    list[tuple[FileMetadata, ExtractedText | None]],
    dict[str, bytes],
    list[tuple[str, bytes, FileStamp]],
]:
    """The files as the store is told of them, what young ones hold, and the large ones unparsed."""
    found: list[tuple[FileMetadata, ExtractedText | None]] = []
    young: dict[str, bytes] = {}
    large: list[tuple[str, bytes, FileStamp]] = []
    for path in paths:
        try:
            body, stamp = disk.read_with_stamp(place.root, path)
        except NotFound:
            continue
        except PayloadTooLarge as error:
            facts = FileMetadata(place.source_id, place.key(path), content_type=CONTENT_TYPE)
            found.append(
                (
                    facts,
                    ExtractedText(build_canonical_text(()), status="too_large", reason=str(error)),
                )
            )
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


def _load_all_metadata(
    root: Path, kept: dict[str, tuple[FileStamp, DocumentMetadata]], stamps: Mapping[str, FileStamp]
) -> tuple[dict[str, DocumentMetadata], list[str]]:
    """What is known or small, and the paths of what is large."""
    found: dict[str, DocumentMetadata] = {}
    large: list[str] = []
    for path, stamp in stamps.items():
        known = kept.get(path)
        if known and known[0] == stamp:
            found[path] = known[1]
            continue
        try:
            body, now = disk.read_with_stamp(root, path)
        except (NotFound, PayloadTooLarge):
            continue
        if len(body) > SMALL_BYTES:
            large.append(path)
            continue
        found[path] = facts_in(body)
        kept[path] = (now, found[path])
    return found, large
