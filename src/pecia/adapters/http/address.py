"""Which addresses a stranger may send us to. Pure: no lookup, no clock, no I/O."""

import re
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)
from typing import TypeAlias

Address: TypeAlias = IPv4Address | IPv6Address
Network: TypeAlias = IPv4Network | IPv6Network


class AmbiguousAddress(ValueError):
    """A host that some resolvers read as an address, but is not written as one."""


def find_forbidding_rule(address: Address) -> str | None:
    """The rule that forbids this address, or None where it is a public one."""
    if isinstance(address, IPv4Address):
        return _first_rule(address, _NEVER_V4)
    rule = _first_rule(address, _NEVER_V6)
    if rule is None and address not in _GLOBAL_V6:
        return "reserved"
    return rule


def parse_address(host: str) -> Address | None:
    """The address this host spells, or None where it is a name.

    Only the one canonical spelling of an address counts. `127.1`, `0x7f000001`, `2130706433` and
    `0177.0.0.1` mean loopback to some resolvers and a name to others: they are refused.
    """
    if ":" in host:
        return _spelled_v6(host)
    last = host.rstrip(".").rpartition(".")[2]
    if not _NUMBER.fullmatch(last):
        return None
    try:
        address = IPv4Address(host)
    except ValueError:
        raise AmbiguousAddress(host) from None
    return address


def _spelled_v6(host: str) -> Address:
    try:
        address = ip_address(host)
    except ValueError:
        raise AmbiguousAddress(host) from None
    # A zone names one of our own interfaces, which is not for a stranger to choose.
    if "%" in host or isinstance(address, IPv4Address):
        raise AmbiguousAddress(host)
    return address


# A last label that is a number makes the whole host an IPv4 address to a browser or to inet_aton.
_NUMBER = re.compile(r"[0-9]+|0[xX][0-9a-fA-F]*")

_Rule: TypeAlias = tuple[str, tuple[Network, ...]]


def _first_rule(address: Address, rules: tuple[_Rule, ...]) -> str | None:
    return next(
        (name for name, networks in rules if any(address in network for network in networks)), None
    )


def _rule(name: str, *networks: str) -> _Rule:
    return name, tuple(ip_network(network) for network in networks)


# The tables are written out, because `is_global` of the standard library differs between the
# patch releases of the Pythons we support.
_NEVER_V4 = (
    _rule("this_network", "0.0.0.0/8"),
    _rule("private", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"),
    _rule("carrier_nat", "100.64.0.0/10"),
    _rule("loopback", "127.0.0.0/8"),
    _rule("link_local", "169.254.0.0/16"),
    # A public address that answers only inside one cloud, with the secrets of the machine.
    _rule("cloud_metadata", "168.63.129.16/32"),
    _rule("benchmark", "198.18.0.0/15"),
    _rule("documentation", "192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24"),
    _rule("protocol", "192.0.0.0/24", "192.88.99.0/24"),
    _rule("multicast", "224.0.0.0/4"),
    _rule("reserved", "240.0.0.0/4"),
)

# An IPv6 form that carries an IPv4 address is refused whatever it carries: an honest name answers
# with the IPv4 address itself.
_NEVER_V6 = (
    _rule("unspecified", "::/128"),
    _rule("loopback", "::1/128"),
    _rule("ipv4_mapped", "::ffff:0:0/96", "::ffff:0:0:0/96", "::/96"),
    _rule("nat64", "64:ff9b::/96", "64:ff9b:1::/48"),
    _rule("6to4", "2002::/16"),
    _rule("teredo", "2001::/32"),
    _rule("protocol", "2001::/23"),
    _rule("documentation", "2001:db8::/32", "3fff::/20"),
    _rule("private", "fc00::/7"),
    _rule("link_local", "fe80::/10"),
    _rule("site_local", "fec0::/10"),
    _rule("multicast", "ff00::/8"),
)

_GLOBAL_V6 = IPv6Network("2000::/3")
