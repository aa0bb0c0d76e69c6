"""Syncs the disk to the store: documents created, changed or deleted outside our tools.

The files are canonical. Everything here is derived from them, and rebuilt when in doubt.
"""

from collections import OrderedDict
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import TypeAlias

import anyio
from anyio.to_thread import run_sync

from pecia.features.wiki.core.document import CONTENT_TYPE, document_facts, extract_document
from pecia.features.wiki.core.metadata import DocumentMetadata
from pecia.features.wiki.core.names import split_extension
from pecia.features.wiki.parse import (
    MAX_INLINE_BYTES,
    decode_metadata,
    parse_document,
    parse_large_metadata,
)
from pecia.features.wiki.shared_work import SharedWork
from pecia.features.wiki.space_queue import SpaceQueue
from pecia.features.wiki.storage import disk
from pecia.features.wiki.storage.disk import FileStamp
from pecia.features.wiki.storage.scan import SpaceScan
from pecia.features.wiki.storage.watched_scan import WatchedScan
from pecia.features.wiki.store import SQL, SpaceLocation
from pecia.kernel.corpus.catalog import texts
from pecia.kernel.corpus.catalog.catalog import FileMetadata
from pecia.kernel.corpus.catalog.statistics import refresh_statistics
from pecia.kernel.corpus.catalog.texts import ExtractedText
from pecia.kernel.errors import NotFound, PayloadTooLarge
from pecia.kernel.layered_dict import LayeredDict
from pecia.kernel.store.store import Store, Transaction
from pecia.kernel.text.canonical import build_canonical_text

BATCH_SIZE = 200
# A batch this large may change the planner's statistics: ANALYZE. Smaller ones are not worth it.
MANY = 50
MAX_WATCHED = 64
"""Spaces whose state is kept. LRU."""
REPORT_S = 1.0

ReportSync: TypeAlias = Callable[[float, float | None, str | None], Awaitable[None]]
"""How many are done, of how many, and of what."""


@dataclass(frozen=True, slots=True)
class WikiDocument:
    """A document of the content folder: its name, its path there and the state of its file."""

    name: str
    path: str
    stamp: FileStamp

    @property
    def extension(self) -> str:
        return self.path[len(self.name) :]


@dataclass(frozen=True, slots=True)
class SyncedScan:
    """A space as scanned. The same `documents` object means that no document changed; an
    unchanged document is the same object."""

    scan: SpaceScan
    documents: LayeredDict[str, WikiDocument]
    is_indexed: bool = True
    """False: the store is being brought up to the files for the first time since the start."""


@dataclass(slots=True)
class _SyncState:
    """The state of one space as of the last scan."""

    watched: WatchedScan
    reading: Lock = field(default_factory=Lock)
    """Held while `watched` is used and `unseen` changes."""
    lock: anyio.Lock = field(default_factory=anyio.Lock)
    unseen: set[str] | None = None
    """Paths that may have changed since the last sync; None: any may."""
    synced: dict[str, FileStamp] = field(default_factory=dict[str, FileStamp])
    young_digests: dict[str, bytes] = field(default_factory=dict[str, bytes])
    """Digests of files whose stamps were too recent to be reliable."""
    facts: dict[str, tuple[FileStamp, DocumentMetadata]] = field(
        default_factory=dict[str, tuple[FileStamp, DocumentMetadata]]
    )
    done: tuple[int, int] = (0, 0)
    """Documents that the sync under way has read, and how many it reads."""
    latest: SyncedScan | None = None
    early: SyncedScan | None = None
    """The files alone, where the store may be behind `latest` or there is none."""

    def look_early(self) -> SyncedScan:
        """The files now, whatever the store has of them. Blocking."""
        scan = self.refresh()
        known = self.early or self.latest
        if known is None or known.scan is not scan:
            known = replace(_build_latest(known, scan, None, ()), is_indexed=False)
            self.early = known
        return known

    def refresh(self) -> SpaceScan:
        """The files now. Blocking."""
        with self.reading:
            return self._refresh()

    def take_unseen(self) -> tuple[SpaceScan, set[str] | None]:
        """The files now, and what changed since this was last called. Blocking."""
        with self.reading:
            scan = self._refresh()
            unseen, self.unseen = self.unseen, set()
            return scan, unseen

    def forget(self) -> None:
        """Compare everything next time. Blocking."""
        with self.reading:
            self.unseen = None

    def _refresh(self) -> SpaceScan:
        update = self.watched.refresh()
        if update.touched is None:
            self.unseen = None
        elif self.unseen is not None:
            self.unseen |= update.touched
        return update.scan


