"""Tools over HTTP, on a real socket and a real database."""

from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import httpx
import pytest

from pecia.kernel.store.cluster import DatabaseLogins
from tests.interfaces import probe_servers
from tests.interfaces.probe_feature import Probe
from tests.interfaces.tenant_server import Pecia, bearing, open_pecia

pytestmark = pytest.mark.anyio

probe, alone, shared, pecia = (
    probe_servers.probe,
    probe_servers.alone,
    probe_servers.shared,
    probe_servers.pecia,
)


def error_of(response: httpx.Response) -> dict[str, Any]:
    return response.json()["error"]


async def test_a_posted_object_calls_the_tool_and_its_answer_is_the_body(pecia: Pecia) -> None:
    response = await pecia.call("admin/whoami")
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/json"
    assert (response.json()["tenant"], response.json()["user"]) == ("north", "ana")


async def test_each_token_acts_as_its_own_user(pecia: Pecia) -> None:
    for (tenant, user), token in pecia.tokens.items():
        found = (await pecia.call("admin/whoami", headers=bearing(token))).json()
        assert (found["tenant"], found["user"]) == (tenant, user)


async def test_a_read_only_tool_answers_get_with_the_same(pecia: Pecia) -> None:
    query = "text=hello&count=5&deep=true&tags=a&tags=b&color=blue"
    got = await pecia.http.get(f"/api/v1/probe/echo?{query}", headers=pecia.ana)
    body = {"text": "hello", "count": 5, "deep": True, "tags": ["a", "b"], "color": "blue"}
    posted = await pecia.call("probe/echo", body)
    assert got.status_code == 200
    assert got.json() == posted.json()


async def test_a_bad_query_names_the_field(alone: Pecia, probe: Probe) -> None:
    for query, code, field in (
        ("", "MISSING_FIELD", "text"),
        ("text=hello&cuont=5", "INVALID_INPUT", "cuont"),
        ("text=hello&count=five", "INVALID_INPUT", "count"),
        ("text=hello&count=10", "OUT_OF_RANGE", "count"),
        (f"text=hello&count={2**64}", "OUT_OF_RANGE", "count"),
        ("text=hello&text=again", "INVALID_INPUT", "text"),
        ("text=hello&color=green", "INVALID_ENUM", "color"),
    ):
        response = await alone.http.get(f"/api/v1/probe/echo?{query}", headers=alone.ana)
        assert response.status_code == 400, query
        assert (error_of(response)["code"], error_of(response)["field"]) == (code, field), query
    assert probe.calls == 0


async def test_an_integer_of_more_than_64_bits_is_out_of_range_in_a_body_too(pecia: Pecia) -> None:
    for count in (2**64, -(2**70), 10**300):
        response = await pecia.call("probe/echo", {"text": "hello", "count": count})
        error = error_of(response)
        assert (response.status_code, error["code"]) == (400, "OUT_OF_RANGE")
        assert (error["field"], error["min"], error["max"]) == ("count", 1, 9)


async def test_a_tool_that_changes_something_is_not_reached_by_get(
    alone: Pecia, probe: Probe
) -> None:
    response = await alone.http.get("/api/v1/probe/write", headers=alone.ana)
    assert response.status_code == 405
    assert response.headers["allow"] == "OPTIONS, POST"
    assert probe.calls == 0


async def test_a_tool_that_takes_a_secret_is_not_reached_by_get(pecia: Pecia) -> None:
    response = await pecia.http.get("/api/v1/probe/keyed?key=hush", headers=pecia.ana)
    assert response.status_code == 405


async def test_other_methods_are_told_which_there_are(pecia: Pecia) -> None:
    for method in ("PUT", "DELETE", "PATCH"):
        response = await pecia.http.request(method, "/api/v1/probe/echo", headers=pecia.ana)
        assert response.status_code == 405
        assert response.headers["allow"] == "GET, HEAD, OPTIONS, POST"
        assert error_of(response)["code"] == "METHOD_NOT_FOUND"


async def test_options_tells_the_methods_and_needs_no_token(pecia: Pecia) -> None:
    response = await pecia.http.options("/api/v1/probe/echo")
    assert response.status_code == 204
    assert response.headers["allow"] == "GET, HEAD, OPTIONS, POST"


