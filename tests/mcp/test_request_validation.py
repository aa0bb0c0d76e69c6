"""What a request must look like, and what is said to one that does not."""

from typing import Any

import pytest

from pecia.interfaces.mcp.transport import exchange
from tests.mcp.conftest import BIT, Served
from tests.mcp.raw_mcp import BOTH, MODERN, routed

pytestmark = pytest.mark.anyio

LIST = {"jsonrpc": "2.0", "id": 7, "method": "tools/list"}


@pytest.mark.requirement("ckf.server.post_json_rpc", "ckf.server.no_handshake")
async def test_a_bare_post_is_answered_with_its_own_id(served: Served) -> None:
    response = await served.talk.post("/mcp", LIST)
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/json"
    assert response.json()["id"] == 7
    assert response.json()["result"]["tools"]


@pytest.mark.requirement("lake.server.json_rpc")
async def test_the_lake_answers_a_posted_request(served: Served) -> None:
    found = await served.talk.ask("/mcp/lake", "tools/call", {"name": "list_sources"})
    assert found["result"]["structuredContent"] == {
        "sources": [],
        "next_cursor": None,
        "degraded": [],
    }


async def test_a_body_that_is_no_json_is_a_parse_error(served: Served) -> None:
    response = await served.talk.post("/mcp", b"{bad")
    assert response.status_code == 400
    error = response.json()["error"]
    assert response.json()["id"] is None
    assert (error["code"], error["data"]["code"]) == (-32700, "PARSE_ERROR")


@pytest.mark.requirement("ckf.errors.invalid_request")
@pytest.mark.parametrize(
    "body",
    [
        {"id": 1, "method": "ping"},
        {"jsonrpc": "1.0", "id": 1, "method": "ping"},
        {"jsonrpc": "2.0", "id": 1},
        {"jsonrpc": "2.0", "id": None, "method": "ping"},
        {"jsonrpc": "2.0", "id": True, "method": "ping"},
        {"jsonrpc": "2.0", "id": 1, "method": 5},
        {"jsonrpc": "2.0", "id": 1, "method": "ping", "params": []},
        "ping",
        [],
    ],
)
async def test_json_that_is_no_request_is_an_invalid_request(served: Served, body: object) -> None:
    response = await served.talk.post("/mcp", body)
    error = response.json()["error"]
    assert (error["code"], error["data"]["code"]) == (-32600, "INVALID_REQUEST")
    assert error["data"]["retryable"] is False


@pytest.mark.requirement("ckf.errors.method_not_found", "ckf.errors.envelope")
async def test_an_unknown_method_is_said_with_number_and_name(served: Served) -> None:
    error = (await served.talk.ask("/mcp", "no/such"))["error"]
    assert error["code"] == -32601
    assert error["data"]["code"] == "METHOD_NOT_FOUND"
    assert error["data"]["retryable"] is False


async def test_an_unknown_method_of_the_newer_era_is_404(served: Served) -> None:
    response = await served.talk.modern("/mcp", "no/such")
    assert response.status_code == 404
    assert response.json()["error"]["code"] == -32601
    assert response.json()["error"]["data"]["code"] == "METHOD_NOT_FOUND"


async def test_an_unknown_tool_has_the_number_of_each_era_and_one_name(served: Served) -> None:
    older = (await served.talk.ask("/mcp/lake", "tools/call", {"name": "nope"}))["error"]
    newer = (await served.talk.modern("/mcp/lake", "tools/call", {"name": "nope"})).json()["error"]
    assert (older["code"], newer["code"]) == (-32601, -32602)
    assert older["message"] == newer["message"] == "Tool not found: nope"
    assert older["data"] == newer["data"]
    assert older["data"]["code"] == "TOOL_NOT_FOUND"
    assert "list_sources" in older["data"]["available"]


