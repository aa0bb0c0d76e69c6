"""Who is at the other end of a connection, as the kernel tells it in both of its ways."""

import os
import socket
import sys
from collections.abc import Generator
from contextlib import contextmanager

import pytest

from pecia.adapters.http import peer_credentials

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells")

WAYS = {
    "IPv4": ("127.0.0.1", "127.0.0.1"),
    "IPv6": ("::1", "::1"),
    "IPv4 to a socket of both": ("::", "127.0.0.1"),
    "IPv4 written as IPv6": ("::", "::ffff:127.0.0.1"),
}


@contextmanager
def connected(address: str, to: str) -> Generator[tuple[socket.socket, socket.socket]]:
    """Our end, and the other one."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    both = address == "::"
    with socket.create_server((address, 0), family=family, dualstack_ipv6=both) as listener:
        there = socket.create_connection((to, listener.getsockname()[1]))
        here, _ = listener.accept()
        with here, there:
            yield here, there


def ends(here: socket.socket) -> peer_credentials.SocketPair:
    plain = peer_credentials.normalize_address
    far, near = here.getsockname(), here.getpeername()
    return peer_credentials.SocketPair((plain(near[0]), near[1]), (plain(far[0]), far[1]))


@pytest.mark.parametrize("way", WAYS)
def test_a_living_connection_has_its_user(way: str) -> None:
    with connected(*WAYS[way]) as (here, _):
        assert peer_credentials.find_peer_uid(here.fileno()) == os.geteuid()


@pytest.mark.parametrize("way", WAYS)
def test_both_ways_of_asking_say_the_same(way: str) -> None:
    with connected(*WAYS[way]) as (here, _):
        found = peer_credentials.find_socket_by_netlink(ends(here))
        assert found == peer_credentials.find_socket_by_proc(ends(here))
        assert found is not None
        assert (found.uid, found.is_alive) == (os.geteuid(), True)


@pytest.mark.parametrize("way", WAYS)
def test_one_that_is_closing_has_none(way: str) -> None:
    with connected(*WAYS[way]) as (here, there):
        asked = ends(here)
        there.close()
        assert peer_credentials.find_peer_uid(here.fileno()) is None
        for found in (
            peer_credentials.find_socket_by_netlink(asked),
            peer_credentials.find_socket_by_proc(asked),
        ):
            assert found is None or not found.is_alive
        here.close()
        for found in (
            peer_credentials.find_socket_by_netlink(asked),
            peer_credentials.find_socket_by_proc(asked),
        ):
            assert found is None or not found.is_alive


def test_a_half_that_is_closed_is_enough() -> None:
    with connected("127.0.0.1", "127.0.0.1") as (here, there):
        there.shutdown(socket.SHUT_WR)
        assert peer_credentials.find_peer_uid(here.fileno()) is None


def test_a_listener_is_nobodys_end() -> None:
    """The kernel answers with a listener where it finds no connection."""
    with connected("127.0.0.1", "127.0.0.1") as (here, _):
        asked = ends(here)
        swapped = peer_credentials.SocketPair(asked.far, (asked.near[0], 1))
        found = peer_credentials.find_socket_by_netlink(swapped)
        assert found is None or found.ends != swapped or not found.is_alive


def test_a_socket_that_is_not_of_this_machine_alone_has_none() -> None:
    here, there = socket.socketpair()
    with here, there:
        assert peer_credentials.find_peer_uid(here.fileno()) is None
