"""However a forbidden address is written, nothing connects to it."""

import socket
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import anyio
from hypothesis import given, settings
from hypothesis import strategies as st

from pecia.adapters.http.address import Address, find_forbidding_rule
from pecia.adapters.http.egress_rules import EgressRules
from pecia.adapters.http.guard import EgressGuard
from pecia.kernel.errors import Forbidden, InvalidFormat, UpstreamError

EVERY_PORT = frozenset(range(65_536))

INSIDE_V4 = [
    *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16"),
    *("172.16.0.0/12", "192.168.0.0/16", "168.63.129.16/32", "224.0.0.0/4", "240.0.0.0/4"),
]
INSIDE_V6 = ["::/127", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8", "2001::/23"]

# Each prefix, and how far the IPv4 address it carries is shifted to the left.
CARRIERS = [
    *(("::ffff:0:0", 0), ("::ffff:0:0:0", 0), ("::", 0), ("64:ff9b::", 0)),
    *(("64:ff9b:1::", 0), ("2002::", 80)),
]


def within(networks: Sequence[str]) -> st.SearchStrategy[Address]:
    def inside(network: str) -> st.SearchStrategy[Address]:
        known = ip_network(network)
        first, last = int(known[0]), int(known[-1])
        kind = IPv4Address if known.version == 4 else IPv6Address
        return st.integers(first, last).map(kind)

    return st.sampled_from(networks).flatmap(inside)


def number(value: int, base: str, padding: int) -> str:
    digits = {"decimal": "{:d}", "octal": "{:o}", "hex": "{:x}", "HEX": "{:X}"}[base].format(value)
    prefix = {"decimal": "", "octal": "0", "hex": "0x", "HEX": "0X"}[base]
    # A decimal number with a zero in front would be an octal one.
    return digits if base == "decimal" else prefix + "0" * padding + digits


@st.composite
def odd_v4(draw: st.DrawFn, address: IPv4Address) -> str:
    """One of the ways inet_aton reads this address: one to four numbers, each in any base."""
    count = draw(st.integers(1, 4))
    whole = int(address)
    heads = [(whole >> (24 - 8 * place)) & 0xFF for place in range(count - 1)]
    parts = [*heads, whole & ((1 << (8 * (5 - count))) - 1)]
    bases = st.sampled_from(["decimal", "octal", "hex", "HEX"])
    return ".".join(number(part, draw(bases), draw(st.integers(0, 3))) for part in parts)


@st.composite
def disguised(draw: st.DrawFn, text: str) -> str:
    """The same host with letters that a lenient reader would fold back."""
    how = draw(st.sampled_from(["plain", "dot", "percent", "fullwidth", "ideographic", "circled"]))
    match how:
        case "dot":
            return text + "."
        case "percent":
            return "".join(f"%{ord(letter):02x}" for letter in text)
        case "fullwidth":
            return "".join(chr(ord(it) + 0xFEE0) if it.isdigit() else it for it in text)
        case "ideographic":
            return text.replace(".", "。")
        case "circled":
            return text.replace("1", "①").replace("2", "②")
        case _:
            return text


@st.composite
def spellings_v4(draw: st.DrawFn) -> tuple[Address, str]:
    address = draw(within(INSIDE_V4))
    assert isinstance(address, IPv4Address)
    plain = draw(st.one_of(st.just(str(address)), odd_v4(address)))
    return address, draw(disguised(plain))


@st.composite
def spellings_v6(draw: st.DrawFn) -> tuple[Address, str]:
    prefix, shift = draw(st.sampled_from(CARRIERS))
    carried = int(draw(within(INSIDE_V4))) << shift
    carrier = st.just(IPv6Address(int(IPv6Address(prefix)) | carried))
    address = draw(st.one_of(carrier, within(INSIDE_V6)))
    forms = [address.compressed, address.exploded, address.exploded.upper()]
    if int(address) < 1 << 48:
        head = IPv6Address(int(address) >> 32 << 32).compressed.removesuffix("0:0")
        forms.append(f"{head}{IPv4Address(int(address) & 0xFFFFFFFF)}")
    zone = draw(st.sampled_from(["", "", "%25lo", "%lo"]))
    return address, f"[{draw(st.sampled_from(forms))}{zone}]"


def reached(url: str, answer: Address) -> Sequence[Address]:
    """Where a request would be sent, with a resolver that reads any spelling of the address."""

    async def lenient(host: str, port: int) -> Sequence[Address]:
        return [answer]

    guard = EgressGuard(EgressRules(ports=EVERY_PORT), lenient)

    async def go() -> Sequence[Address]:
        target = guard.rules.check(url)
        return await guard.addresses(target.host, target.port)

    try:
        return anyio.run(go)
    except (Forbidden, InvalidFormat, UpstreamError):
        return ()


@given(st.one_of(spellings_v4(), spellings_v6()), st.sampled_from(["http", "https"]))
@settings(max_examples=100, deadline=None)
def test_every_spelling_of_a_forbidden_address_is_refused(
    spelling: tuple[Address, str], scheme: str
) -> None:
    address, host = spelling
    assert reached(f"{scheme}://{host}/", address) == ()


@given(within(INSIDE_V4).flatmap(lambda it: odd_v4(IPv4Address(int(it)))))
@settings(max_examples=50, deadline=None)
def test_the_spellings_of_this_law_are_ones_the_system_reads_as_forbidden(host: str) -> None:
    read = IPv4Address(socket.inet_aton(host))
    assert find_forbidding_rule(read) is not None


@given(within(INSIDE_V4 + INSIDE_V6), st.lists(within(["8.0.0.0/9", "2600::/12"]), max_size=3))
@settings(max_examples=50, deadline=None)
def test_a_name_with_one_forbidden_address_is_refused(
    inside: Address, public: list[Address]
) -> None:
    async def mixed(host: str, port: int) -> Sequence[Address]:
        return [*public, inside]

    async def go() -> bool:
        try:
            await EgressGuard(EgressRules(), mixed).addresses("name.test", 80)
        except Forbidden:
            return True
        return False

    assert anyio.run(go)


@given(within(["8.0.0.0/9", "93.184.0.0/16", "2600::/12", "2a00::/12"]))
@settings(max_examples=50, deadline=None)
def test_a_public_address_written_the_usual_way_is_reached(address: Address) -> None:
    host = f"[{address}]" if address.version == 6 else str(address)
    assert reached(f"http://{host}/", ip_address("127.0.0.1")) == [address]
