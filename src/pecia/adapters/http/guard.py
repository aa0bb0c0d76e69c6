"""The one way out to an address: looked up once, checked, and then connected to as checked.

It never hands a host name to the operating system to connect to. A name that changes its answer
between the check and the connection therefore gains nothing.
"""

import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, cast

import anyio
import httpcore2
from httpcore2 import SOCKET_OPTION

from pecia.adapters.http.address import Address, parse_address
from pecia.adapters.http.egress_rules import EgressRules
from pecia.kernel.errors import UpstreamError

Resolve: TypeAlias = Callable[[str, int], Awaitable[Sequence[Address]]]


async def resolve_host(host: str, port: int) -> Sequence[Address]:
    """Every address the system's resolver gives for a name."""
    try:
        found = await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return ()
    addresses = (parse_address(sockaddr[0].partition("%")[0]) for *_, sockaddr in found)
    # The system may list an address once per protocol.
    return tuple(dict.fromkeys(address for address in addresses if address is not None))


@dataclass(frozen=True, slots=True)
class EgressGuard:
    """Rules, and the resolver whose answers are held against them."""

    rules: EgressRules = field(default_factory=EgressRules)
    resolve: Resolve = resolve_host

    async def addresses(self, host: str, port: int) -> Sequence[Address]:
        """Where this host may be reached: never empty, every one of them allowed."""
        address = parse_address(host)
        addresses = [address] if address is not None else await self.resolve(host, port)
        if not addresses:
            raise UpstreamError(f"no address is known for {host!r}", host=host)
        self.rules.require_allowed(host, port, addresses)
        return addresses


class GuardedBackend(httpcore2.AsyncNetworkBackend):
    """What the connection pool opens sockets with. TLS still sees the host's own name."""

    def __init__(self, guard: EgressGuard) -> None:
        self._guard = guard
        # The class is declared twice, once for those without anyio, and pyright sees the wrong one.
        self._inner = cast(httpcore2.AsyncNetworkBackend, httpcore2.AnyIOBackend())

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109  The interface is httpcore2's.
        local_address: str | None = None,
        socket_options: Iterable[SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        try:
            with anyio.fail_after(timeout):
                addresses = await self._guard.addresses(host, port)
                return await self._first_open(addresses, port, timeout)
        except TimeoutError:
            raise httpcore2.ConnectTimeout(f"no connection to {host!r} in time") from None

    async def _first_open(
        self, addresses: Sequence[Address], port: int, timeout_s: float | None
    ) -> httpcore2.AsyncNetworkStream:
        # Each address gets its share, so that one silent address does not use up the whole time.
        share_s = None if timeout_s is None else timeout_s / len(addresses)
        for address in addresses[:-1]:
            try:
                return await self._inner.connect_tcp(str(address), port, share_s)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                continue
        return await self._inner.connect_tcp(str(addresses[-1]), port, share_s)

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(seconds)
