"""The children that are alive: as many as allowed, reused while they are sound."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress

import anyio

from pecia.adapters.extract.model import Limits
from pecia.adapters.extract.process import Child, Take, Wanted, start_child
from pecia.adapters.extract.status import Confinement, Status
from pecia.adapters.extract.wire import About, Ending, Order
from pecia.kernel.errors import Unavailable
from pecia.kernel.text.canonical import RawUnit

_STARTS = 3


class Pool:
    """Files wait here for a child. None is started before a file comes."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._slots = anyio.Semaphore(limits.children)
        self._idle: list[Child] = []
        self.confinement: Confinement | None = None

    async def read(self, order: Order, descriptor: int, take: Take, letters: int) -> Ending:
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
                    [ending] = await child.read([Wanted(order, descriptor, hear)], letters)
                # One that dies without a word may have been dead before this file came.
                if ending.status is not Status.CRASHED or said or was_new:
                    return ending

    async def read_together(self, wanted: Sequence[Wanted], letters: int) -> list[Ending]:
        """Several orders in one go. Where one goes wrong, those after it have no ending."""
        async with self._slots, self._child() as child:
            return await child.read(wanted, letters)

    async def close(self) -> None:
        while self._idle:
            await self._idle.pop().end()

    @asynccontextmanager
    async def _child(self) -> AsyncGenerator[Child]:
        child = await self._next()
        try:
            yield child
        finally:
            # A cancelled reading leaves its child unsound, and so ends it.
            if child.reusable:
                self._idle.append(child)
            else:
                await child.end()

    async def _next(self) -> Child:
        while self._idle:
            child = self._idle.pop()
            if child.reusable:
                return child
            await child.end()
        child = await self._start()
        self.confinement = child.confinement
        return child

    async def _start(self) -> Child:
        # One that is killed while it starts says nothing about the file that waits for it.
        for _ in range(_STARTS - 1):
            with suppress(Unavailable):
                return await start_child(self._limits)
        return await start_child(self._limits)
