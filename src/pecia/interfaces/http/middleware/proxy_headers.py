"""The client address behind a proxy. Only a trusted peer's headers count. Pure."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import TypeAlias

from pecia.kernel.errors import InvalidRequest

IpNetwork: TypeAlias = IPv4Network | IPv6Network
IpAddress: TypeAlias = IPv4Address | IPv6Address

PROXY_HEADERS = frozenset(
    ("forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip")
)
"""Headers that only a proxy writes, or a client that pretends to be one."""

HTTP_SCHEMES = {"http": "http", "https": "https", "ws": "http", "wss": "https"}
_ELEMENT = re.compile(r'(?:[^",]|"(?:[^"\\]|\\.)*")+')
_PAIR = re.compile(r'([A-Za-z]+)=("(?:[^"\\]|\\.)*"|[^\s;,"]*)')


@dataclass(frozen=True, slots=True)
class ForwardedClient:
    """The client end of a connection, as far as it can be trusted."""

    client_ip: str | None
    scheme: str
    host: str
    was_forwarded: bool


def client_behind_proxy(
    direct: ForwardedClient,
    proxy: IpAddress,
    headers: Mapping[str, str],
    trusted: Sequence[IpNetwork],
) -> ForwardedClient:
    """The client that a trusted proxy names. Several values of a header are joined by commas."""
    by_custom, by_standard = _parse_x_forwarded(headers), _parse_forwarded(headers)
    clients = {
        _first_untrusted(it.chain, proxy, trusted) for it in (by_custom, by_standard) if it.chain
    }
    if len(clients) > 1:
        # A proxy writes one of the two and lets the other through as the client sent it.
        raise InvalidRequest(
            "Forwarded and X-Forwarded-For name different clients",
            hint="have the proxy set one of them and remove the other",
        )
    return ForwardedClient(
        client_ip=str(clients.pop() if clients else proxy),
        scheme=by_custom.scheme or by_standard.scheme or direct.scheme,
        host=by_custom.host or by_standard.host or direct.host,
        was_forwarded=True,
    )


@lru_cache(maxsize=4096)
def parse_address(text: str | None) -> IpAddress | None:
    """An address as proxies write it: perhaps in brackets, with a port or a zone."""
    bare = (text or "").strip()
    if bare.startswith("["):
        bare = bare[1:].partition("]")[0]
    elif bare.count(":") == 1:
        bare = bare.partition(":")[0]
    try:
        found = ip_address(bare.partition("%")[0])
    except ValueError:
        return None
    if isinstance(found, IPv6Address) and found.ipv4_mapped is not None:
        return found.ipv4_mapped
    return found


@dataclass(frozen=True, slots=True)
class _ForwardedHeaders:
    """The addresses in one family of headers, client first, nearest proxy last."""

    chain: tuple[str, ...]
    scheme: str | None
    host: str | None


def _parse_x_forwarded(headers: Mapping[str, str]) -> _ForwardedHeaders:
    chain = headers.get("x-forwarded-for", "")
    return _ForwardedHeaders(
        chain=tuple(it.strip() for it in chain.split(",")) if chain else (),
        scheme=HTTP_SCHEMES.get(_last_value(headers.get("x-forwarded-proto", "")).lower()),
        host=_last_value(headers.get("x-forwarded-host", "")) or None,
    )


def _parse_forwarded(headers: Mapping[str, str]) -> _ForwardedHeaders:
    hops = [dict(_parse_pairs(it)) for it in _ELEMENT.findall(headers.get("forwarded", ""))]
    nearest = hops[-1] if hops else {}
    return _ForwardedHeaders(
        chain=tuple(it.get("for", "") for it in hops),
        scheme=HTTP_SCHEMES.get(nearest.get("proto", "").lower()),
        host=nearest.get("host") or None,
    )


def _parse_pairs(element: str) -> Iterator[tuple[str, str]]:
    for name, value in _PAIR.findall(element):
        quoted = value.startswith('"')
        yield name.lower(), re.sub(r"\\(.)", r"\1", value[1:-1]) if quoted else value


def _last_value(values: str) -> str:
    """The last value: the one that the proxy next to us wrote."""
    return values.rpartition(",")[2].strip()


def _first_untrusted(
    chain: Sequence[str], peer: IpAddress, trusted: Sequence[IpNetwork]
) -> IpAddress:
    """The first hop, from our end, that is no trusted proxy. Beyond it nothing is trusted."""
    nearest = peer
    for hop in reversed(chain):
        address = parse_address(hop)
        if address is None:
            return nearest
        nearest = address
        if not is_trusted(address, trusted):
            return nearest
    return nearest


def is_trusted(address: IpAddress, trusted: Sequence[IpNetwork]) -> bool:
    return any(address.version == it.version and address in it for it in trusted)