@dataclass(slots=True)
class SpaceSync:
    """All spaces of this process."""

    store: Store
    work: SharedWork = field(default_factory=SharedWork)
    queue: SpaceQueue = field(default_factory=SpaceQueue)
    _states: "OrderedDict[SpaceLocation, _SyncState]" = field(
        default_factory=lambda: OrderedDict[SpaceLocation, _SyncState]()
    )

    async def sync(self, place: SpaceLocation, report: ReportSync | None = None) -> SyncedScan:
        """Look at what changed on disk; the store is up to date when this returns. After a start
        that takes its time, and is reported."""
        limit_s, last = None if report is None else REPORT_S, -1
        while not await self._sync_first(place, limit_s):
            done, total = self._state(place).done
            if report is not None and done > last:
                # MCP: each report is of more than the one before.
                await report(last := done, total or None, "reading documents")
        return await self._sync(place)

    async def sync_early(self, place: SpaceLocation, wait_s: float) -> SyncedScan:
        """The same, but after a start it waits only so long for the store: then the files alone
        are returned, and the store follows in the background."""
        if await self._sync_first(place, wait_s):
            return await self._sync(place)
        return await self.look(place)

    async def look(self, place: SpaceLocation) -> SyncedScan:
        """The documents by the files alone; the store is left as it is. Waits for no writer."""
        return await run_sync(self._state(place).look_early)

    async def _sync_first(self, place: SpaceLocation, wait_s: float | None) -> bool:
        """Begin or join the first sync since the start; whether it has ended."""
        if self._state(place).latest is not None:
            return True
        return await self.work.wait(place, partial(self._sync, place), wait_s)

    async def _sync(self, place: SpaceLocation) -> SyncedScan:
        state = self._state(place)
        async with state.lock:
            found, unseen = await run_sync(state.take_unseen)
            if state.latest is not None and unseen is not None and not unseen:
                return state.latest
            try:
                return await self._apply(place, state, found, unseen)
            except BaseException:
                state.forget()
                raise

    async def _apply(
        self, place: SpaceLocation, state: _SyncState, found: SpaceScan, unseen: set[str] | None
    ) -> SyncedScan:
        paths = found.documents.values() if unseen is None else filter(found.is_document, unseen)
        stamps = {it: found.stamps[it] for it in paths}
        known = state.synced if unseen is None else state.synced.keys() & unseen
        gone = sorted(it for it in known if not found.is_document(it))
        changed = await run_sync(_find_changed, place.root, state, stamps)
        update = _CorpusUpdate(self.store, self.queue, place, state)
        if changed or gone or state.latest is None:
            if state.latest is None:
                changed, gone = await update.find_differences(stamps)
            state.young_digests |= await update.apply(changed, gone)
        _remember_scan(state, stamps, changed, gone)
        state.facts |= update.metadata
        if state.latest is None:
            # They differ from the store, not from what was seen early: most stay the same objects.
            changed, unseen = [it for it in changed if not _is_settled(stamps, it)], None
        before = state.latest or state.early
        state.latest, state.early = _build_latest(before, found, unseen, changed), None
        return state.latest

    def close(self) -> None:
        """Watch nothing any more. What is used again is watched again."""
        for state in self._states.values():
            state.watched.close()

    async def scan(self, place: SpaceLocation) -> SpaceScan:
        """The files alone; nothing is put into the store. Waits for no writer."""
        return await run_sync(self._state(place).refresh)

    def record_write(
        self,
        place: SpaceLocation,
        written: Mapping[str, tuple[FileStamp, bytes]],
        moved: Mapping[str, str],
    ) -> None:
        """These files are in the store as we wrote them: they need not be read again."""
        state = self._state(place)
        for old, new in moved.items():
            state.young_digests.pop(old, None)
            if old in state.synced:
                state.synced[new] = state.synced.pop(old)
        for path, (stamp, body) in written.items():
            state.synced[path] = stamp
            state.young_digests[path] = sha256(body).digest()

    def record_metadata(
        self, place: SpaceLocation, path: str, stamp: FileStamp, metadata: DocumentMetadata | None
    ) -> None:
        """A file with this stamp says so of itself: it need not be parsed again."""
        if metadata is not None:
            self._state(place).facts[path] = (stamp, metadata)

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
        state = self._states.get(place)
        if state is None:
            state = self._states[place] = _SyncState(WatchedScan(place.root))
        self._states.move_to_end(place)
        if len(self._states) > MAX_WATCHED:
            oldest = next(iter(self._states))
            if not self._states[oldest].lock.locked():
                self._states.pop(oldest).watched.close()
        return state


