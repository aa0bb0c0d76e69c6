"""Who is let in, and what is refused: tokens, scopes, names, sizes, sessions and states."""

import json
from base64 import b64encode
from collections.abc import AsyncGenerator
from typing import Any
from uuid import uuid4

import anyio
import pytest
from mcp import ClientSession, MCPError
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import JSONRPCError

from pecia.kernel.identity import pat
from tests.interfaces.raw_http import request, tell
from tests.mcp.conftest import BIT, Serve, Served
from tests.mcp.raw_mcp import BOTH, MODERN, RawMcp

pytestmark = pytest.mark.anyio

CALL = {"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": {"name": "list_sources"}}


async def test_without_a_token_a_server_answers_with_a_challenge(serve: Serve) -> None:
    async with serve(mode="server") as served:
        response = await served.talk.post("/mcp/lake", CALL)
    assert response.status_code == 401
    challenge = response.headers["www-authenticate"]
    assert challenge.startswith("Bearer ")
    assert "error=" not in challenge
    assert 'scope="pecia.search"' in challenge
    assert f'resource_metadata="{served.url}/.well-known/oauth-protected-resource/mcp/lake"' in (
        challenge
    )
    assert response.json()["error"]["data"]["code"] == "AUTH_REQUIRED"
    assert response.json()["error"]["code"] == -32001


async def test_a_bad_token_is_called_one(served: Served) -> None:
    stranger = served.other(pat.mint())
    response = await stranger.post("/mcp", CALL)
    assert response.status_code == 401
    assert 'error="invalid_token"' in response.headers["www-authenticate"]


async def test_a_missing_scope_is_403_and_says_which(served: Served) -> None:
    reader = served.other(await served.token("bo", ["pecia.search"]))
    response = await reader.post("/mcp/lake", CALL)
    assert response.status_code == 403
    challenge = response.headers["www-authenticate"]
    assert 'error="insufficient_scope"' in challenge
    assert 'scope="pecia.read"' in challenge
    assert response.json()["id"] == 4
    assert response.json()["error"]["data"]["code"] == "FORBIDDEN"


async def test_a_token_in_the_query_is_refused(served: Served) -> None:
    token = await served.token("bo")
    response = await served.talk.post(f"/mcp?access_token={token}", CALL)
    assert response.status_code == 400


@pytest.mark.parametrize("path", ["/mcp", "/mcp/lake", "/sse"])
async def test_a_page_of_another_origin_is_refused(served: Served, path: str) -> None:
    response = await served.talk.post(path, CALL, origin="http://evil.example")
    assert response.status_code == 403


@pytest.mark.parametrize("path", ["/mcp", "/mcp/lake", "/sse"])
async def test_a_rebound_name_is_refused(served: Served, path: str) -> None:
    assert (await served.talk.post(path, CALL, host="evil.example")).status_code == 421


@pytest.mark.requirement("lake.server.internal_name")
async def test_a_name_that_the_operator_allows_is_served(serve: Serve) -> None:
    async with serve(allowed_hosts="pecia.internal") as served:
        response = await served.talk.post("/mcp/lake", CALL, host="pecia.internal")
    assert response.status_code == 200


async def test_a_body_over_the_limit_is_refused_under_its_id(serve: Serve) -> None:
    async with serve(body_limit_bytes="20000") as served:
        response = await served.talk.post("/mcp", {**CALL, "pad": "x" * 30_000})
    assert (response.status_code, response.json()["id"]) == (413, CALL["id"])
    assert response.json()["error"]["data"]["code"] == "PAYLOAD_TOO_LARGE"


@pytest.mark.parametrize("path", ["/mcp", "/mcp/lake", "/messages"])
async def test_a_body_that_comes_too_slowly_is_refused(serve: Serve, path: str) -> None:
    async with serve(request_timeout_s="0.3") as served:
        where = f"{path}?session_id={uuid4().hex}" if path == "/messages" else path
        kind, length = "Content-Type: application/json", "Content-Length: 1000"
        begun = request(served, where, kind, length, method="POST", body=b'{"jsonrpc":')
        heard = await tell(served, begun)
        assert heard.statuses == [408]
        told = json.loads(heard.data.partition(b"\r\n\r\n")[2])
        assert told["jsonrpc"] == "2.0"
        assert told["error"]["data"]["code"] == "TIMEOUT"
        assert told["error"]["data"]["retryable"] is True
        assert (await served.talk.ask("/mcp", "ping"))["result"] == {}


async def test_a_repeated_header_that_steers_us_is_refused(served: Served) -> None:
    message = served.talk.enveloped("tools/list")
    headers = [
        ("content-type", "application/json"),
        ("accept", BOTH),
        ("mcp-protocol-version", MODERN),
        ("mcp-method", "tools/list"),
        ("mcp-method", "tools/call"),
    ]
    response = await served.talk.http.post("/mcp", json=message, headers=headers)
    assert response.status_code == 400
    assert response.json()["error"]["code"] == -32020


