"""Which port a server gets."""

import os
import socket
from collections.abc import Iterator

import pytest

from pecia.interfaces.cli.server.port import find_port_holder, reserve_port, server_url
from pecia.kernel.errors import Conflict, InvalidInput

HOST = "127.0.0.1"


@pytest.fixture
def busy() -> Iterator[int]:
    """A port that somebody listens on."""
    with socket.socket() as listener:
        listener.bind((HOST, 0))
        listener.listen()
        yield listener.getsockname()[1]


def test_port_zero_takes_a_free_one() -> None:
    reserved = reserve_port(HOST, 0, exact=True)
    assert reserved.port > 0
    reserved.release()


def test_a_port_that_is_reserved_is_taken_for_everybody_else() -> None:
    reserved = reserve_port(HOST, 0, exact=True)
    with pytest.raises(Conflict):
        reserve_port(HOST, reserved.port, exact=True)
    reserved.release()
    reserve_port(HOST, reserved.port, exact=True).release()


def test_the_next_free_port_is_taken_when_the_default_is_busy(busy: int) -> None:
    reserved = reserve_port(HOST, busy, exact=False)
    assert reserved.port != busy
    reserved.release()


def test_a_port_that_was_asked_for_by_name_is_refused_with_its_holder(busy: int) -> None:
    with pytest.raises(Conflict, match=f"port {busy} .* taken by .*pid {os.getpid()}") as caught:
        reserve_port(HOST, busy, exact=True)
    assert caught.value.fields["port"] == busy


def test_nobody_in_particular_holds_a_port_that_is_free() -> None:
    reserved = reserve_port(HOST, 0, exact=True)
    reserved.release()
    assert find_port_holder(reserved.port) == "another program"


def test_an_address_that_is_not_of_this_machine_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"cannot listen on 192\.0\.2\.1:\d+: "):
        reserve_port("192.0.2.1", 0, exact=True)


@pytest.mark.parametrize("host", ["::1", "[::1]"])
def test_a_number_of_ipv6_stands_in_brackets_once(host: str) -> None:
    assert server_url(host, 7324) == "http://[::1]:7324"
