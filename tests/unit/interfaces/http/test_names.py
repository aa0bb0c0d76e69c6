"""Which Host and which Origin are ours."""

import pytest

from pecia.interfaces.http.middleware.edge import TrustedHosts
from pecia.kernel.settings.kernel import KernelSettings

OWN = "http://localhost:7324"


def names(**settings: object) -> TrustedHosts:
    return TrustedHosts.from_settings(KernelSettings.model_validate(settings))


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:7324", "127.0.0.1:1", "[::1]:80", "[::1]"]
)
def test_the_loopback_is_ours_under_any_port(host: str) -> None:
    assert names().has_host(host)


@pytest.mark.parametrize(
    "host",
    [
        "",
        "evil.example",
        "localhost.evil.example",
        "evil.example:7324",
        "localhost@evil.example",
        "localhost:7324:80",
        "localhost/",
        "localhost, evil.example",
        "127.0.0.1.evil.example",
        "[::2]",
        "localhost:999999",
        "localhost\t",
        "2130706433",
    ],
)
def test_another_host_is_not_ours(host: str) -> None:
    assert not names().has_host(host)


def test_the_listening_address_and_the_public_url_are_ours() -> None:
    found = names(mode="server", host="192.0.2.7", public_url="https://Pecia.Example:8443/base")
    assert found.has_host("192.0.2.7:7324")
    assert found.has_host("pecia.example:8443")
    assert found.has_host("pecia.example")


def test_a_listening_address_of_ipv6_is_known_in_brackets() -> None:
    assert names(mode="server", host="2001:db8::1").has_host("[2001:db8::1]:7324")


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_listening_everywhere_is_no_name(host: str) -> None:
    found = names(mode="server", host=host)
    assert not found.has_host("0.0.0.0:7324")
    assert not found.has_host("[::]:7324")


def test_an_allowed_host_with_a_port_is_allowed_on_that_port_only() -> None:
    found = names(allowed_hosts=("inner", "other:8080"))
    assert found.has_host("inner:1")
    assert found.has_host("other:8080")
    assert not found.has_host("other:8081")
    assert not found.has_host("other")


def test_a_page_of_our_own_may_call() -> None:
    assert names().has_origin(OWN, own=OWN)


@pytest.mark.parametrize(
    "origin",
    ["null", "http://localhost:3000", "https://localhost:7324", "http://evil.example", "", "*"],
)
def test_a_page_of_another_origin_may_not(origin: str) -> None:
    assert not names().has_origin(origin, own=OWN)


def test_the_public_url_and_named_origins_may_call() -> None:
    found = names(
        public_url="https://pecia.example/base", allowed_origins=("https://app.example/",)
    )
    assert found.has_origin("https://pecia.example", own=OWN)
    assert found.has_origin("https://app.example", own=OWN)
    assert not found.has_origin("https://app.example.evil", own=OWN)