@pytest.mark.requirement("ckf.errors.tool_result", "ckf.errors.text_block")
async def test_a_failure_inside_a_tool_is_a_result(served: Served) -> None:
    asked = {"name": "list_files", "arguments": {"source_id": "s", "limit": 0}}
    result = (await served.talk.ask("/mcp/lake", "tools/call", asked))["result"]
    error = result["structuredContent"]["error"]
    assert result["isError"] is True
    assert error["code"] == "OUT_OF_RANGE"
    assert error["field"] == "limit"
    assert result["content"] == [{"type": "text", "text": f"[OUT_OF_RANGE] {error['message']}"}]


async def test_an_integer_of_more_than_64_bits_is_out_of_range_in_every_era(served: Served) -> None:
    asked = {"name": "list_files", "arguments": {"source_id": "s", "limit": 2**64}}
    newer = (await served.talk.modern("/mcp/lake", "tools/call", asked)).json()
    alone = await served.talk.ask("/mcp/lake", "tools/call", asked)
    talk = served.other(served.talk.token)
    await talk.begin("/mcp/lake")
    for answer in (newer, alone, await talk.ask("/mcp/lake", "tools/call", asked)):
        error = answer["result"]["structuredContent"]["error"]
        assert (error["code"], error["field"]) == ("OUT_OF_RANGE", "limit")
        assert error["min"] == 1


@pytest.mark.requirement("ckf.errors.same_fields")
async def test_one_reader_serves_both_shapes_of_a_failure(served: Served) -> None:
    inside = await served.talk.ask("/mcp/lake", "tools/call", {"name": "list_files"})
    outside = await served.talk.ask("/mcp/lake", "tools/call", {"name": "nope"})
    told = inside["result"]["structuredContent"]["error"], outside["error"]["data"]
    for facts, names in zip(told, ({"field"}, {"tool", "available"}), strict=True):
        assert {"code", "retryable"} | names <= facts.keys()


@pytest.mark.requirement("ckf.version.batch")
async def test_a_batch_is_answered_with_a_batch(served: Served) -> None:
    call = {"name": "list_sources"}
    batch: list[dict[str, Any]] = [
        {"jsonrpc": "2.0", "id": 1, "method": "ping"},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call},
        {"jsonrpc": "2.0", "id": 3},
    ]
    answers = (await served.talk.post("/mcp", batch)).json()
    assert [it["id"] for it in answers] == [1, 2, 3]
    assert answers[1]["result"]["structuredContent"]["sources"] == []
    assert answers[2]["error"]["data"]["code"] == "INVALID_REQUEST"


async def test_a_batch_of_notifications_is_accepted(served: Served) -> None:
    batch = [{"jsonrpc": "2.0", "method": "notifications/initialized"}]
    assert (await served.talk.post("/mcp", batch)).status_code == 202


async def test_only_one_revision_knows_batches(served: Served) -> None:
    for version in ("2025-06-18", "2025-11-25", "2026-07-28"):
        response = await served.talk.post("/mcp", [LIST], mcp_protocol_version=version)
        assert response.status_code == 400
        assert response.json()["error"]["code"] == -32600


@pytest.mark.requirement("memory.transport.post_accept")
@pytest.mark.parametrize("accept", [BOTH, "*/*", "application/json", ""])
async def test_any_accept_header_that_we_can_meet_is_met(served: Served, accept: str) -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "list_sources"}}
    response = await served.talk.post("/mcp", call, accept=accept)
    assert response.json()["result"]["structuredContent"]["sources"] == []


async def test_an_accept_header_that_we_cannot_meet_is_406(served: Served) -> None:
    assert (await served.talk.post("/mcp", LIST, accept="image/png")).status_code == 406


async def test_another_kind_of_body_is_415(served: Served) -> None:
    response = await served.talk.http.post("/mcp", content=b"{}", headers={"content-type": "a/b"})
    assert response.status_code == 415


