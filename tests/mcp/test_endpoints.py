"""Which paths there are, what each serves, and how a client narrows it."""

import pytest

from tests.mcp.conftest import Serve, Served
from tests.mcp.raw_mcp import RawMcp

pytestmark = pytest.mark.anyio


async def names(talk: RawMcp, path: str, **headers: str) -> set[str]:
    found = await talk.ask(path, "tools/list", {}, **headers)
    return {it["name"] for it in found["result"]["tools"]}


async def test_a_room_shows_its_own_tools_under_their_own_names(served: Served) -> None:
    assert await names(served.talk, "/mcp/lake") == {
        it.name for it in served.app.tools if it.feature == "lake"
    }


async def test_all_shows_everything_that_is_not_hidden(served: Served) -> None:
    assert await names(served.talk, "/mcp/all") == {*served.app.full_view.tools, "read"}


async def test_readonly_shows_and_calls_only_what_changes_nothing(served: Served) -> None:
    shown = await names(served.talk, "/mcp/all/readonly")
    tools = served.app.full_view.tools
    assert shown == {"read", *(name for name, tool in tools.items() if tool.read_only)}
    found = await served.talk.ask("/mcp/all/readonly", "tools/call", {"name": "add_user"})
    assert found["error"]["data"]["code"] == "TOOL_NOT_FOUND"


@pytest.mark.requirement("lake.server.get_refused")
async def test_get_on_the_lake_is_refused_and_told_what_is_not(served: Served) -> None:
    response = await served.talk.http.get("/mcp/lake", headers={"accept": "text/event-stream"})
    assert response.status_code == 405
    assert response.headers["allow"] == "POST"


async def test_get_of_the_newer_era_is_refused_everywhere(served: Served) -> None:
    headers = {"accept": "text/event-stream", "mcp-protocol-version": "2026-07-28"}
    assert (await served.talk.http.get("/mcp", headers=headers)).status_code == 405


async def test_get_without_a_session_is_told_so(served: Served) -> None:
    response = await served.talk.http.get("/mcp", headers={"accept": "text/event-stream"})
    assert response.status_code == 400
    assert response.json()["error"]["data"]["header"] == "Mcp-Session-Id"


async def test_a_client_that_comes_back_for_lost_events_gets_a_stream(served: Served) -> None:
    await served.talk.begin("/mcp")
    async with served.talk.stream("/mcp", **{"last-event-id": "7"}) as response:
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/event-stream")


async def test_the_root_can_serve_a_room(serve: Serve) -> None:
    async with serve(mcp_root="lake") as served:
        assert await names(served.talk, "/mcp") == await names(served.talk, "/mcp/lake")


@pytest.mark.requirement("lake.settings.mcp_enabled")
async def test_switched_off_there_is_no_endpoint(serve: Serve) -> None:
    async with serve({"KDBL_MCP_ENABLED": "false"}) as served:
        for path in ("/mcp", "/mcp/lake", "/sse"):
            assert (await served.talk.post(path, {})).status_code == 404


async def test_the_fixtures_are_served_only_when_asked_for(serve: Serve) -> None:
    async with serve(desk__conformance="false") as served:
        assert (await served.talk.post("/mcp/conformance", {})).status_code == 404


async def test_our_own_version_stands_beside_the_name_of_the_server(served: Served) -> None:
    hello = await served.talk.begin("/mcp/all")
    assert hello["result"]["serverInfo"]["name"] == "pecia"
    assert hello["result"]["_meta"]["pecia/version"]


async def test_headers_narrow_a_list_and_what_can_be_called(served: Served) -> None:
    talk = served.talk
    assert await names(talk, "/mcp/all", x_mcp_toolsets="lake") == await names(talk, "/mcp/lake")
    assert await names(talk, "/mcp/all", x_mcp_tools="list_files, list_sources") == {
        "list_files",
        "list_sources",
    }
    left = await names(talk, "/mcp/lake", x_mcp_exclude_tools="list_files")
    assert left == await names(talk, "/mcp/lake") - {"list_files"}
    refused = await talk.ask(
        "/mcp/lake", "tools/call", {"name": "list_files"}, x_mcp_exclude_tools="list_files"
    )
    assert refused["error"]["data"]["code"] == "TOOL_NOT_FOUND"
    assert "add_user" not in await names(talk, "/mcp/all", x_mcp_readonly="true")


@pytest.mark.parametrize("header", ["x_mcp_toolsets", "x_mcp_tools", "x_mcp_exclude_tools"])
async def test_narrowing_by_a_name_that_is_not_there_is_an_error(
    served: Served, header: str
) -> None:
    found = await served.talk.ask("/mcp/all", "tools/list", {}, **{header: "nonsense"})
    assert found["error"]["data"]["code"] == "INVALID_ENUM"
    assert found["error"]["data"]["got"] == "nonsense"


async def test_a_narrowed_list_is_not_to_be_kept(served: Served) -> None:
    whole = (await served.talk.modern("/mcp/all", "tools/list")).json()["result"]
    narrow = await served.talk.modern("/mcp/all", "tools/list", x_mcp_toolsets="lake")
    assert whole["ttlMs"] > 0
    assert (narrow.json()["result"]["ttlMs"], narrow.json()["result"]["cacheScope"]) == (
        0,
        "private",
    )


async def test_the_list_is_the_same_bytes_for_the_same_caller(served: Served) -> None:
    first = await served.talk.post("/mcp/all", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    again = await served.talk.post("/mcp/all", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    assert first.content == again.content


async def test_a_list_holds_only_what_the_scopes_of_the_token_reach(served: Served) -> None:
    reader = served.other(await served.token("bo", ["pecia.search", "pecia.read"]))
    shown = await names(reader, "/mcp/all")
    tools = served.app.full_view.tools
    reached = [it for it, tool in tools.items() if tool.scope in ("pecia.search", "pecia.read")]
    assert shown == {"read", *reached}


async def test_a_session_lists_the_same_tools_as_a_bare_post(served: Served) -> None:
    bare = await names(served.talk, "/mcp/all")
    talk = served.other()
    await talk.begin("/mcp/all")
    assert await names(talk, "/mcp/all") == bare


async def test_a_cursor_that_is_none_of_ours_is_refused(served: Served) -> None:
    for method in ("tools/list", "resources/list", "prompts/list", "resources/templates/list"):
        found = await served.talk.ask("/mcp/conformance", method, {"cursor": "bm9uc2Vuc2U="})
        assert found["error"]["code"] == -32602, method
