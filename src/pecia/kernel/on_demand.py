"""Something that is imported and made with its first use."""

from collections.abc import Awaitable, Callable
from importlib import import_module
from pkgutil import resolve_name
from threading import Lock
from typing import Generic, ParamSpec, TypeVar

from anyio.to_thread import run_sync

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


class OnDemand(Generic[T]):
    """What `package.module:function` makes of what is given: imported and called once, when it is
    first needed."""

    def __init__(self, build: str, *given: object) -> None:
        self.build = build
        self._given = given
        self._lock = Lock()
        self._made: T | None = None

    @property
    def is_made(self) -> bool:
        return self._made is not None

    def get(self) -> T:
        """It. The first call imports, and blocks: on an event loop, `load`."""
        if self._made is None:
            with self._lock:
                if self._made is None:
                    self._made = resolve_name(self.build)(*self._given)
        made = self._made
        assert made is not None
        return made

    async def load(self) -> T:
        """It, imported in a thread."""
        if self._made is None:
            await run_sync(import_module, self.build.partition(":")[0])
        return self.get()

    def handler(self, find: Callable[[T], Callable[P, Awaitable[R]]]) -> Callable[P, Awaitable[R]]:
        """An asynchronous function of it, which loads it with its first call."""

        async def run(*given: P.args, **named: P.kwargs) -> R:
            return await find(await self.load())(*given, **named)

        return run