async def test_head_is_get_without_the_body(pecia: Pecia) -> None:
    response = await pecia.http.head("/api/v1/probe/echo?text=hello", headers=pecia.ana)
    assert response.status_code == 200
    assert response.content == b""
    assert int(response.headers["content-length"]) > 0


async def test_a_body_of_another_type_is_refused(pecia: Pecia) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", "", "application/jsonx"):
        headers = {**pecia.ana, "content-type": kind}
        response = await pecia.http.post("/api/v1/admin/whoami", content=b"{}", headers=headers)
        assert response.status_code == 415, kind
        assert error_of(response)["field"] == "Content-Type"


async def test_a_body_of_json_is_taken(pecia: Pecia) -> None:
    for kind in ("application/json", "Application/JSON; charset=UTF-8", "application/x+json"):
        headers = {**pecia.ana, "content-type": kind}
        response = await pecia.http.post("/api/v1/admin/whoami", content=b"{}", headers=headers)
        assert response.status_code == 200, kind


async def test_a_body_that_is_no_object_is_told_what_to_send(pecia: Pecia) -> None:
    headers = {**pecia.ana, "content-type": "application/json"}
    response = await pecia.http.post("/api/v1/admin/whoami", content=b"[]", headers=headers)
    assert response.status_code == 400
    assert "JSON-RPC" not in error_of(response)["hint"]
    assert "arguments of the tool" in error_of(response)["hint"]


async def test_a_tool_that_does_not_exist_is_refused_with_those_that_do(pecia: Pecia) -> None:
    response = await pecia.call("probe/ech")
    assert response.status_code == 404
    assert error_of(response)["code"] == "TOOL_NOT_FOUND"
    assert "echo" in error_of(response)["available"]
    for far in ("probe/nope", "nowhere/nothing", "probe/" + "x" * 5000):
        error = error_of(await pecia.call(far))
        assert 0 < len(error["available"]) <= 5
        assert "GET /api/v1/tools" in error["hint"]


@pytest.mark.parametrize("name", ["compile", "ckf.compile"])
async def test_a_tool_is_called_by_its_name_below_its_feature(pecia: Pecia, name: str) -> None:
    text = "A refund must be asked for within thirty days of the purchase."
    response = await pecia.call(f"ckf/{name}", {"text": text})
    assert response.status_code == 200
    assert (await pecia.audit(tool="ckf.compile"))[-1]["status"] == "ok"
    # The name belongs below its own feature and nowhere else.
    assert (await pecia.call(f"lake/{name}", {"text": text})).status_code == 404


async def test_a_misspelt_tool_is_told_the_nearest_name(pecia: Pecia) -> None:
    message = error_of(await pecia.call("admin/whoamy"))["message"]
    assert message.endswith("; did you mean admin.whoami?")


async def test_a_hidden_tool_does_not_exist(alone: Pecia, probe: Probe) -> None:
    assert (await alone.call("probe/hidden")).status_code == 404
    assert probe.calls == 0


async def test_the_other_names_of_a_tool_are_no_paths(alone: Pecia, probe: Probe) -> None:
    for path in ("probe/probe.write", "probe/probe__write", "admin/write"):
        assert (await alone.call(path)).status_code == 404
    assert probe.calls == 0


async def test_an_upstreams_own_failure_is_an_upstream_error(pecia: Pecia) -> None:
    response = await pecia.call("probe/upstream")
    assert response.status_code == 502
    assert error_of(response)["content"] == [{"type": "text", "text": "it did not work"}]


async def test_an_answer_without_structure_is_given_as_content(pecia: Pecia) -> None:
    response = await pecia.call("probe/wordy")
    assert response.json() == {"content": [{"type": "text", "text": "only words"}]}


async def test_a_deadline_of_the_caller_is_kept(pecia: Pecia) -> None:
    headers = {**pecia.ana, "x-pecia-timeout": "0.05"}
    response = await pecia.call("probe/wait", headers=headers)
    assert response.status_code == 504
    error = error_of(response)
    assert (error["code"], error["timeout_s"]) == ("TIMEOUT", 0.05)
    assert "request_timeout_max_s" in error["hint"]


async def test_a_deadline_out_of_bounds_is_refused(pecia: Pecia) -> None:
    for given in ("0", "-1", "301", "inf", "nan", "soon", "1e9"):
        response = await pecia.call("probe/wait", headers={**pecia.ana, "x-pecia-timeout": given})
        assert response.status_code == 400, given
        assert error_of(response)["field"] == "X-Pecia-Timeout"