@dataclass(frozen=True, slots=True)
class _CorpusUpdate:
    store: Store
    queue: SpaceQueue
    location: SpaceLocation
    state: _SyncState
    metadata: dict[str, tuple[FileStamp, DocumentMetadata]] = field(
        default_factory=dict[str, tuple[FileStamp, DocumentMetadata]]
    )
    """The metadata of the files put: they are parsed once, for the index and for the graph."""

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
            self.state.done = start, len(changed)
            young |= await self._put(changed[start : start + BATCH_SIZE])
            if len(changed) >= MANY:
                await refresh_statistics(self.store)
        if gone:
            await self._remove(gone)
        return young

    async def _put(self, paths: Sequence[str]) -> dict[str, bytes]:
        async with self._locked() as tx:
            # Read under the lock: a concurrent write is read, not undone.
            files, young, large = await run_sync(self._read_files, paths)
            for path, body, stamp in large:
                parsed = await parse_document(self.location, path, body, stamp)
                files.append((parsed.facts, parsed.text))
                if parsed.metadata is not None:
                    self.metadata[path] = (stamp, parsed.metadata)
            await texts.put_many(tx, files, tenant_id=self.location.tenant_id)
            await tx.execute(SQL["indexed_now"], **self.location.sql_params())
        return young

    @asynccontextmanager
    async def _locked(self) -> AsyncGenerator[Transaction]:
        async with self.queue.turn(self.location), self.store.system() as tx:
            await tx.execute(SQL["lock_space"], **self.location.sql_params())
            yield tx

    def _read_files(
        self, paths: Sequence[str]
    ) -> tuple[
        list[tuple[FileMetadata, ExtractedText | None]],
        dict[str, bytes],
        list[tuple[str, bytes, FileStamp]],
    ]:
        """Rows for the corpus, digests of recent files, and large files, not yet parsed."""
        place = self.location
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
                        ExtractedText(
                            build_canonical_text(()), status="too_large", reason=str(error)
                        ),
                    )
                )
                continue
            if not stamp.settled:
                young[path] = sha256(body).digest()
            if len(body) > MAX_INLINE_BYTES:
                large.append((path, body, stamp))
                continue
            # Metadata of files that were parsed before, for whatever reason.
            key, parsed = place.key(path), self.state.facts.get(path)
            is_same = parsed is not None and parsed[0] == stamp and stamp.settled
            text, metadata = extract_document(key, body, parsed[1] if parsed and is_same else None)
            self.metadata[path] = (stamp, metadata)
            found.append((document_facts(place.source_id, key, stamp), text))
        return found, young, large

    async def _remove(self, paths: Sequence[str]) -> None:
        async with self._locked() as tx:
            keys = [self.location.key(it) for it in paths]
            rows = await tx.fetch_all(SQL["known_among"], **self.location.sql_params(), keys=keys)
            known = {row["key"] for row in rows}
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
    """Of these documents, those with another stamp, and recent ones with another digest."""
    found = [path for path, it in stamps.items() if state.synced.get(path) != it]
    for path in state.young_digests.keys() & stamps.keys():
        if (
            state.synced.get(path) == stamps[path]
            and _digest(root, path) != state.young_digests[path]
        ):
            found.append(path)
    return sorted(found)


def _remember_scan(
    state: _SyncState,
    stamps: Mapping[str, FileStamp],
    changed: Sequence[str],
    gone: Sequence[str],
) -> None:
    """Remember what was synced. Stamps that are now old enough are reliable."""
    for path in (*changed, *gone):
        state.facts.pop(path, None)
    state.synced.update(stamps)
    for path in gone:
        state.synced.pop(path, None)
    now = state.synced
    settled = [it for it in state.young_digests if it not in now or now[it].is_settled_by_now()]
    for path in settled:
        del state.young_digests[path]


def _build_latest(
    before: SyncedScan | None, scan: SpaceScan, touched: set[str] | None, changed: Sequence[str]
) -> SyncedScan:
    """Unchanged documents stay the same objects."""
    known = before.documents if before is not None else LayeredDict[str, WikiDocument]()
    names = {split_extension(it)[0] for it in touched} if touched is not None else {*known}
    if touched is None:
        names |= {*scan.documents}
    news = {
        name: WikiDocument(name, scan.documents[name], scan.stamps[scan.documents[name]])
        for name in names
        if name in scan.documents
    }
    differing = {*changed}
    news = {name: it for name, it in news.items() if known.get(name) != it or it.path in differing}
    gone = [it for it in names if it in known and it not in scan.documents]
    if before is not None and not news and not gone:
        return SyncedScan(scan, before.documents)
    found = known.copy()
    found.update(news)
    for name in gone:
        del found[name]
    return SyncedScan(scan, found)


def _is_settled(stamps: Mapping[str, FileStamp], path: str) -> bool:
    return path in stamps and stamps[path].settled


def _is_document(place: SpaceLocation, key: str) -> bool:
    return key.startswith(place.prefix) and bool(split_extension(key)[1])


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
