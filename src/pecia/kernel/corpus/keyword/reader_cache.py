"""Open readers of the keyword indexes, for the server; each as of its last commit.

It never writes, and waits for a writer only in `wait_for_commit`.
"""

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias, TypeVar
from uuid import UUID

import anyio
from anyio.to_thread import run_sync

from pecia.kernel.corpus.keyword.directory import IndexDirectory
from pecia.kernel.corpus.keyword.index import IndexUnusable, KeywordIndex
from pecia.kernel.logs import Log
from pecia.kernel.store.file_lock import backoff_delays

T = TypeVar("T")

_log = Log(__name__)

MAX_READERS = 64
COMMIT_WAIT_S = 2.0
_MAX_BACKOFF_S = 0.025
_MAX_ATTEMPTS = 3

FileStamp: TypeAlias = tuple[int, int, int]
"""Inode, mtime and size: different after every commit."""


@dataclass(slots=True)
class _Reader:
    """An index, and the two files whose stamps say whether it is current: the generation pointer
    and the engine's meta. A stat takes a tenth of the time of reading one.
    """

    index: KeywordIndex
    pointer: Path
    pointed: FileStamp
    meta: Path
    stamp: FileStamp | None


class ReaderCache:
    """Readers by tenant, LRU. Thread-safe."""

    def __init__(self, root: Path, max_readers: int = MAX_READERS) -> None:
        self._root = root
        self._max_readers = max_readers
        self._readers: OrderedDict[UUID, _Reader] = OrderedDict()
        self._lock = threading.Lock()
        self._threads = ThreadPoolExecutor(thread_name_prefix="index")
        self._empty_index = KeywordIndex.in_memory()

    def submit(self, tenant_id: UUID, query: Callable[[KeywordIndex], T]) -> Awaitable[T]:
        """Run a query on a tenant's index, in a thread. An index not built yet is an empty one.

        It starts at once, not when the result is awaited.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()

        def work() -> None:
            try:
                result = self._run_query(tenant_id, query)
            except BaseException as error:  # noqa: BLE001 - raised where the result is awaited.
                loop.call_soon_threadsafe(_set_exception, future, error)
            else:
                loop.call_soon_threadsafe(_set_result, future, result)

        # `run_in_executor` does the same through a second future and its locks: .1 ms a search.
        self._threads.submit(work)
        return future

    async def wait_for_commit(
        self, tenant_id: UUID, n: int, timeout_s: float = COMMIT_WAIT_S
    ) -> bool:
        """Wait until a tenant's index holds the commit `n`; False when it took too long."""
        with anyio.move_on_after(timeout_s):
            for wait_s in backoff_delays(_MAX_BACKOFF_S):
                if await run_sync(self.last_commit, tenant_id) >= n:
                    return True
                await anyio.sleep(wait_s)
        return False

    def last_commit(self, tenant_id: UUID) -> int:
        """The last commit that a tenant's index holds; 0 when there is none."""
        return self._reader_or_empty(tenant_id).cursor() or 0

    def get_reader(self, tenant_id: UUID) -> KeywordIndex:
        """A tenant's index as of its last commit. Blocks: call from a thread."""
        for attempt in range(_MAX_ATTEMPTS):
            try:
                return self._refresh_reader(tenant_id)
            except (IndexUnusable, FileNotFoundError):
                # Another generation may have been published meanwhile.
                if attempt == _MAX_ATTEMPTS - 1:
                    raise
        raise AssertionError

    def _run_query(self, tenant_id: UUID, query: Callable[[KeywordIndex], T]) -> T:
        index = self._reader_or_empty(tenant_id)
        try:
            return query(index)
        except IndexUnusable as error:
            IndexDirectory.of(self._root, tenant_id).mark_suspect()
            raise IndexUnusable(
                "the keyword index could not answer; it is checked now, and rebuilt if it is "
                f"damaged: search again shortly ({error})"
            ) from error

    def _reader_or_empty(self, tenant_id: UUID) -> KeywordIndex:
        """The reader, or an empty index where it cannot be opened: the writer rebuilds it."""
        try:
            return self.get_reader(tenant_id)
        except (IndexUnusable, FileNotFoundError) as error:
            _log.failure("index.torn", error)
            IndexDirectory.of(self._root, tenant_id).mark_suspect()
            return self._empty_index

    def _refresh_reader(self, tenant_id: UUID) -> KeywordIndex:
        with self._lock:
            reader = self._readers.get(tenant_id)
            if reader is None or _stamp(reader.pointer) != reader.pointed:
                self._readers.pop(tenant_id, None)
                reader = _open_reader(IndexDirectory.of(self._root, tenant_id))
                if reader is None:
                    return self._empty_index
                self._readers[tenant_id] = reader
            elif (stamp := _stamp(reader.meta)) != reader.stamp:
                # One that fails to reload is opened anew the next time.
                self._readers.pop(tenant_id)
                reader.index.reload()
                reader.stamp = stamp
                self._readers[tenant_id] = reader
            self._readers.move_to_end(tenant_id)
            while len(self._readers) > self._max_readers:
                self._readers.popitem(last=False)
        return reader.index


def _set_result(future: asyncio.Future[T], result: T) -> None:
    # The awaiting task may be gone.
    if not future.done():
        future.set_result(result)


def _set_exception(future: asyncio.Future[T], error: BaseException) -> None:
    if not future.done():
        future.set_exception(error)


def _open_reader(directory: IndexDirectory) -> _Reader | None:
    """The generation that is searched now; None when there is none."""
    # Stamps first, then the content: a change in between is seen the next time.
    pointed = _stamp(directory.pointer)
    generation = directory.current_generation()
    if pointed is None or generation is None:
        return None
    meta = generation / "meta.json"
    stamp = _stamp(meta)
    return _Reader(KeywordIndex.open_reader(generation), directory.pointer, pointed, meta, stamp)


def _stamp(path: Path) -> FileStamp | None:
    try:
        stat = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return stat.st_ino, stat.st_mtime_ns, stat.st_size
