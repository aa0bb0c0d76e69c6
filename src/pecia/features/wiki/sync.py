"""Syncs the disk to the store: documents created, changed or deleted outside our tools.

The files are canonical. Everything here is derived from them, and rebuilt when in doubt.
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
from pecia.features.wiki.parse import (
    MAX_INLINE_BYTES,
    decode_metadata,
    parse_document,
    parse_large_metadata,
)
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
# A batch this large may change the planner's statistics: ANALYZE. Smaller ones are not worth it.
MANY = 50


@dataclass(slots=True)
class _SyncState:
    """The state of one space as of the last scan."""

    lock: anyio.Lock = field(default_factory=anyio.Lock)
    synced: dict[str, FileStamp] = field(default_factory=dict[str, FileStamp])
    young_digests: dict[str, bytes] = field(default_factory=dict[str, bytes])
    """Digests of files whose stamps were too recent to be reliable."""
    facts: dict[str, tuple[FileStamp, DocumentMetadata]] = field(
        default_factory=dict[str, tuple[FileStamp, DocumentMetadata]]
    )
    version: int = 0
    is_complete: bool = False


@dataclass(frozen=True, slots=True)
class SyncedScan:
    """A space as scanned. An equal version means that no document changed."""

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
        """Scan the space; the store is up to date when this returns."""
        state = self._state(place)
        async with state.lock:
            found = await run_sync(scan_space, place.root)
            stamps = {path: found.stamps[path] for path in found.documents.values()}
            changed = await run_sync(_find_changed, place.root, state, stamps)
            gone = sorted(state.synced.keys() - stamps.keys())
            if changed or gone or not state.is_complete:
                update = _CorpusUpdate(self.store, place)
                if not state.is_complete:
                    changed, gone = await update.find_differences(stamps)
                state.young_digests |= await update.apply(changed, gone)
                state.version += 1
            _remember_scan(state, stamps, [*changed, *gone])
            return SyncedScan(found, state.version)

    async def load_metadata(
        self, place: SpaceLocation, stamps: Mapping[str, FileStamp]
    ) -> dict[str, DocumentMetadata]:
        """The metadata of these documents, by path. One deleted meanwhile is left out."""
        kept = self._state(place).facts
        found, large = await run_sync(_load_all_metadata, place.root, kept, stamps)
        # One at a time: bodies that wait for a worker are not all held in memory.
        for path in large:
            try:
                body, now = await run_sync(disk.read_with_stamp, place.root, path)
            except (NotFound, PayloadTooLarge):
                continue
            found |= await parse_large_metadata(place.tenant_id, {path: body})
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
        """Paths that differ from the store, and paths that the store has but are gone."""
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
        """Apply them; returns the digests of recently changed files."""
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
            # Read under the lock: a concurrent write is read, not undone.
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
                # A file that exists but is ignored stays in the corpus as a file of the lake.
                if (
                    key in known
                    and await run_sync(disk.stat_file, self.location.root, path) is None
                ):
                    await texts.remove(
                        tx, self.location.source_id, key, tenant_id=self.location.tenant_id
                    )


def _find_changed(root: Path, state: _SyncState, stamps: Mapping[str, FileStamp]) -> list[str]:
    """Documents with another stamp, and recent ones with another digest."""
    found = [path for path, it in stamps.items() if state.synced.get(path) != it]
    for path in state.young_digests.keys() & stamps.keys():
        if (
            state.synced.get(path) == stamps[path]
            and _digest(root, path) != state.young_digests[path]
        ):
            found.append(path)
    return sorted(found)


def _remember_scan(state: _SyncState, stamps: dict[str, FileStamp], changed: Sequence[str]) -> None:
    """Remember this scan. Stamps that are now old enough are reliable."""
    for path in changed:
        state.facts.pop(path, None)
    state.synced, state.is_complete = stamps, True
    settled = [it for it in state.young_digests if it not in stamps or stamps[it].settled]
    for path in settled:
        del state.young_digests[path]


def _is_document(place: SpaceLocation, key: str) -> bool:
    return key.startswith(place.prefix) and bool(split_extension(key)[1])


def _read_corpus_files(
    place: SpaceLocation, paths: Sequence[str]
) -> tuple[
    list[tuple[FileMetadata, ExtractedText | None]],
    dict[str, bytes],
    list[tuple[str, bytes, FileStamp]],
]:
    """Rows for the corpus, digests of recent files, and large files, not yet parsed."""
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
        if len(body) > MAX_INLINE_BYTES:
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
    """Metadata that is cached or of small files, and the paths of large ones."""
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
        if len(body) > MAX_INLINE_BYTES:
            large.append(path)
            continue
        found[path] = decode_metadata(body)
        kept[path] = (now, found[path])
    return found, large
