"""Servers that the operator wrote into a file."""

import orjson
import pytest

from pecia.features.hub.configured_servers import ConfiguredServer, parse_servers
from pecia.kernel.errors import InvalidFormat, PeciaError

YAML = """
mcpServers:
  files:
    type: stdio
    command: npx
    args: [-y, "@x/files", /data]
    env: {KEY: k}
    timeout: 30000
    resetTimeoutOnProgress: true
    maxTotalTimeout: 120000
    enforceStrictCapabilities: true
    tenants: [north]
  search:
    url: https://x.example/sse
    headers: {Authorization: Bearer t}
    enabled: false
    tenants: ["*"]
"""


def read(text: str) -> dict[str, ConfiguredServer]:
    return {it.name: it for it in parse_servers(text, is_own_machine=False)}


def test_a_file_is_read_in_the_words_of_the_references() -> None:
    found = read(YAML)
    files, search = found["files"], found["search"]
    assert files.endpoint.argv == ("npx", "-y", "@x/files", "/data")
    assert (files.endpoint.env, files.tenants) == ({"KEY": "k"}, {"north"})
    assert (files.options.timeout_s, files.options.most_s) == (30, 120)
    assert files.options.resets_on_progress
    assert files.options.strict_capabilities
    assert (search.endpoint.is_sse, search.enabled, search.tenants) == (True, False, {"*"})


def test_json_is_taken_too() -> None:
    text = orjson.dumps({"mcpServers": {"a": {"command": "x", "tenants": ["*"]}}}).decode()
    assert read(text)["a"].endpoint.argv == ("x",)


def test_on_an_own_machine_nobody_need_be_named() -> None:
    (it,) = parse_servers("mcpServers: {a: {command: x}}", is_own_machine=True)
    assert it.tenants == {"*"}


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("servers: {}", "mcpServers"),
        ("mcpServers: [a]", "mcpServers"),
        ("mcpServers: {a: b}", "mcpServers.a"),
        ("mcpServers: {a: {command: x}}", "mcpServers.a.tenants"),
        ("mcpServers: {a: {command: x, timeout: soon, tenants: ['*']}}", "mcpServers.a.timeout"),
        ("mcpServers: {a: {command: [x], tenants: ['*']}}", "mcpServers.a.command"),
    ],
)
def test_what_is_wrong_is_named(text: str, field: str) -> None:
    with pytest.raises(InvalidFormat) as refused:
        read(text)
    assert refused.value.fields["field"] == field


@pytest.mark.parametrize(
    "entry", ["{}", "{command: x, url: 'https://x.example'}", "{url: 'ftp://x.example'}"]
)
def test_one_that_is_nowhere_or_in_two_places_is_refused(entry: str) -> None:
    with pytest.raises(PeciaError):
        read(f"mcpServers: {{a: {entry}}}")


def test_no_secret_is_in_what_is_shown_of_it() -> None:
    assert "Bearer t" not in repr(read(YAML))
