"""The error codes of the compiled-knowledge reference, as a client of the HTTP API meets them."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from pecia.app.app import App
from pecia.interfaces.cli.output.terminal import Terminal
from pecia.interfaces.mcp.mount import mount_mcp
from pecia.kernel.errors import (
    BadArgument,
    MixedScope,
    NotAgentSettable,
    Unprocessable,
    iter_errors,
)
from pecia.kernel.rate_limit import RateLimit, RateLimiter
from pecia.kernel.store.cluster import DatabaseLogins
from tests.contract.requirement import requirement
from tests.interfaces import probe_servers
from tests.interfaces.probe_feature import Probe, fails_with
from tests.interfaces.tenant_server import Pecia, bearing, open_pecia

pytestmark = pytest.mark.anyio

probe, alone, shared, pecia = (
    probe_servers.probe,
    probe_servers.alone,
    probe_servers.shared,
    probe_servers.pecia,
)


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


def told(response: httpx.Response, status: int, code: str, number: int) -> dict[str, Any]:
    """The error of a response, once its status, code and number are the documented ones."""
    error = response.json()["error"]
    assert (response.status_code, error["code"]) == (status, code)
    known = next(it.code for it in iter_errors() if it.code.name == code)
    assert known.number(modern=False) == number
    assert isinstance(error["message"], str)
    return error


@requirement("ckf.errors.parse_error")
async def test_a_body_that_is_not_json_is_a_parse_error(pecia: Pecia) -> None:
    for body in (b"{", b"", b"{'a': 1}", b'{"a": NaN}', b"\xff\xfe"):
        response = await pecia.http.post(
            "/api/v1/probe/echo",
            content=body,
            headers={**pecia.ana, "content-type": "application/json"},
        )
        assert told(response, 400, "PARSE_ERROR", -32700)["retryable"] is False


@requirement("ckf.errors.tool_not_found")
async def test_a_tool_that_does_not_exist_is_tool_not_found(pecia: Pecia) -> None:
    error = told(await pecia.call("ckf/ckf.unknown"), 404, "TOOL_NOT_FOUND", -32601)
    assert error["retryable"] is False
    assert "ckf.compile" in error["available"]
    assert len(error["available"]) <= 5


@requirement("ckf.errors.missing_field")
async def test_an_absent_argument_is_named(pecia: Pecia) -> None:
    error = told(await pecia.call("probe/echo", {}), 400, "MISSING_FIELD", -32602)
    assert (error["field"], error["retryable"]) == ("text", False)


@requirement("ckf.errors.invalid_input")
async def test_a_value_of_the_wrong_type_says_what_was_expected_and_what_came(pecia: Pecia) -> None:
    response = await pecia.call("probe/echo", {"text": 5})
    error = told(response, 400, "INVALID_INPUT", -32602)
    assert (error["field"], error["retryable"]) == ("text", False)
    assert (error["expected"], error["got"]) == ("string", "integer")


@requirement("ckf.errors.invalid_enum")
async def test_a_value_outside_its_set_is_answered_with_the_set(pecia: Pecia) -> None:
    response = await pecia.call("probe/echo", {"text": "hello", "color": "green"})
    error = told(response, 400, "INVALID_ENUM", -32602)
    assert (error["field"], error["retryable"]) == ("color", False)
    assert error["allowed"] == ["red", "blue"]


@requirement("ckf.errors.invalid_format")
async def test_a_text_that_misses_its_pattern_is_an_invalid_format(pecia: Pecia) -> None:
    response = await pecia.call("probe/echo", {"text": "hello", "word": "Not Small"})
    error = told(response, 400, "INVALID_FORMAT", -32602)
    assert (error["field"], error["retryable"]) == ("word", False)


@requirement("ckf.errors.out_of_range")
async def test_a_text_that_is_too_short_says_the_least_and_its_own_length(pecia: Pecia) -> None:
    response = await pecia.call("probe/echo", {"text": "a"})
    error = told(response, 400, "OUT_OF_RANGE", -32602)
    assert (error["field"], error["retryable"]) == ("text", False)
    assert (error["min"], error["length"]) == (3, 1)


@requirement("ckf.errors.payload_too_large")
async def test_a_text_that_is_too_long_says_the_most(pecia: Pecia) -> None:
    response = await pecia.call("probe/echo", {"text": "a" * 11})
    error = told(response, 413, "PAYLOAD_TOO_LARGE", -32005)
    assert (error["field"], error["max"], error["retryable"]) == ("text", 10, False)


@requirement("ckf.errors.auth_required")
async def test_a_call_without_a_token_is_auth_required(pecia: Pecia) -> None:
    response = await pecia.call("probe/echo", {"text": "hello"}, headers={})
    assert told(response, 401, "AUTH_REQUIRED", -32001)["retryable"] is False


@requirement("ckf.errors.forbidden")
async def test_a_known_caller_without_the_right_is_forbidden(pecia: Pecia) -> None:
    weak = bearing(await pecia.token("north", "ana", ["pecia.read"]))
    for headers in (weak, pecia.bo):
        response = await pecia.call("admin/add_user", {"name": "new"}, headers=headers)
        assert told(response, 403, "FORBIDDEN", -32002)["retryable"] is False


@requirement("ckf.errors.rate_limited")
async def test_a_call_over_the_limit_passes_after_the_time_it_was_told(
    database: DatabaseLogins, tmp_path: Path
) -> None:
    now_ns = 0

    def limited(app: App) -> App:
        limiter = RateLimiter(RateLimit(1, 10, 3), clock_ns=lambda: now_ns)
        return replace(app, dispatcher=replace(app.dispatcher, limiter=limiter))

    async with open_pecia(database, tmp_path / "home", change=limited) as pecia:
        # South's bo has not called yet.
        who = bearing(pecia.tokens["south", "bo"])
        for _ in range(3):
            assert (await pecia.call("admin/whoami", headers=who)).status_code == 200
        refused = await pecia.call("admin/whoami", headers=who)
        error = told(refused, 429, "RATE_LIMITED", -32003)
        assert error["retryable"] is True
        assert refused.headers["retry-after"] == str(error["retry_after_seconds"])
        now_ns += (error["retry_after_seconds"] - 1) * 1_000_000_000
        assert (await pecia.call("admin/whoami", headers=who)).status_code == 429
        now_ns += 1_000_000_000
        assert (await pecia.call("admin/whoami", headers=who)).status_code == 200


@requirement("ckf.errors.not_found")
async def test_what_is_not_there_and_what_is_anothers_are_not_found_alike(pecia: Pecia) -> None:
    south = bearing(pecia.tokens["south", "ana"])
    made = await pecia.call(
        "admin/add_source", {"source_id": "theirs", "protocol": "upload"}, headers=south
    )
    assert made.status_code == 200, made.text
    ask = {"key": "a.txt"}
    hidden = await pecia.call("lake/get_file_metadata", {**ask, "source_id": "theirs"})
    absent = await pecia.call("lake/get_file_metadata", {**ask, "source_id": "nobodys"})
    assert told(hidden, 404, "NOT_FOUND", -32004)["retryable"] is False
    assert hidden.text.replace("theirs", "nobodys") == absent.text


@requirement("ckf.errors.upstream_error")
async def test_a_database_that_fails_is_an_upstream_error(alone: Pecia) -> None:
    await alone.app.store.close()
    response = await alone.call("admin/whoami")
    assert told(response, 502, "UPSTREAM_ERROR", -32006)["retryable"] is True


@requirement("ckf.errors.unprocessable")
async def test_arguments_that_do_not_fit_together_are_unprocessable(
    alone: Pecia, probe: Probe
) -> None:
    probe.failure = fails_with(Unprocessable)
    response = await alone.call("probe/fail")
    assert told(response, 422, "UNPROCESSABLE", -32007)["retryable"] is False


@requirement("ckf.errors.internal_error")
async def test_a_fault_of_ours_tells_nothing_of_the_inside(pecia: Pecia) -> None:
    response = await pecia.call("probe/fail", headers={**pecia.ana, "x-request-id": "r-7"})
    error = told(response, 500, "INTERNAL_ERROR", -32603)
    assert error["retryable"] is True
    assert error["request_id"] == "r-7"
    assert "detail" not in response.text


@requirement("wiki.config.not_agent_settable_code", "wiki.config.mixed_scope_code")
@pytest.mark.parametrize(
    ("kind", "code"), [(NotAgentSettable, "NOT_AGENT_SETTABLE"), (MixedScope, "MIXED_SCOPE")]
)
async def test_every_interface_names_the_field_of_a_setting_that_may_not_be_changed(
    database: DatabaseLogins,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    kind: type[BadArgument],
    code: str,
) -> None:
    probe = Probe(failure=fails_with(kind))
    async with open_pecia(
        database, tmp_path / "home", features=[probe.feature()], mounts=[mount_mcp]
    ) as pecia:
        over_http = (await pecia.call("probe/fail")).json()
        call: dict[str, object] = {"name": "probe__fail", "arguments": {}}
        over_mcp = await pecia.http.post(
            "/mcp/all",
            json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call},
            headers={**pecia.ana, "accept": "application/json"},
        )
    Terminal(as_json=True).print_error(kind("as asked", field="x"))
    on_the_shell = json.loads(capsys.readouterr().out)
    told = [over_http, over_mcp.json()["result"]["structuredContent"], on_the_shell]
    assert [(it["error"]["code"], it["error"]["field"]) for it in told] == [(code, "x")] * 3