@pytest.mark.requirement("memory.transport.http_endpoint")
async def test_an_answer_is_a_stream_only_when_something_precedes_it(served: Served) -> None:
    asked = {"name": "test_tool_with_progress", "_meta": {"progressToken": "p"}}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": asked}
    streamed = await served.talk.post(BIT, call, accept=BOTH)
    plain = await served.talk.post(BIT, call, accept="application/json")
    assert streamed.headers["content-type"] == "text/event-stream"
    assert plain.headers["content-type"] == "application/json"
    assert served.talk.answer(streamed)["result"] == plain.json()["result"]
    assert [it["params"]["progress"] for it in served.talk.heard] == [0, 50, 100]


@pytest.mark.parametrize("era", ["older", "newer"])
async def test_a_call_that_takes_long_keeps_its_line_open(
    served: Served, monkeypatch: pytest.MonkeyPatch, era: str
) -> None:
    monkeypatch.setattr(exchange, "PING_INTERVAL_S", 0.05)
    asked = {"name": "slow_compute", "arguments": {"seconds": 0.3}}
    newer = served.talk.enveloped("tools/call", asked)
    older = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": asked}
    message, headers = (newer, routed(newer)) if era == "newer" else (older, {"accept": BOTH})
    response = await served.talk.post(BIT, message, **headers)
    assert b": ping" in response.content
    assert served.talk.answer(response)["result"]["content"]


@pytest.mark.requirement("ckf.version.protocol", "lake.server.revision")
@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
async def test_a_revision_is_answered_with_itself(served: Served, version: str) -> None:
    hello = {
        "protocolVersion": version,
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    }
    for path in ("/mcp", "/mcp/lake"):
        found = await served.talk.ask(path, "initialize", hello)
        assert found["result"]["protocolVersion"] == version


async def test_an_unknown_revision_is_refused_with_those_we_speak(served: Served) -> None:
    future = "2031-01-01"
    message = served.talk.enveloped("tools/list")
    message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = future
    for body in (LIST, message, {"jsonrpc": "2.0", "method": "notifications/initialized"}):
        headers = {"mcp_protocol_version": future, "mcp_method": "tools/list"}
        response = await served.talk.post("/mcp", body, **headers)
        assert response.status_code == 400
        error = response.json()["error"]
        assert response.json()["id"] == body.get("id")
        assert error["code"] == -32022
        assert error["data"]["code"] == "INVALID_REQUEST"
        assert error["data"]["retryable"] is False
        assert error["data"]["supported"] == ["2026-07-28"]
        assert error["data"]["requested"] == future


async def test_every_refusal_of_the_newer_era_has_a_code_of_ours(served: Served) -> None:
    bare: dict[str, Any] = {"jsonrpc": "2.0", "id": 3, "method": "tools/list", "params": {}}
    whole = served.talk.enveloped("tools/list")
    refused = [
        await served.talk.post("/mcp", bare, mcp_protocol_version=MODERN, mcp_method="tools/list"),
        await served.talk.post("/mcp", whole, mcp_protocol_version=MODERN),
        await served.talk.post("/mcp", whole, mcp_protocol_version=MODERN, mcp_method="ping"),
    ]
    for response, number in zip(refused, (-32602, -32020, -32020), strict=True):
        assert response.status_code == 400
        error = response.json()["error"]
        assert error["code"] == number
        assert {"code", "retryable"} <= error["data"].keys()


async def test_a_misspelt_tool_is_told_the_nearest_name(served: Served) -> None:
    asked = {"name": "list_surces"}
    for found in (
        await served.talk.ask("/mcp/lake", "tools/call", asked),
        (await served.talk.modern("/mcp/lake", "tools/call", asked)).json(),
    ):
        assert found["error"]["message"] == (
            "Tool not found: list_surces; did you mean list_sources?"
        )
    through = {"name": "call_tool", "arguments": asked}
    result = (await served.talk.ask("/mcp", "tools/call", through))["result"]
    assert "did you mean list_sources?" in result["content"][0]["text"]


async def test_params_of_the_wrong_shape_name_the_place(served: Served) -> None:
    error = (await served.talk.ask("/mcp", "tools/call", {"name": 5}))["error"]
    assert (error["code"], error["data"]["code"]) == (-32602, "INVALID_INPUT")
    assert error["data"]["field"] == "params.name"