async def test_a_caller_may_ask_for_longer_than_the_default(pecia: Pecia) -> None:
    default = await pecia.call("probe/left")
    longer = await pecia.call("probe/left", headers={**pecia.ana, "x-pecia-timeout": "200"})
    assert (default.json()["text"], longer.json()["text"]) == ("60", "200")


async def test_a_call_whose_client_goes_away_is_cancelled_and_says_so_in_the_audit(
    alone: Pecia, probe: Probe
) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(alone.call, "probe/wait")
        await probe.started.wait()
        tasks.cancel_scope.cancel()
    with anyio.fail_after(5):
        while not (rows := await alone.audit(tool="probe.wait", status="cancelled")):
            await anyio.lowlevel.checkpoint()
    assert len(rows) == 1


async def test_the_list_of_tools_holds_what_the_caller_may_use(pecia: Pecia) -> None:
    weak = bearing(await pecia.token("north", "bo", ["pecia.read"]))
    all_of_them = "/api/v1/tools?limit=500"
    strong = (await pecia.http.get(all_of_them, headers=pecia.ana)).json()["tools"]
    found = (await pecia.http.get(all_of_them, headers=weak)).json()["tools"]
    assert {it["scope"] for it in found} == {"pecia.read"}
    assert {it["name"] for it in strong} > {it["name"] for it in found}
    whoami = next(it for it in found if it["name"] == "admin.whoami")
    assert whoami["path"] == "/api/v1/admin/whoami"
    assert whoami["methods"] == ["GET", "POST"]
    assert whoami["input_schema"]["type"] == "object"
    assert "tenant" in whoami["output_schema"]["properties"]


async def test_pages_of_the_list_neither_repeat_nor_skip(pecia: Pecia) -> None:
    whole = (await pecia.http.get("/api/v1/tools?limit=500", headers=pecia.ana)).json()
    assert whole["next_cursor"] is None
    names: list[str] = []
    cursor = ""
    while cursor is not None:
        query = {"limit": "3", "cursor": cursor}
        page = (await pecia.http.get("/api/v1/tools", params=query, headers=pecia.ana)).json()
        names += [it["name"] for it in page["tools"]]
        cursor = page["next_cursor"]
    assert names == [it["name"] for it in whole["tools"]]


async def test_the_list_refuses_what_it_does_not_know(pecia: Pecia) -> None:
    for query, field in (("limit=0", "limit"), ("lmit=1", "lmit"), ("limit=x", "limit")):
        response = await pecia.http.get(f"/api/v1/tools?{query}", headers=pecia.ana)
        assert response.status_code == 400, query
        assert error_of(response)["field"] == field


async def test_the_list_is_for_those_who_are_known(pecia: Pecia) -> None:
    assert (await pecia.http.get("/api/v1/tools")).status_code == 401
    operator = await pecia.http.get("/api/v1/tools", headers=bearing(pecia.operator))
    assert operator.status_code == 403


async def test_a_public_tool_answers_anybody_where_a_tenant_is_public(
    database: DatabaseLogins, tmp_path: Path, probe: Probe
) -> None:
    home = tmp_path / "home"
    async with open_pecia(database, home, features=[probe.feature()]):
        pass
    async with open_pecia(
        database, home, features=[probe.feature()], public_tenant="north", public_toolsets="lake"
    ) as pecia:
        assert (await pecia.http.post("/api/v1/probe/open", json={})).status_code == 200
        refused = await pecia.http.post("/api/v1/probe/echo", json={"text": "abc"})
        assert refused.status_code == 401
        assert refused.headers["www-authenticate"].startswith("Bearer resource_metadata=")


async def test_the_old_path_of_a_renamed_toolset_answers_and_is_not_listed(pecia: Pecia) -> None:
    new, old = [await pecia.call(f"{it}/whoami") for it in ("admin", "office")]
    assert (new.status_code, new.json()) == (old.status_code, old.json())
    got = await pecia.http.get("/api/v1/office/whoami", headers=pecia.ana)
    assert got.json() == new.json()
    for path in ("/api/v1/tools?limit=500", "/api/v1/openapi.json", "/api/v1/docs"):
        text = (await pecia.http.get(path, headers=pecia.ana)).text
        assert "admin/whoami" in text
        assert "office/" not in text
        assert "office." not in text
