"""Every row of the reference's error table, on the wire of the ckf endpoint, in both eras."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from pecia.app.app import SETTINGS, open_app
from pecia.features.ckf.feature import ckf_feature
from pecia.features.ckf.model import SourceText
from pecia.interfaces.http.server import serve_http
from pecia.interfaces.mcp.methods.subscriptions import Subscriptions
from pecia.interfaces.mcp.mount import mount_mcp
from pecia.kernel.errors import UpstreamError
from pecia.kernel.identity.caller import Caller
from pecia.kernel.settings.load import load_settings
from pecia.kernel.store.cluster import DatabaseLogins
from tests.conftest import house_flags, no_fetch
from tests.mcp.conftest import Serve, Served
from tests.mcp.raw_mcp import BOTH, MODERN, RawMcp

pytestmark = pytest.mark.anyio

PATH = "/api/mcp"
TEXT = "Refunds must be paid within 14 days."

# What goes wrong inside a tool: the call, the code, and the facts that tell how to mend it.
INSIDE: list[tuple[str, dict[str, Any], str, dict[str, Any]]] = [
    ("ckf.compile", {}, "MISSING_FIELD", {"field": "text"}),
    (
        "ckf.compile",
        {"text": 5},
        "INVALID_INPUT",
        {"field": "text", "expected": "string", "got": "integer"},
    ),
    (
        "ckf.diff",
        {"a": 5, "b": {}},
        "INVALID_INPUT",
        {"field": "a", "expected": "object", "got": "integer"},
    ),
    (
        "ckf.compile",
        {"text": TEXT, "format": "xml"},
        "INVALID_ENUM",
        {"field": "format", "allowed": ["json", "yaml", "markdown"]},
    ),
    ("ckf.compile", {"text": TEXT, "language": "?"}, "INVALID_FORMAT", {"field": "language"}),
    (
        "ckf.compile",
        {"text": "short"},
        "OUT_OF_RANGE",
        {"field": "text", "min": 20, "max": 200_000, "length": 5},
    ),
    (
        "ckf.compile",
        {"text": "x" * 200_001},
        "PAYLOAD_TOO_LARGE",
        {"field": "text", "max": 200_000, "length": 200_001},
    ),
    (
        "ckf.compile",
        {"uri": "lake://nothing/here"},
        "NOT_FOUND",
        {"uri": "lake://nothing/here"},
    ),
    ("ckf.parse", {"document": "{"}, "UNPROCESSABLE", {"section": "document", "line": 1}),
]


async def in_both_eras(talk: RawMcp, tool: str, arguments: dict[str, Any]) -> list[dict[str, Any]]:
    asked = {"name": tool, "arguments": arguments}
    older = await talk.ask(PATH, "tools/call", asked)
    newer = (await talk.modern(PATH, "tools/call", asked)).json()
    return [older, newer]


@pytest.mark.parametrize(("tool", "arguments", "code", "facts"), INSIDE)
async def test_a_failure_inside_a_tool_says_how_to_mend_it(
    served: Served, tool: str, arguments: dict[str, Any], code: str, facts: dict[str, Any]
) -> None:
    for answer in await in_both_eras(served.talk, tool, arguments):
        error = answer["result"]["structuredContent"]["error"]
        assert answer["result"]["isError"] is True
        assert (error["code"], error["retryable"]) == (code, False)
        assert {name: error[name] for name in facts} == facts
        assert error.get("field") or error.get("hint")
        assert answer["result"]["content"][0]["text"] == f"[{code}] {error['message']}"


@pytest.mark.requirement("ckf.errors.too_short_example")
async def test_a_text_that_is_too_short_is_refused_word_for_word(served: Served) -> None:
    asked = {"name": "ckf.compile", "arguments": {"text": "short"}}
    result = (await served.talk.ask(PATH, "tools/call", asked))["result"]
    message = 'Field "text" is too short (min 20 chars, got 5)'
    assert result["isError"] is True
    assert result["content"] == [{"type": "text", "text": f"[OUT_OF_RANGE] {message}"}]
    assert result["structuredContent"] == {
        "error": {
            "code": "OUT_OF_RANGE",
            "message": message,
            "retryable": False,
            "field": "text",
            "min": 20,
            "max": 200000,
            "length": 5,
        }
    }


@pytest.mark.requirement("ckf.errors.unknown_tool_example")
async def test_an_unknown_tool_is_told_as_documented(served: Served) -> None:
    older, newer = await in_both_eras(served.talk, "ckf.unknown", {})
    assert (older["error"]["code"], newer["error"]["code"]) == (-32601, -32602)
    assert older["error"]["message"] == "Tool not found: ckf.unknown"
    data = older["error"]["data"]
    assert (data["code"], data["retryable"]) == ("TOOL_NOT_FOUND", False)
    assert data["tool"] == "ckf.unknown"
    assert "ckf.compile" in data["available"]
    assert newer["error"]["data"] == data


@pytest.mark.requirement("ckf.errors.numbers_on_the_wire")
async def test_envelopes_carry_the_documented_numbers(served: Served) -> None:
    talk = served.talk
    parse = (await talk.post(PATH, b"{")).json()["error"]
    request = (await talk.post(PATH, {"jsonrpc": "2.0", "id": 1})).json()["error"]
    method = (await talk.ask(PATH, "no/such"))["error"]
    resource = (await talk.ask(PATH, "resources/read", {"uri": "ckf://no/such"}))["error"]
    told = {it["data"]["code"]: it["code"] for it in (parse, request, method, resource)}
    assert told == {
        "PARSE_ERROR": -32700,
        "INVALID_REQUEST": -32600,
        "METHOD_NOT_FOUND": -32601,
        "NOT_FOUND": -32004,
    }
    modern = (await talk.modern(PATH, "resources/read", {"uri": "ckf://no/such"})).json()["error"]
    assert (modern["code"], modern["data"]["code"]) == (-32602, "NOT_FOUND")
    unknown = (await talk.modern(PATH, "no/such")).json()["error"]
    assert (unknown["code"], unknown["data"]["code"]) == (-32601, "METHOD_NOT_FOUND")


@pytest.mark.requirement("ckf.errors.parse_error", "ckf.errors.invalid_request")
async def test_a_body_that_is_no_request_is_told_so_in_the_newer_era_too(served: Served) -> None:
    newer = {"mcp-protocol-version": MODERN, "mcp-method": "tools/list", "accept": BOTH}
    for body, code, number in (
        (b"{", "PARSE_ERROR", -32700),
        (b'{"jsonrpc": "2.0", "id": 1}', "INVALID_REQUEST", -32600),
        (b'{"method": "tools/list", "id": 1}', "INVALID_REQUEST", -32600),
    ):
        error = (await served.talk.post(PATH, body, **newer)).json()["error"]
        assert (error["code"], error["data"]["code"]) == (number, code)
        assert error["data"]["retryable"] is False
        assert error["data"].get("hint") or error["data"].get("field")


async def test_a_prompt_that_does_not_exist_is_not_found(served: Served) -> None:
    asked: dict[str, Any] = {"name": "no-such", "arguments": {}}
    older = (await served.talk.ask(PATH, "prompts/get", asked))["error"]
    newer = (await served.talk.modern(PATH, "prompts/get", asked)).json()["error"]
    assert older["data"]["code"] == newer["data"]["code"] == "NOT_FOUND"
    assert (older["code"], newer["code"]) == (-32004, -32602)


async def test_without_a_token_a_closed_server_asks_for_one(serve: Serve) -> None:
    async with serve(mode="server") as served:
        asked = {"name": "ckf.compile", "arguments": {"text": TEXT}}
        older = await served.talk.ask(PATH, "tools/call", asked)
        newer = (await served.talk.modern(PATH, "tools/call", asked)).json()
    assert (older["error"]["code"], newer["error"]["code"]) == (-32001, -31001)
    for it in (older, newer):
        assert it["error"]["data"]["code"] == "AUTH_REQUIRED"
        assert it["error"]["data"]["retryable"] is False


async def test_a_caller_without_the_right_is_forbidden(served: Served) -> None:
    stranger = served.other(await served.token("bo", ["pecia.search"]))
    older, newer = await in_both_eras(stranger, "ckf.compile", {"text": TEXT})
    assert (older["error"]["code"], newer["error"]["code"]) == (-32002, -31002)
    for it in (older, newer):
        assert it["error"]["data"]["code"] == "FORBIDDEN"
        assert it["error"]["data"]["retryable"] is False


async def test_too_many_calls_are_told_when_to_come_back(serve: Serve) -> None:
    async with serve(principal_rate_per_s="0.01", principal_burst="2") as served:
        for _ in range(2):
            await in_both_eras(served.talk, "ckf.parse", {"document": "{}"})
        found = await in_both_eras(served.talk, "ckf.parse", {"document": "{}"})
    for answer in found:
        error = answer["result"]["structuredContent"]["error"] if "result" in answer else None
        error = error or answer["error"]["data"]
        assert (error["code"], error["retryable"]) == ("RATE_LIMITED", True)
        assert error["retry_after_seconds"] > 0


Reader = Callable[[Caller, str], Awaitable[SourceText]]


@asynccontextmanager
async def lent(database: DatabaseLogins, home: Path, read_source: Reader) -> AsyncGenerator[RawMcp]:
    """A server whose ckf feature reads the texts of other features in this way."""
    settings = load_settings(
        SETTINGS,
        flags=house_flags(database, home),
        environ={},
        project_file=None,
        user_file=None,
    )
    async with open_app(settings, fetch=no_fetch, report=lambda _: None) as opened:
        features = [
            ckf_feature("http://pecia.test", read_source) if it.name == "ckf" else it
            for it in opened.features
        ]
        app = replace(opened, features=tuple(features))
        async with (
            serve_http(
                app,
                port=0,
                mounts=[lambda app, keeper: mount_mcp(app, keeper, Subscriptions())],
                instance="lent",
            ) as address,
            httpx.AsyncClient(base_url=address.url, timeout=20) as http,
        ):
            yield RawMcp(http)


async def no_answer(caller: Caller, uri: str) -> SourceText:
    raise UpstreamError("the source does not answer")


async def broken(caller: Caller, uri: str) -> SourceText:
    raise RuntimeError("the secret of the inside")


@pytest.mark.parametrize(
    ("read_source", "code"), [(no_answer, "UPSTREAM_ERROR"), (broken, "INTERNAL_ERROR")]
)
async def test_a_failure_that_is_not_the_callers_may_be_tried_again(
    database: DatabaseLogins, tmp_path: Path, read_source: Reader, code: str
) -> None:
    async with lent(database, tmp_path / "home", read_source) as talk:
        found = await in_both_eras(talk, "ckf.compile", {"uri": "lake://a/b"})
    for answer in found:
        told = answer["result"]["structuredContent"] if "result" in answer else answer["error"]
        error = told.get("error") or told["data"]
        assert (error["code"], error["retryable"]) == (code, True)
        assert "secret" not in str(answer)


async def test_a_text_of_another_room_is_compiled_by_its_address(
    database: DatabaseLogins, tmp_path: Path
) -> None:
    async def lend(caller: Caller, uri: str) -> SourceText:
        return SourceText(TEXT, "Refunds", uri, revision="7")

    async with lent(database, tmp_path / "home", lend) as talk:
        asked = {"name": "ckf.compile", "arguments": {"uri": "lake://a/b"}}
        made = (await talk.ask(PATH, "tools/call", asked))["result"]["structuredContent"]
    assert made["package"]["metadata"]["source_title"] == "Refunds"
    assert TEXT in str(made["package"]["retrieval_chunks"])
