"""Rate limit for refreshes that servers request with list-changed notifications."""

from collections.abc import Awaitable, Callable

import anyio

from pecia.features.hub.connection_pool import ServerKey
from pecia.features.hub.core.catalog import UpstreamCatalog
from pecia.kernel.errors import PeciaError
from pecia.kernel.logs import Log

MIN_REFRESH_INTERVAL_S = 0.5

_log = Log(__name__)


class RefreshThrottle:
    """Refreshes requested by servers: one at a time per server, requests meanwhile coalesced."""

    def __init__(self) -> None:
        self._requests: dict[ServerKey, int] = {}

    async def refresh(
        self, key: ServerKey, refresh_catalog: Callable[[], Awaitable[UpstreamCatalog]]
    ) -> None:
        """Refresh, and once more if another request arrived meanwhile."""
        self._requests[key] = self._requests.get(key, 0) + 1
        if self._requests[key] > 1:
            return
        while self._requests.get(key):
            self._requests[key] = 1
            try:
                await refresh_catalog()
            except PeciaError as error:
                _log.failure("hub.look", error)
            await anyio.sleep(MIN_REFRESH_INTERVAL_S)
            if self._requests[key] == 1:
                del self._requests[key]
