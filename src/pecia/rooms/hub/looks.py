"""Looks at servers that are asked for more often than they should be had."""

from collections.abc import Awaitable, Callable

import anyio

from pecia.kernel.errors import PeciaError
from pecia.kernel.logs import Log
from pecia.rooms.hub.board import Key
from pecia.rooms.hub.offers import Catalog

BETWEEN_LOOKS_S = 0.5

_log = Log(__name__)


class Looks:
    """Looks that servers asked for: one at a time for each, however often it asks."""

    def __init__(self) -> None:
        self._asked: dict[Key, int] = {}

    async def again(self, key: Key, look: Callable[[], Awaitable[Catalog]]) -> None:
        """Look, and once more where it asked for that in the meantime."""
        self._asked[key] = self._asked.get(key, 0) + 1
        if self._asked[key] > 1:
            return
        while self._asked.get(key):
            self._asked[key] = 1
            try:
                await look()
            except PeciaError as error:
                _log.failure("hub.look", error)
            await anyio.sleep(BETWEEN_LOOKS_S)
            if self._asked[key] == 1:
                del self._asked[key]
