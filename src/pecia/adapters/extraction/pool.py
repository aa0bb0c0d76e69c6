"""The children that are alive: as few as keep up, as many as allowed, reused while sound."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress

import anyio

from pecia.adapters.extraction.child_process import (
    ExtractionJob,
    ExtractorProcess,
    TakeMessage,
    start_child,
)
from pecia.adapters.extraction.model import ExtractionLimits
from pecia.adapters.extraction.status import Confinement, ExtractionStatus
from pecia.adapters.extraction.wire import About, Ending, ReadRequest
from pecia.kernel.errors import Unavailable
from pecia.kernel.text.canonical import RawUnit

_MAX_START_ATTEMPTS = 3


class ExtractorPool:
    """Files wait here for a child. None is started before a file comes, and another one only for a
    file that has waited: most are read in less time than a child takes to start.
    """

    def __init__(self, limits: ExtractionLimits) -> None:
        self._limits = limits
        self._slots = anyio.Semaphore(limits.children)
        self._idle: list[ExtractorProcess] = []
        self._turn = anyio.Lock(fast_acquire=True)
        self._busy = 0
        self._freed = anyio.Event()
        self.confinement: Confinement | None = None

    async def read(
        self, order: ReadRequest, descriptor: int, take: TakeMessage, letters: int
    ) -> Ending:
        """What the order asks for, from whichever child is next."""
        async with self._slots:
            said = False

            def hear(message: About | RawUnit) -> None:
                nonlocal said
                said = True
                take(message)

            while True:
                async with self._child() as child:
                    was_new = child.is_new
                    [ending] = await child.read([ExtractionJob(order, descriptor, hear)], letters)
                # One that dies without a word may have been dead before this file came.
                if ending.status is not ExtractionStatus.CRASHED or said or was_new:
                    return ending

    async def read_many(self, wanted: Sequence[ExtractionJob], letters: int) -> list[Ending]:
        """Several orders in one go. Where one goes wrong, those after it have no ending."""
        async with self._slots, self._child() as child:
            return await child.read(wanted, letters)

    async def close(self) -> None:
        while self._idle:
            await self._idle.pop().kill()

    @asynccontextmanager
    async def _child(self) -> AsyncGenerator[ExtractorProcess]:
        # One after the other: who has waited longest is next, also while a child starts.
        async with self._turn:
            await self._wait_for_idle()
            child = await self._next()
            self._busy += 1
        try:
            yield child
        finally:
            try:
                # A cancelled reading leaves its child unsound, and so ends it.
                if child.is_reusable:
                    self._idle.append(child)
                else:
                    await child.kill()
            finally:
                self._busy -= 1
                self._freed.set()
                self._freed = anyio.Event()

    async def _wait_for_idle(self) -> None:
        """Until a child is free, none is left to wait for, or the file has waited long enough."""
        with anyio.move_on_after(self._limits.patience_s):
            while self._busy and not self._idle:
                await self._freed.wait()

    async def _next(self) -> ExtractorProcess:
        while self._idle:
            child = self._idle.pop()
            if child.is_reusable:
                return child
            await child.kill()
        child = await self._start()
        self.confinement = child.confinement
        return child

    async def _start(self) -> ExtractorProcess:
        # One that is killed while it starts says nothing about the file that waits for it.
        for _ in range(_MAX_START_ATTEMPTS - 1):
            with suppress(Unavailable):
                return await start_child(self._limits)
        return await start_child(self._limits)