async def test_a_header_that_says_other_than_the_body_is_refused(served: Served) -> None:
    response = await served.talk.modern("/mcp", "tools/list", mcp_method="tools/call")
    assert response.status_code == 400
    assert response.json()["error"]["code"] == -32020


async def test_a_session_is_of_no_use_to_somebody_else(served: Served) -> None:
    await served.talk.begin("/mcp/all")
    thief = served.other(await served.token("bo"))
    thief.session, thief.version = served.talk.session, served.talk.version
    response = await thief.post("/mcp/all", CALL, accept=BOTH)
    assert response.status_code == 404
    assert (await served.talk.ask("/mcp/all", "ping"))["result"] == {}


async def test_a_session_that_has_ended_is_not_found(served: Served) -> None:
    await served.talk.begin("/mcp/all")
    own = {"mcp-session-id": str(served.talk.session)}
    assert (await served.talk.http.delete("/mcp/all", headers=own)).status_code == 200
    assert (await served.talk.post("/mcp/all", CALL, accept=BOTH)).status_code == 404


async def returned(talk: RawMcp, name: str, state: str, **params: Any) -> dict[str, Any]:
    answers = {"user_name": {"action": "accept", "content": {"name": "Ana"}}}
    asked = {"name": name, "inputResponses": answers, "requestState": state, **params}
    return (await talk.modern(BIT, "tools/call", asked, {"elicitation": {}})).json()


async def state_of(talk: RawMcp, name: str) -> str:
    response = await talk.modern(BIT, "tools/call", {"name": name}, {"elicitation": {}})
    return response.json()["result"]["requestState"]


ASKING = "test_input_required_result_elicitation"


async def test_a_state_is_taken_back_from_the_one_it_was_given_to(served: Served) -> None:
    state = await state_of(served.talk, ASKING)
    found = await returned(served.talk, ASKING, state)
    assert found["result"]["content"][0]["text"] == "Hello, Ana!"


async def test_a_state_is_of_no_use_to_somebody_else(served: Served) -> None:
    state = await state_of(served.talk, ASKING)
    thief = served.other(await served.token("bo"))
    assert (await returned(thief, ASKING, state))["error"]["code"] == -32602


async def test_a_state_belongs_to_its_tool_and_its_arguments(served: Served) -> None:
    state = await state_of(served.talk, ASKING)
    other = await returned(served.talk, "test_streaming_elicitation", state)
    assert other["error"]["code"] == -32602
    changed = await returned(served.talk, ASKING, state, arguments={"more": 1})
    assert changed["error"]["code"] == -32602


async def test_a_state_that_was_changed_is_refused(served: Served) -> None:
    state = await state_of(served.talk, ASKING)
    key, mac, payload = state.split(".")
    for forged in (
        f"{key}.{mac}.{payload[:-4]}AAAA",
        f"{key}.{mac}",
        "",
        f"{key}.{mac}.{payload}=",
    ):
        assert (await returned(served.talk, ASKING, forged))["error"]["code"] == -32602


async def test_somebody_elses_task_is_no_task(served: Served) -> None:
    can: dict[str, Any] = {"extensions": {"io.modelcontextprotocol/tasks": {}}}
    asked = {"name": "slow_compute", "arguments": {"seconds": 30}}
    task = (await served.talk.modern(BIT, "tools/call", asked, can)).json()["result"]
    assert task["status"] == "working"
    about = {"taskId": task["taskId"]}
    thief = served.other(await served.token("bo"))
    for method in ("tasks/get", "tasks/cancel", "tasks/update"):
        stolen = (await thief.modern(BIT, method, about, can)).json()
        assert stolen["error"]["code"] == -32602, method
    await served.talk.modern(BIT, "tasks/cancel", about, can)
    found = (await served.talk.modern(BIT, "tasks/get", about, can)).json()["result"]
    assert found["status"] == "cancelled"


