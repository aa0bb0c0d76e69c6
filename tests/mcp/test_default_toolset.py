"""The front desk: few tools, small, and everything within reach."""

from typing import Any

import pytest

from pecia.kernel.errors import Json
from tests.conftest import CONTEXT
from tests.mcp.conftest import Serve, Served
from tests.mcp.raw_mcp import RawMcp

pytestmark = pytest.mark.anyio

CHARACTERS_PER_TOKEN = 4


async def call(talk: RawMcp, tool: str, **arguments: Json) -> dict[str, Any]:
    asked = {"name": tool, "arguments": arguments}
    return (await talk.ask("/mcp", "tools/call", asked))["result"]


async def audit(served: Served) -> list[dict[str, Any]]:
    await served.app.audit_log.drain()
    found: Any = (
        await served.app.call(served.owner, "list_audit", {"limit": 10}, CONTEXT)
    ).structured
    return [it for it in found["rows"] if it["interface"] == "mcp"]


async def test_the_whole_list_costs_at_most_two_thousand_tokens(served: Served) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    response = await served.talk.post("/mcp", message)
    assert len(response.content) / CHARACTERS_PER_TOKEN <= 2000
    listed = [it["name"] for it in response.json()["result"]["tools"]]
    assert listed[:2] == ["find_tools", "call_tool"]


async def test_a_setting_names_the_tools_of_the_desk(serve: Serve) -> None:
    async with serve(desk__tools="list_users,lake__list_files") as served:
        found = await served.talk.ask("/mcp", "tools/list")
    names = {it["name"] for it in found["result"]["tools"]}
    assert names == {"find_tools", "call_tool", "list_users", "lake__list_files"}


async def test_find_tools_finds_by_what_one_wants_to_do(served: Served) -> None:
    found = await call(served.talk, "find_tools", query="revoke an access token")
    best = found["structuredContent"]["tools"][0]
    assert best["name"] == "revoke_token"
    assert best["arguments"]["required"] == ["id"]


@pytest.mark.parametrize(
    ("said", "tool"),
    [
        ("undo a change to a document", "rollback_to_version"),
        ("add a folder to search", "add_source"),
        ("my API key was stolen", "revoke_token"),
    ],
)
async def test_find_tools_understands_what_people_say(served: Served, said: str, tool: str) -> None:
    found = await call(served.talk, "find_tools", query=said, limit=3)
    assert tool in [it["name"] for it in found["structuredContent"]["tools"]]
    assert f"- {tool}(" in found["content"][0]["text"]


async def test_find_tools_finds_only_what_the_caller_may_use(served: Served) -> None:
    reader = served.other(await served.token("bo", ["pecia.search", "pecia.read"]))
    found = await call(reader, "find_tools", query="add a user", limit=20)
    names = {it["name"] for it in found["structuredContent"]["tools"]}
    tools = served.app.full_view.tools
    assert all(tools[name].scope in ("pecia.search", "pecia.read") for name in names)


@pytest.mark.parametrize("name", ["list_users", "admin__list_users", "admin.list_users"])
async def test_call_tool_calls_by_bare_and_by_prefixed_name(served: Served, name: str) -> None:
    found = await call(served.talk, "call_tool", name=name, arguments={})
    assert found["structuredContent"]["users"]


async def test_a_tool_that_is_not_listed_can_be_called_directly(served: Served) -> None:
    assert (await call(served.talk, "list_users"))["structuredContent"]["users"]


async def test_a_call_through_the_desk_is_one_row_under_the_name_of_the_tool(serve: Serve) -> None:
    async with serve() as served:
        await call(served.talk, "call_tool", name="list_users", arguments={"limit": 3})
        rows = await audit(served)
    assert [(it["tool"], it["status"]) for it in rows] == [("admin.list_users", "ok")]
    assert rows[0]["arguments"] == {"limit": 3}


async def test_a_wrong_name_given_to_call_tool_is_the_models_to_mend(served: Served) -> None:
    found = await call(served.talk, "call_tool", name="nope")
    assert found["isError"] is True
    assert found["structuredContent"]["error"]["code"] == "TOOL_NOT_FOUND"


async def test_arguments_that_call_tool_does_not_take_are_named(served: Served) -> None:
    found = await call(served.talk, "call_tool", tool_name="list_users")
    error = found["structuredContent"]["error"]
    assert (error["code"], error["field"]) == ("MISSING_FIELD", "name")


async def test_the_desk_lends_nobody_a_scope(served: Served) -> None:
    reader = served.other(await served.token("bo", ["pecia.search", "pecia.read"]))
    asked = {"name": "call_tool", "arguments": {"name": "add_user", "arguments": {"name": "cy"}}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": asked}
    response = await reader.post("/mcp", message)
    assert response.status_code == 403
    assert response.json()["error"]["data"]["code"] == "FORBIDDEN"


async def test_the_readonly_desk_reaches_nothing_that_writes(served: Served) -> None:
    asked = {"name": "call_tool", "arguments": {"name": "add_user", "arguments": {"name": "cy"}}}
    found = await served.talk.ask("/mcp/readonly", "tools/call", asked)
    assert found["result"]["structuredContent"]["error"]["code"] == "TOOL_NOT_FOUND"
    asked = {"name": "find_tools", "arguments": {"query": "add user", "limit": 20}}
    found = await served.talk.ask("/mcp/readonly", "tools/call", asked)
    assert all(it["read_only"] for it in found["result"]["structuredContent"]["tools"])


async def test_a_name_that_people_say_suggests_the_tool_they_mean(served: Served) -> None:
    meant = {
        "remember": "cipher_extract_and_operate_memory",
        "save_memory": "cipher_extract_and_operate_memory",
        "recall": "cipher_memory_search",
        "search": "search_content",
    }
    for said, tool in meant.items():
        found = await served.talk.ask("/mcp", "tools/call", {"name": said, "arguments": {}})
        assert found["error"]["data"]["code"] == "TOOL_NOT_FOUND"
        assert found["error"]["message"].endswith(f"; did you mean {tool}?")


async def test_to_write_a_document_finds_the_tool_that_writes_one(served: Served) -> None:
    for words in ("write document", "write a document"):
        found = await call(served.talk, "find_tools", query=words)
        names = [it["name"] for it in found["structuredContent"]["tools"]]
        assert names[0] == "write_document", names[:3]
