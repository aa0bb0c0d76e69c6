"""What the outside may be reached at: schemes, hosts, ports, addresses. Pure: no lookup, no I/O."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, ip_network
from typing import TYPE_CHECKING, NoReturn

from pecia.adapters.http.address import (
    Address,
    AmbiguousAddress,
    Network,
    find_forbidding_rule,
    parse_address,
)
from pecia.kernel.errors import Forbidden, InvalidFormat

if TYPE_CHECKING:
    import httpx2

MAX_URL_CHARS = 8_192
HINT = (
    "On a server its operator gives a tenant a host or a network: pecia tenant allow TENANT --host "
    "HOST. A local install names them in its settings, as trusted_hosts."
)

_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
_DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class EgressTarget:
    """A URL that passed every check that needs no lookup."""

    url: "httpx2.URL"
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class EgressRules:
    """What is allowed; by default http and https on their own ports, at public addresses.

    `hosts` (as `name` or `name:port`) and `networks` are what an operator trusts: a trusted host
    may have any address, a trusted address may be reached on any port.
    """

    schemes: frozenset[str] = frozenset({"http", "https"})
    ports: frozenset[int] = frozenset({80, 443})
    hosts: frozenset[str] = frozenset()
    networks: tuple[Network, ...] = ()

    @classmethod
    def from_trusted_hosts(cls, names: Iterable[str]) -> "EgressRules":
        """The public web, and each host, `host:port`, address or network named here."""
        hosts: set[str] = set()
        networks: list[Network] = []
        for name in names:
            try:
                networks.append(ip_network(name))
            except ValueError:
                hosts.add(_trusted_host(name))
        return cls(hosts=frozenset(hosts), networks=tuple(networks))

    def check(self, text: str, *, field: str = "url") -> EgressTarget:
        """The URL parsed and found allowed, as far as can be said without a lookup."""
        url = _parse_url(text, field)
        if url.scheme not in self.schemes:
            _refuse("scheme", url, f"only {_join_values(self.schemes)} URLs are fetched")
        if url.userinfo:
            _refuse("userinfo", url, "a URL must not contain a user name or a password")
        host = url.raw_host.decode("ascii").lower()
        port = _DEFAULT_PORTS.get(url.scheme, 0) if url.port is None else url.port
        if not 0 < port < 65_536:
            _refuse("port", url, f"{port} is not a port")
        address = _host_address(url, host)
        if _is_loopback_name(host) and not any(it.is_loopback for it in self.networks):
            address = IPv4Address("127.0.0.1")
        if address is not None:
            self.require_allowed(host, port, [address])
        return EgressTarget(url, host, port)

    def require_allowed(self, host: str, port: int, addresses: Sequence[Address]) -> None:
        """Refuse unless the host may be reached at every one of these addresses, on this port.

        One forbidden address is enough: an honest public name has none. The message keeps the
        address to itself, because what an internal name resolves to is not the caller's to know.
        """
        if f"{host}:{port}" in self.hosts:
            return
        trusted = host in self.hosts
        for address in addresses:
            if any(address in network for network in self.networks):
                continue
            if port not in self.ports:
                _refuse_host("port", host, f"port {port} is not one of {_join_values(self.ports)}")
            rule = None if trusted else find_forbidding_rule(address)
            if rule is not None:
                _refuse_host(rule, host, f"{host!r} is at an address that is not public ({rule})")


def validate_url(text: str, *, field: str) -> None:
    """Refuse what no fetch could accept, whoever asks: a URL that is malformed."""
    try:
        url = _parse_url(text, field)
        if url.port is not None and not 0 < url.port < 65_536:
            _refuse("port", url, f"{url.port} is not a port")
        _host_address(url, url.raw_host.decode("ascii").lower())
    except (InvalidFormat, Forbidden) as error:
        raise InvalidFormat(
            f'Field "{field}" is not a URL that can be fetched: '
            f"{error.message.removeprefix('refused: ')}",
            field=field,
            got=text[:500],
            expected="https://HOST/PATH, the host a domain name or an IP address",
        ) from None


def _parse_url(text: str, field: str) -> "httpx2.URL":
    if len(text) > MAX_URL_CHARS:
        raise InvalidFormat(
            f"the URL has {len(text)} characters, at most {MAX_URL_CHARS} are read",
            field=field,
            max=MAX_URL_CHARS,
        )
    # Lazy import: rules are made at every start, and most check no URL.
    import httpx2

    try:
        url = httpx2.URL(text)
    except httpx2.InvalidURL as error:
        raise InvalidFormat(f"not a URL: {error}", field=field) from None
    if not url.scheme or not url.raw_host:
        raise InvalidFormat("not an absolute URL: scheme and host are needed", field=field)
    return url


def _host_address(url: "httpx2.URL", host: str) -> Address | None:
    try:
        address = parse_address(host)
    except AmbiguousAddress:
        _refuse("odd_address", url, "an address must be written the one usual way")
    if address is None and not _is_name(host):
        _refuse("odd_host", url, "the host is neither an address nor a domain name")
    return address


def _is_name(host: str) -> bool:
    labels = host.removesuffix(".").split(".")
    return len(host) <= 253 and all(_LABEL.fullmatch(label) for label in labels)


def _is_loopback_name(host: str) -> bool:
    """Whether the name is this machine's, whatever a resolver says (RFC 6761)."""
    return host.removesuffix(".").rpartition(".")[2] == "localhost"


def _trusted_host(name: str) -> str:
    host, colon, port = name.lower().partition(":")
    if not _is_name(host) or (colon and not port.isdecimal()):
        raise InvalidFormat(
            f"{name!r} is not a host, a host:port, an address or a network", field="allow"
        )
    return name.lower()


def _refuse(rule: str, url: "httpx2.URL", reason: str) -> NoReturn:
    _refuse_host(rule, url.raw_host.decode("ascii"), reason)


def _refuse_host(rule: str, host: str, reason: str) -> NoReturn:
    raise Forbidden(
        f"refused: {reason}",
        rule=rule,
        host=host,
        hint=HINT,
    )


def _join_values(values: Iterable[str] | Iterable[int]) -> str:
    return ", ".join(sorted(str(value) for value in values))
