"""The keys of one issuer: fetched, cached and refreshed.

It never follows an address found in a token, only the one it was given.
"""

import logging
import math
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

import anyio
from joserfc.jwk import Key

from pecia.kernel.errors import PeciaError, Unavailable
from pecia.kernel.identity.jwk import Jwk, choose_key, parse_key_set
from pecia.kernel.identity.token_error import invalid_token

_log = logging.getLogger(__name__)


class FetchJwks(Protocol):
    """Reads one URL, without following redirects. Raises a PeciaError or OSError if it cannot."""

    async def __call__(self, url: str, /) -> bytes: ...


@dataclass(frozen=True, slots=True)
class JwksCachePolicy:
    """How long keys serve, and how often an issuer may be asked."""

    ttl_s: float = 600
    cool_down_s: float = 30
    max_stale_s: float = 24 * 3600
    timeout_s: float = 5


# Reading a file costs nobody anything, so a change is seen within a second.
FILE_CACHE_POLICY = JwksCachePolicy(ttl_s=1, cool_down_s=1)


class JwksCache:
    """One issuer's keys, read by one caller at a time and at most once per cool-down.

    While the issuer cannot be read, known keys serve on until they are `max_stale_s` old.
    """

    def __init__(
        self,
        where: str,
        read: Callable[[], Awaitable[bytes]],
        freshness: JwksCachePolicy,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._where = where
        self._read = read
        self._freshness = freshness
        self._clock = clock
        self._lock = anyio.Lock()
        self._keys: tuple[Jwk, ...] = ()
        self._loaded_at = -math.inf
        self._tried_at = -math.inf
        self._is_readable = False

    async def find(self, kid: str | None, algorithm: str) -> Key:
        """The key to verify with.

        AuthRequired when the issuer publishes no such key. Unavailable when it cannot be asked:
        the key may be newer than those cached, and a client that gets 503 keeps its good token,
        where one that gets 401 would throw it away. Nothing is let through either way.
        """
        found = self._find_fresh(kid, algorithm)
        # A known key does not wait for a refresh in progress.
        if self._is_due(found) and not (found and self._lock.locked()):
            async with self._lock:
                if self._is_due(self._find_fresh(kid, algorithm)):
                    await self._reload()
            found = self._find_fresh(kid, algorithm)
        if found is None:
            raise self._refusal()
        return found.key

    def _find_fresh(self, kid: str | None, algorithm: str) -> Jwk | None:
        if self._clock() - self._loaded_at >= self._freshness.max_stale_s:
            return None
        return choose_key(self._keys, kid, algorithm)

    def _is_due(self, found: Jwk | None) -> bool:
        now = self._clock()
        if now - self._tried_at < self._freshness.cool_down_s:
            return False
        return found is None or now - self._loaded_at >= self._freshness.ttl_s

    async def _reload(self) -> None:
        self._is_readable = False
        try:
            # Shielded, because the read serves everyone who waits for it: a caller that hangs up
            # must neither spoil it nor make the next one start over. The deadline bounds it.
            with anyio.fail_after(self._freshness.timeout_s, shield=True):
                body = await self._read()
            self._keys = parse_key_set(body)
            self._loaded_at = self._clock()
            self._is_readable = True
        except (PeciaError, OSError) as error:
            _log.warning(
                "keys of %s not read: %s",
                self._where,
                error,
                extra={"action": "jwks_reload_failed"},
            )
        finally:
            self._tried_at = self._clock()

    def _refusal(self) -> PeciaError:
        if self._is_readable:
            return invalid_token("the token is signed with a key that its issuer does not publish")
        wait_s = self._tried_at + self._freshness.cool_down_s - self._clock()
        return Unavailable(
            "the keys of the token's issuer cannot be read now",
            retry_after_seconds=max(1, math.ceil(wait_s)),
        )
