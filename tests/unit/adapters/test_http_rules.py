"""What may be fetched, as far as can be said without a lookup."""

from ipaddress import ip_address

import pytest

from pecia.adapters.http.address import find_forbidding_rule
from pecia.adapters.http.egress_rules import EgressRules
from pecia.kernel.errors import Forbidden, InvalidFormat


@pytest.mark.parametrize(
    ("address", "rule"),
    [
        ("0.0.0.0", "this_network"),
        ("10.1.2.3", "private"),
        ("100.64.0.1", "carrier_nat"),
        ("127.0.0.1", "loopback"),
        ("168.63.129.16", "cloud_metadata"),
        ("169.254.169.254", "link_local"),
        ("172.31.255.255", "private"),
        ("192.0.0.192", "protocol"),
        ("192.168.0.1", "private"),
        ("198.18.0.1", "benchmark"),
        ("224.0.0.1", "multicast"),
        ("255.255.255.255", "reserved"),
        ("::", "unspecified"),
        ("::1", "loopback"),
        ("::ffff:8.8.8.8", "ipv4_mapped"),
        ("64:ff9b::808:808", "nat64"),
        ("2002:a00:1::", "6to4"),
        ("2001:0:1::", "teredo"),
        ("2001:db8::1", "documentation"),
        ("fd00:ec2::254", "private"),
        ("fe80::1", "link_local"),
        ("ff02::1", "multicast"),
        ("4000::1", "reserved"),
    ],
)
def test_an_address_that_is_not_public_is_forbidden_by_a_named_rule(
    address: str, rule: str
) -> None:
    assert find_forbidding_rule(ip_address(address)) == rule


@pytest.mark.parametrize("address", ["8.8.8.8", "100.128.0.1", "172.32.0.1", "2606:4700::1111"])
def test_a_public_address_is_forbidden_by_nothing(address: str) -> None:
    assert find_forbidding_rule(ip_address(address)) is None


@pytest.mark.parametrize(
    ("url", "rule"),
    [
        ("ftp://example.com/", "scheme"),
        ("http://ana@example.com/", "userinfo"),
        ("http://example.com\\@127.0.0.1/", "userinfo"),
        ("http://127.1/", "odd_address"),
        ("http://0x7f000001/", "odd_address"),
        ("http://[fe80::1%25eth0]/", "odd_address"),
        ("http://1.2.3.4.5/", "odd_address"),
        ("http://a%20b/", "odd_host"),
        ("http://a..b/", "odd_host"),
        ("http://8.8.8.8:22/", "port"),
        ("http://example.com:99999/", "port"),
        ("http://example.com:0/", "port"),
        ("http://[::1]/", "loopback"),
    ],
)
def test_a_url_is_refused_by_a_named_rule(url: str, rule: str) -> None:
    with pytest.raises(Forbidden) as caught:
        EgressRules().check(url)
    assert caught.value.fields["rule"] == rule


@pytest.mark.parametrize("url", ["", "example.com", "//a.test/", "http://", "file:///etc/hosts"])
def test_what_is_not_a_url_names_the_field(url: str) -> None:
    with pytest.raises(InvalidFormat) as caught:
        EgressRules().check(url, field="src")
    assert caught.value.fields["field"] == "src"


def test_a_name_in_another_script_is_looked_up_in_its_ascii_form() -> None:
    assert EgressRules().check("https://exämple.com/").host == "xn--exmple-cua.com"


def test_one_forbidden_address_among_public_ones_is_enough_to_refuse() -> None:
    with pytest.raises(Forbidden):
        EgressRules().require_allowed(
            "mixed.test", 80, [ip_address("8.8.8.8"), ip_address("10.0.0.1")]
        )


def test_a_refusal_does_not_say_what_an_internal_name_resolves_to() -> None:
    with pytest.raises(Forbidden) as caught:
        EgressRules().require_allowed("intranet.test", 80, [ip_address("10.9.8.7")])
    assert "10.9.8.7" not in str(caught.value.payload())


def test_a_trusted_host_may_have_any_address_but_only_the_usual_ports() -> None:
    rules = EgressRules.from_trusted_hosts(["Wiki.corp", "build.corp:8080"])
    rules.require_allowed("wiki.corp", 443, [ip_address("10.0.0.1")])
    rules.require_allowed("build.corp", 8080, [ip_address("10.0.0.2")])
    with pytest.raises(Forbidden):
        rules.require_allowed("wiki.corp", 8080, [ip_address("10.0.0.1")])
    with pytest.raises(Forbidden):
        rules.require_allowed("build.corp", 443, [ip_address("10.0.0.2")])


def test_a_trusted_network_opens_no_other() -> None:
    rules = EgressRules.from_trusted_hosts(["10.0.0.0/8", "::1"])
    rules.require_allowed("a.corp", 9999, [ip_address("10.0.0.1"), ip_address("::1")])
    with pytest.raises(Forbidden):
        rules.require_allowed("a.corp", 80, [ip_address("192.168.0.1")])


@pytest.mark.parametrize("name", ["*", "https://wiki.corp", "10.0.0.1/33", "wiki.corp:http", ""])
def test_what_an_operator_misspells_is_refused_not_ignored(name: str) -> None:
    with pytest.raises(InvalidFormat):
        EgressRules.from_trusted_hosts([name])