@pytest.mark.parametrize(
    ("query", "body", "status", "code"),
    [
        ("", b"{bad", 400, "PARSE_ERROR"),
        ("", b"[]", 400, "INVALID_REQUEST"),
        ("", b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', 400, "INVALID_REQUEST"),
        ("", b'{"jsonrpc":"2.0","id":1,"method":"ping"}', 400, "INVALID_REQUEST"),
        ("?session_id=x", b'{"jsonrpc":"2.0","id":1,"method":"ping"}', 400, "INVALID_REQUEST"),
        (
            f"?session_id={'0' * 32}",
            b'{"jsonrpc":"2.0","id":1,"method":"ping"}',
            404,
            "NOT_FOUND",
        ),
    ],
)
async def test_the_older_transport_refuses_with_an_envelope_too(
    served: Served, query: str, body: bytes, status: int, code: str
) -> None:
    response = await served.talk.post(f"/messages{query}", body)
    assert response.status_code == status
    assert response.json()["jsonrpc"] == "2.0"
    assert response.json()["error"]["data"]["code"] == code


async def test_an_id_that_a_session_has_in_flight_is_refused(served: Served) -> None:
    talk = served.talk
    await talk.begin(BIT)
    slow = {"name": "slow_compute", "arguments": {"seconds": 50}}
    message = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": slow}
    own = {"accept": BOTH, "mcp-session-id": str(talk.session)}
    async with talk.http.stream("POST", BIT, json=message, headers=own) as flying:
        assert flying.status_code == 200
        refused = await talk.post(BIT, {**message, "method": "ping"}, accept=BOTH)
        assert refused.status_code == 400
        told = refused.json()
        assert (told["id"], told["error"]["data"]["code"]) == (7, "INVALID_REQUEST")
        await talk.notify(BIT, "notifications/cancelled", {"requestId": 7})
        await flying.aread()
    again = await talk.post(BIT, {**message, "method": "ping", "params": {}}, accept=BOTH)
    assert talk.answer(again)["result"] == {}


@pytest.mark.parametrize("place", ["[99,null]", "[-1,null]", "[0,3]", "{}", "x"])
async def test_a_cursor_that_is_none_of_ours_is_refused(served: Served, place: str) -> None:
    cursor = b64encode(place.encode()).decode()
    answer = await served.talk.ask("/mcp/lake", "resources/list", {"cursor": cursor})
    assert answer["error"]["code"] == -32602
    assert answer["error"]["data"]["field"] == "cursor"


def nested(levels: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for _ in range(levels):
        found = {"a": found}
    return found


async def test_a_call_that_is_nested_too_deeply_is_refused_under_its_id(served: Served) -> None:
    deep = CALL | {"params": {"name": "list_sources", "arguments": nested(200)}}
    response = await served.talk.post("/mcp", deep)
    assert (response.status_code, response.json()["id"]) == (400, 4)
    assert "nested too deeply" in response.json()["error"]["message"]


async def test_a_stock_client_of_the_old_transport_is_told_so_and_goes_on(served: Served) -> None:
    """It waits for every answer on its stream, and never looks at that of a post."""
    with anyio.fail_after(30):
        async with (
            sse_client(f"{served.url}/sse") as (reader, writer),
            ClientSession(reader, writer) as session,
        ):
            await session.initialize()
            with pytest.raises(MCPError, match="nested too deeply"):
                await session.call_tool("list_sources", nested(200))
            assert (await session.list_tools()).tools


@pytest.mark.parametrize("is_chunked", [False, True])
async def test_a_call_over_the_body_limit_is_refused_on_the_stream(
    serve: Serve, is_chunked: bool
) -> None:
    async with serve(body_limit_bytes="20000") as served:
        ids = list[str]()
        with anyio.fail_after(30):
            async with sse_client(f"{served.url}/sse", on_session_created=ids.append) as (it, _):
                long = json.dumps(CALL | {"params": {"name": "x" * 80_000}}).encode()
                response = await served.talk.http.post(
                    f"/messages?session_id={ids[0]}",
                    content=pieces_of(long) if is_chunked else long,
                    headers={"content-type": "application/json"},
                )
                assert response.status_code == 202
                refusal = await it.receive()
    assert not isinstance(refusal, Exception)
    assert isinstance(refusal.message, JSONRPCError)
    assert refusal.message.id == CALL["id"]
    assert "longer than 20000 bytes" in refusal.message.error.message


async def pieces_of(body: bytes) -> AsyncGenerator[bytes]:
    for start in range(0, len(body), 9000):
        yield body[start : start + 9000]


@pytest.mark.parametrize("path", ["/sse", "/mcp"])
async def test_a_stock_client_is_told_that_its_call_is_too_long_and_goes_on(
    serve: Serve, path: str
) -> None:
    async with serve(body_limit_bytes="20000") as served:
        where = sse_client if path == "/sse" else streamable_http_client
        with anyio.fail_after(30):
            async with (
                where(f"{served.url}{path}") as (reader, writer),
                ClientSession(reader, writer) as session,
            ):
                await session.initialize()
                with pytest.raises(MCPError, match="longer than 20000 bytes"):
                    await session.call_tool("list_sources", {"pad": "x" * 30_000})
                assert (await session.list_tools()).tools


async def test_a_call_over_the_limit_whose_id_comes_last_is_refused_by_its_post(
    serve: Serve,
) -> None:
    """As the TypeScript SDK writes them. It looks at what a post returns."""
    async with serve(body_limit_bytes="20000") as served:
        ids = list[str]()
        async with sse_client(f"{served.url}/sse", on_session_created=ids.append) as _:
            late = {"method": "tools/call", "params": {"name": "x" * 30_000, "id": 3}}
            late |= {"jsonrpc": "2.0", "id": 4}
            response = await served.talk.post(f"/messages?session_id={ids[0]}", late)
            assert response.status_code == 413
            assert response.json()["error"]["data"]["code"] == "PAYLOAD_TOO_LARGE"


async def test_a_refusal_is_not_put_on_the_stream_of_another(served: Served) -> None:
    async with sse_client(f"{served.url}/sse", on_session_created=(ids := list[str]()).append) as _:
        stranger = served.other(await served.token("bo"))
        deep = CALL | {"params": {"name": "list_sources", "arguments": nested(200)}}
        response = await stranger.post(f"/messages?session_id={ids[0]}", deep)
    assert response.status_code == 400
