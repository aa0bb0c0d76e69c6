"""The extractor's child processes, shared by all jobs of a worker and kept warm between them."""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager

import anyio

from pecia.features.lake.crawl.file_reader import Extractor, OpenExtractor

IDLE_TTL_S = 20.0
POLL_INTERVAL_S = 5.0


class SharedExtractor:
    """Opens an extractor on first use. A child takes a quarter of a second to start, so while
    `keep_warm` runs they outlive their job; otherwise they end with the last one.
    """

    def __init__(self, extraction: OpenExtractor) -> None:
        self._extraction = extraction
        self._stack = AsyncExitStack()
        self._extractor: Extractor | None = None
        self._users = 0
        self._left_at = 0.0
        self._is_kept = False
        self._changing = anyio.Lock()

    @asynccontextmanager
    async def acquire(self) -> AsyncGenerator[Extractor]:
        """The extractor, for the duration of a job."""
        async with self._changing:
            if self._extractor is None:
                self._extractor = await self._stack.enter_async_context(self._extraction())
            self._users += 1
        try:
            yield self._extractor
        finally:
            self._users -= 1
            self._left_at = anyio.current_time()
            if not self._is_kept:
                await self._evict_idle(0)

    async def keep_warm(self) -> None:
        """Keep the children between jobs, until idle for long or cancelled."""
        self._is_kept = True
        try:
            while True:
                await anyio.sleep(POLL_INTERVAL_S)
                await self._evict_idle(IDLE_TTL_S)
        finally:
            self._is_kept = False
            await self._evict_idle(0)

    async def _evict_idle(self, idle_s: float) -> None:
        with anyio.CancelScope(shield=True):
            async with self._changing:
                is_idle = anyio.current_time() - self._left_at >= idle_s
                if self._extractor is not None and not self._users and is_idle:
                    self._extractor = None
                    await self._stack.aclose()
