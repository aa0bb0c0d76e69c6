"""Who is believed about who is there."""

from ipaddress import ip_network

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pecia.interfaces.http.middleware.edge import resolve_client
from pecia.interfaces.http.middleware.proxy_headers import (
    ForwardedClient,
    parse_address,
)
from pecia.kernel.errors import InvalidRequest

TRUSTED = (ip_network("10.0.0.0/8"), ip_network("fd00::/8"))
PROXY = "10.0.0.1"
CLIENT = "203.0.113.9"


def through(peer: str | None, **headers: str) -> ForwardedClient:
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return resolve_client(peer, "http", {"host": "inner", **names}, TRUSTED)


def test_a_direct_client_is_the_peer() -> None:
    assert through(CLIENT) == ForwardedClient(CLIENT, "http", "inner", False)


def test_an_untrusted_peer_speaks_only_for_itself() -> None:
    found = through(
        CLIENT,
        x_forwarded_for="127.0.0.1",
        x_forwarded_host="evil",
        x_forwarded_proto="https",
        forwarded="for=127.0.0.1;host=evil;proto=https",
    )
    assert found == ForwardedClient(CLIENT, "http", "inner", True)


def test_a_trusted_proxy_names_client_scheme_and_host() -> None:
    found = through(
        PROXY, x_forwarded_for=CLIENT, x_forwarded_proto="https", x_forwarded_host="pecia.example"
    )
    assert found == ForwardedClient(CLIENT, "https", "pecia.example", True)


def test_the_standard_header_says_the_same() -> None:
    found = through(PROXY, forwarded=f'for="{CLIENT}:4711";proto=https;host="pecia.example"')
    assert found == ForwardedClient(CLIENT, "https", "pecia.example", True)


def test_an_address_of_ipv6_is_read_in_brackets() -> None:
    assert through(PROXY, forwarded='for="[2001:db8::1]:80"').client_ip == "2001:db8::1"


def test_the_client_is_the_rightmost_that_is_not_ours() -> None:
    chain = f"1.1.1.1, {CLIENT}, 10.2.0.1, fd00::7"
    assert through(PROXY, x_forwarded_for=chain).client_ip == CLIENT


def test_a_chain_of_our_own_proxies_ends_at_its_far_end() -> None:
    assert through(PROXY, x_forwarded_for="10.9.9.9, 10.2.0.1").client_ip == "10.9.9.9"


@pytest.mark.parametrize("hidden", ["unknown", "_hidden", "", "not an address", "1.2.3.4.5"])
def test_behind_an_address_nobody_can_read_the_proxy_itself_is_the_client(hidden: str) -> None:
    assert through(PROXY, x_forwarded_for=f"{hidden}, 10.2.0.1").client_ip == "10.2.0.1"


def test_a_mapped_address_is_the_address_it_maps() -> None:
    assert through(f"::ffff:{CLIENT}").client_ip == CLIENT
    assert through(f"::ffff:{PROXY}", x_forwarded_for=CLIENT).client_ip == CLIENT


def test_a_scheme_that_is_none_is_not_believed() -> None:
    assert through(PROXY, x_forwarded_proto="javascript").scheme == "http"


def test_of_several_hosts_the_nearest_proxys_counts() -> None:
    assert through(PROXY, x_forwarded_host="evil, pecia.example").host == "pecia.example"


def test_two_accounts_that_differ_are_refused() -> None:
    with pytest.raises(InvalidRequest):
        through(PROXY, x_forwarded_for=CLIENT, forwarded="for=127.0.0.1")


def test_two_accounts_that_agree_are_taken() -> None:
    found = through(PROXY, x_forwarded_for=CLIENT, forwarded=f"for=6.6.6.6, for={CLIENT}")
    assert found.client_ip == CLIENT


@pytest.mark.parametrize("mark", ["via", "x-real-ip", "x-forwarded-for", "forwarded"])
def test_a_request_that_any_proxy_touched_counts_as_forwarded(mark: str) -> None:
    assert resolve_client("127.0.0.1", "http", {"host": "h", mark: "x"}, ()).was_forwarded


def test_a_socket_without_a_peer_has_no_address() -> None:
    assert through(None).client_ip is None


@given(lie=st.text(alphabet=st.characters(codec="latin-1", exclude_characters="\r\n")))
@settings(max_examples=100, deadline=None)
def test_whatever_a_client_writes_before_it_its_own_address_stands(lie: str) -> None:
    assert through(PROXY, x_forwarded_for=f"{lie}, {CLIENT}").client_ip == CLIENT


@given(peer=st.ip_addresses(), said=st.ip_addresses())
@settings(max_examples=100, deadline=None)
def test_only_a_trusted_peer_moves_the_client(peer: object, said: object) -> None:
    address = parse_address(str(peer))
    assert address is not None
    is_trusted = any(address.version == it.version and address in it for it in TRUSTED)
    found = through(str(peer), x_forwarded_for=str(said)).client_ip
    assert found == str(parse_address(str(said)) if is_trusted else address)
