"""Parts of the MCP interface, without a server: endpoints, narrowing, content, seals, errors."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp.server.request_state import InvalidRequestState

from pecia.interfaces.mcp.content import tool_result
from pecia.interfaces.mcp.errors import error_object
from pecia.interfaces.mcp.methods.channel import LEVELS, is_level_enabled
from pecia.interfaces.mcp.methods.request_state import KeyringCodec
from pecia.interfaces.mcp.views.endpoint_view import NO_FILTER, parse_filter
from pecia.interfaces.mcp.views.endpoints import (
    McpEndpoint,
    list_endpoints,
    list_sse_endpoints,
    messages_path,
)
from pecia.kernel.errors import InvalidFormat, iter_errors
from pecia.kernel.secrets.keyring import Keyring
from pecia.kernel.tool.model import MediaContent, ResourceLink, TextContent, ToolResult


def test_the_endpoints_of_the_references_bear_their_names() -> None:
    found = {it.path: it for it in list_endpoints(["lake", "ckf", "wiki"], "desk")}
    ckf, alias = found["/mcp/ckf"], found["/api/mcp"]
    assert (ckf.server_name, ckf.server_version) == ("ckf-mcp-server", "0.2.0")
    assert alias.toolset == "ckf"
    assert found["/mcp/wiki"].server_name == "open-knowledge"
    assert found["/mcp/lake"].server_name == "pecia"


def test_lake_and_ckf_take_posts_alone() -> None:
    posts = {it.path for it in list_endpoints(["lake", "ckf", "wiki"], "desk") if not it.streams}
    plain = {"/mcp/lake", "/mcp/ckf", "/api/mcp"}
    assert posts == plain | {f"{path}/readonly" for path in plain}


def test_every_stream_has_a_path_for_messages_of_its_own() -> None:
    paths = [messages_path(it) for it in list_sse_endpoints(["lake"], "desk")]
    assert len(set(paths)) == len(paths)
    assert messages_path(McpEndpoint("/sse", "desk")) == "/messages"


def test_no_header_narrows_nothing() -> None:
    assert parse_filter({}) == NO_FILTER
    asked = parse_filter({"x-mcp-tools": " b, a,,b ", "x-mcp-readonly": "TRUE"})
    assert (asked.tools, asked.read_only) == (("a", "b"), True)
    with pytest.raises(InvalidFormat):
        parse_filter({"x-mcp-readonly": "perhaps"})


def test_structured_content_is_also_text_unless_there_is_text() -> None:
    plain = tool_result(ToolResult({"a": 1}, (ResourceLink("x://y", "y"),)), modern=False)
    assert plain["content"][0] == {"type": "text", "text": '{"a":1}'}
    assert [it["type"] for it in plain["content"]] == ["text", "resource_link"]
    own = tool_result(ToolResult({"a": 1}, (TextContent("one"),)), modern=False)
    assert [it.get("text") for it in own["content"]] == ["one"]


def test_only_the_newer_era_has_structured_content_that_is_no_object() -> None:
    assert "structuredContent" not in tool_result(ToolResult([1]), modern=False)
    assert tool_result(ToolResult([1]), modern=True)["structuredContent"] == [1]


def test_sounds_and_pictures_are_told_apart() -> None:
    content = (MediaContent(b"", "audio/wav"), MediaContent(b"", "image/png"))
    kinds = [it["type"] for it in tool_result(ToolResult(content=content), modern=True)["content"]]
    assert kinds == ["audio", "image"]


def test_no_number_of_the_newer_era_is_in_the_range_it_reserves() -> None:
    for kind in iter_errors():
        error = (
            kind("no", field="x") if "field" in str(kind.__init__.__annotations__) else kind("no")
        )
        number = error_object(error, modern=True)["code"]
        assert isinstance(number, int)
        assert not -32099 <= number <= -32000, kind


@given(st.sampled_from(LEVELS), st.sampled_from(LEVELS))
def test_a_level_is_wanted_from_the_least_one_upwards(level: str, least: str) -> None:
    assert is_level_enabled(level, least) == (LEVELS.index(level) >= LEVELS.index(least))  # pyright: ignore[reportArgumentType] - one of them


KEYRING = Keyring.fresh()


@given(st.binary(max_size=100), st.integers(0), st.characters(codec="ascii"))
@settings(max_examples=100, deadline=None)
def test_a_sealed_state_opens_whole_or_not_at_all(payload: bytes, at: int, other: str) -> None:
    codec = KeyringCodec(KEYRING)
    token = codec.seal(payload)
    assert codec.unseal(token) == payload
    place = at % len(token)
    forged = token[:place] + other + token[place + 1 :]
    if forged != token:
        with pytest.raises(InvalidRequestState):
            codec.unseal(forged)


def test_a_state_of_other_keys_does_not_open() -> None:
    with pytest.raises(InvalidRequestState):
        KeyringCodec(KEYRING).unseal(KeyringCodec(Keyring.fresh()).seal(b"x"))
