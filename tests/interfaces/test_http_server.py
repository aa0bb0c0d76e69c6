"""The server around the tools: what it says of itself, to whom, and how it ends."""

import logging
import re
import resource
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import httpx
import orjson
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from pecia import __version__
from pecia.app.app import App
from pecia.interfaces.http.app import HttpMount
from pecia.interfaces.http.auth.authenticator import HttpAuthenticator
from pecia.interfaces.http.routes.health import Health
from pecia.interfaces.http.server import ListenAddress, serve_http
from pecia.interfaces.mcp.on_demand import mount_mcp_on_demand
from pecia.kernel.errors import Conflict, NotFound
from pecia.kernel.store.cluster import DatabaseLogins
from tests.interfaces.probe_feature import Probe
from tests.interfaces.raw_http import requests
from tests.interfaces.tenant_server import Pecia, bearing, open_pecia, open_unserved

pytestmark = pytest.mark.anyio

ELSEWHERE = {"x-forwarded-for": "203.0.113.9"}
"""A proxy that nobody trusts still proves that the request is not this machine's own."""


@pytest.fixture
def pecia(shared: Pecia) -> Pecia:
    """Tests that must be the first at a server ask for one `alone`."""
    return shared


async def test_the_process_says_that_it_is_up(pecia: Pecia) -> None:
    response = await pecia.http.get("/healthz")
    assert response.status_code == 200
    assert response.json() == {
        "status": "ok",
        "name": "pecia",
        "version": __version__,
        "mode": "server",
        "instance": "test",
    }


async def test_a_server_with_all_it_needs_is_ready(pecia: Pecia) -> None:
    response = await pecia.http.get("/readyz")
    assert response.status_code == 200
    assert response.json()["status"] == "ready"
    assert {name: it["ok"] for name, it in response.json()["checks"].items()} == {
        "database": True,
        "migrations": True,
        "audit": True,
        "index": True,
    }


async def test_without_its_database_it_is_up_and_not_ready(alone: Pecia) -> None:
    await alone.app.store.close()
    response = await alone.http.get("/readyz")
    assert response.status_code == 503
    assert response.json()["checks"]["database"]["ok"] is False
    assert (await alone.http.get("/healthz")).status_code == 200


async def test_a_database_that_lacks_a_migration_is_not_ready(alone: Pecia) -> None:
    async with alone.app.store.system() as tx:
        await tx.execute("DELETE FROM kernel.migration WHERE name = '0001_identity.sql'")
    checks = (await alone.http.get("/readyz")).json()["checks"]
    assert checks["migrations"] == {"ok": False, "found": "1 to apply"}
    assert checks["database"]["ok"] is True


async def test_an_audit_log_that_no_longer_reaches_the_database_is_not_ready(
    alone: Pecia,
) -> None:
    alone.app.audit_log.drained_at -= 1000
    response = await alone.http.get("/readyz")
    assert response.status_code == 503
    assert response.json()["checks"]["audit"]["ok"] is False


async def test_a_disk_that_takes_no_audit_line_is_not_ready_until_it_does(alone: Pecia) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, hard))
    try:
        refused = await alone.call("admin/whoami")
        response = await alone.http.get("/readyz")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    error = refused.json()["error"]
    assert (error["code"], error["message"]) == (
        "STORAGE_FULL",
        "the audit log cannot be written: file too large",
    )
    assert "write to the folder" in error["hint"]
    assert response.status_code == 503
    assert response.json()["checks"]["audit"] == {
        "ok": False,
        "found": "cannot be written: file too large",
    }
    # Nobody calls a server that is not ready: it finds out by itself.
    assert (await Health(alone.app).checks())["audit"].is_ok


async def test_readiness_is_asked_of_the_database_once_however_many_ask(alone: Pecia) -> None:
    await alone.http.get("/readyz")
    before = alone.app.store.pool_stats()["system"]["requests_num"]
    for _ in range(20):
        await alone.http.get("/readyz")
    # Two transactions for each that asks the database.
    assert alone.app.store.pool_stats()["system"]["requests_num"] - before < 40


async def test_the_figures_count_every_call_by_tool_and_outcome(alone: Pecia) -> None:
    await alone.call("admin/whoami")
    await alone.call("admin/whoami")
    await alone.call("admin/add_user", {})
    await alone.call("admin/no_such_tool")
    await alone.http.get("/api/v1/admin/whoami")
    text = (await alone.http.get("/metrics", headers=bearing(alone.operator))).text
    assert 'pecia_calls_total{interface="http",status="ok",tool="admin.whoami"} 2.0' in text
    assert 'pecia_calls_total{interface="http",status="error",tool="admin.add_user"} 1.0' in text
    assert 'pecia_calls_total{interface="http",status="error",tool="unknown"} 1.0' in text
    assert 'pecia_calls_total{interface="http",status="denied",tool="authenticate"} 1.0' in text
    assert 'pecia_call_seconds_count{tool="admin.whoami"} 2.0' in text
    assert "pecia_calls_in_flight 0.0" in text
    assert "pecia_database_up 1.0" in text
    assert 'pecia_pool{figure="pool_max",pool="app"}' in text
    assert "no_such_tool" not in text


async def test_the_figures_are_this_machines_and_the_administrators(pecia: Pecia) -> None:
    async def status(headers: dict[str, str]) -> int:
        return (await pecia.http.get("/metrics", headers={**ELSEWHERE, **headers})).status_code

    # A proxy beside us that adds no header looks like this machine.
    assert (await pecia.http.get("/metrics")).status_code == 401
    assert await status({}) == 401
    assert await status(pecia.bo) == 403
    assert await status(pecia.ana) == 200
    assert await status(bearing(await pecia.token("north", "ana", ["pecia.read"]))) == 403
    assert await status(bearing(pecia.operator)) == 200


async def test_figures_that_are_switched_off_are_not_there(
    database: DatabaseLogins, tmp_path: Path
) -> None:
    async with open_pecia(database, tmp_path / "home", metrics_enabled="false") as pecia:
        assert (await pecia.http.get("/metrics")).status_code == 404


async def test_the_interface_is_a_valid_openapi_document(
    database: DatabaseLogins, tmp_path: Path
) -> None:
    async with open_pecia(database, tmp_path / "home", features=[Probe().feature()]) as pecia:
        response = await pecia.http.get("/api/v1/openapi.json")
        document: dict[str, Any] = response.json()
        OpenAPIV31SpecValidator(document).validate()
        tools = pecia.app.full_view.tools.values()
    operations = [it["post"] for it in document["paths"].values()]
    assert len(operations) == len(tools)
    assert len({it["operationId"] for it in operations}) == len(operations)
    echo = document["paths"]["/api/v1/probe/echo"]["post"]
    assert echo["security"] == [{"bearer": ["pecia.read"]}]
    assert {"200", "400", "401", "403", "404", "429", "500"} <= set(echo["responses"])
    refused = document["components"]["responses"]["400"]["content"]["application/json"]
    assert refused["examples"]["MISSING_FIELD"]["value"]["error"]["retryable"] is False


async def test_every_reference_of_the_document_leads_somewhere(pecia: Pecia) -> None:
    document: dict[str, Any] = (await pecia.http.get("/api/v1/openapi.json")).json()

    found: list[str] = re.findall(r'"\$ref":"#/([^"]+)"', orjson.dumps(document).decode())
    assert any("$defs" in it for it in found)
    for reference in found:
        node: Any = document
        for step in reference.split("/"):
            node = node[step]


async def test_the_pages_are_html_that_loads_nothing(pecia: Pecia) -> None:
    for path in ("/", "/api/v1/docs"):
        response = await pecia.http.get(path)
        assert response.status_code == 200
        assert response.headers["content-type"] == "text/html; charset=utf-8"
        assert "default-src 'none'" in response.headers["content-security-policy"]
        assert "<script" not in response.text
        assert "http://" not in response.text
        assert "https://" not in response.text
    assert "/api/v1/admin/whoami" in (await pecia.http.get("/api/v1/docs")).text
    assert __version__ in (await pecia.http.get("/")).text


async def test_what_is_not_there_is_told_to_people_and_to_machines(pecia: Pecia) -> None:
    machine = await pecia.http.get("/nowhere")
    person = await pecia.http.get("/nowhere", headers={"accept": "text/html,*/*"})
    assert (machine.status_code, person.status_code) == (404, 404)
    assert machine.json()["error"]["code"] == "NOT_FOUND"
    assert person.headers["content-type"] == "text/html; charset=utf-8"


async def test_a_slash_at_the_end_is_another_path(pecia: Pecia) -> None:
    assert (await pecia.http.get("/healthz/")).status_code == 404


async def test_a_request_is_one_line_in_the_log_and_holds_no_token(
    alone: Pecia, caplog: pytest.LogCaptureFixture
) -> None:
    # A path that no other test of this file goes: another server logs in this process too.
    path = "/api/v1/admin/list_users"
    with caplog.at_level(logging.INFO, logger="pecia.request"):
        await alone.call("admin/list_users", headers={**alone.ana, "x-request-id": "r-1"})
    [line] = requests(caplog, path)
    assert line.__dict__["action"] == "http"
    fields = line.__dict__["fields"]
    assert fields["path"] == path
    assert (fields["method"], fields["http_status"], fields["status"]) == ("POST", 200, "ok")
    assert (fields["tenant"], fields["user"]) == ("north", "ana")
    assert fields["client_ip"] == "127.0.0.1"
    assert alone.tokens["north", "ana"] not in str(fields)


async def test_a_call_that_runs_when_the_server_stops_may_finish(
    database: DatabaseLogins, tmp_path: Path
) -> None:
    probe = Probe()
    answers: list[httpx.Response] = []

    async def ask(url: str, token: str) -> None:
        async with httpx.AsyncClient(base_url=url, trust_env=False, timeout=20) as http:
            path = "/api/v1/probe/wait"
            answers.append(await http.post(path, json={}, headers=bearing(token)))

    async with (
        open_unserved(database, tmp_path / "home", features=[probe.feature()]) as made,
        anyio.create_task_group() as tasks,
        serve_http(made.app, port=0) as where,
    ):
        tasks.start_soon(ask, where.url, made.tokens["north", "ana"])
        await probe.started.wait()
        tasks.start_soon(_let_go_when_closed, where, probe)
    assert [it.status_code for it in answers] == [200]


async def _let_go_when_closed(where: ListenAddress, probe: Probe) -> None:
    with suppress(OSError):
        while True:
            async with await anyio.connect_tcp(where.host, where.port):
                pass
    probe.may_end.set()


async def test_a_call_that_does_not_finish_in_time_is_cut_off_and_audited(
    database: DatabaseLogins, tmp_path: Path
) -> None:
    probe = Probe()

    async def ask(url: str, token: str) -> None:
        async with httpx.AsyncClient(base_url=url, trust_env=False, timeout=20) as http:
            with suppress(httpx.HTTPError):
                await http.post("/api/v1/probe/wait", json={}, headers=bearing(token))

    async with (
        open_unserved(
            database, tmp_path / "home", features=[probe.feature()], shutdown_grace_s="0.1"
        ) as made,
        anyio.create_task_group() as tasks,
    ):
        async with serve_http(made.app, port=0) as where:
            tasks.start_soon(ask, where.url, made.tokens["north", "ana"])
            await probe.started.wait()
        assert probe.ended
        await made.app.audit_log.drain()
        async with made.app.store.system() as tx:
            rows = await tx.fetch_all("SELECT status FROM kernel.audit WHERE tool = 'probe.wait'")
        assert rows == [{"status": "cancelled"}]


async def test_who_only_listens_does_not_hold_up_a_stop(
    database: DatabaseLogins, tmp_path: Path
) -> None:
    client = {"name": "test", "version": "1"}
    begin = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
    ask = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": begin}
    accept = {"accept": "application/json, text/event-stream"}
    is_complete: list[bool] = []

    async def listen(url: str, headers: dict[str, str], is_open: anyio.Event) -> None:
        async with (
            httpx.AsyncClient(base_url=url, trust_env=False, timeout=60) as http,
            http.stream("GET", "/mcp", headers={**headers, "accept": "text/event-stream"}) as got,
        ):
            is_open.set()
            async for _ in got.aiter_raw():
                pass
            is_complete.append(True)

    async with (
        open_unserved(database, tmp_path / "home", shutdown_grace_s="300") as made,
        anyio.create_task_group() as tasks,
    ):
        with anyio.fail_after(30):
            async with serve_http(made.app, port=0, mounts=[mount_mcp_on_demand]) as where:
                headers = bearing(made.tokens["north", "ana"])
                async with httpx.AsyncClient(base_url=where.url, trust_env=False) as http:
                    begun = await http.post("/mcp", json=ask, headers={**headers, **accept})
                headers["mcp-session-id"] = begun.headers["mcp-session-id"]
                is_open = anyio.Event()
                tasks.start_soon(listen, where.url, headers, is_open)
                await is_open.wait()
    assert is_complete == [True]


async def test_a_long_call_is_refused_under_its_id_also_where_mcp_opens_on_demand(
    database: DatabaseLogins, tmp_path: Path
) -> None:
    call = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "x" * 30_000}}
    async with (
        open_unserved(database, tmp_path / "home", body_limit_bytes="20000") as made,
        serve_http(made.app, port=0, mounts=[mount_mcp_on_demand]) as where,
        httpx.AsyncClient(base_url=where.url, trust_env=False) as http,
    ):
        refused = await http.post("/mcp", json=call, headers=bearing(made.tokens["north", "ana"]))
    assert (refused.status_code, refused.json()["id"]) == (413, 7)


async def test_a_server_that_is_cancelled_ends_in_order(
    database: DatabaseLogins, tmp_path: Path
) -> None:
    served: list[ListenAddress] = []
    async with open_unserved(database, tmp_path / "home") as made:
        with anyio.CancelScope() as scope:
            async with serve_http(made.app, port=0) as where:
                served.append(where)
                scope.cancel()
                await anyio.sleep_forever()
        with pytest.raises(OSError, match="connect"):
            await anyio.connect_tcp(served[0].host, served[0].port)


async def test_a_failure_while_serving_comes_out_as_it_is(
    database: DatabaseLogins, tmp_path: Path
) -> None:
    async with open_unserved(database, tmp_path / "home") as made:
        with pytest.raises(NotFound):
            async with serve_http(made.app, port=0):
                raise NotFound("something that the server has nothing to do with")


async def test_a_port_that_is_taken_is_said_to_be(pecia: Pecia) -> None:
    with pytest.raises(Conflict) as refused:
        async with serve_http(pecia.app, port=pecia.port):
            pass
    assert refused.value.fields["port"] == pecia.port


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:80"),
        ("0.0.0.0", "http://127.0.0.1:80"),
        ("::", "http://[::1]:80"),
        ("::1", "http://[::1]:80"),
    ],
)
def test_an_address_tells_how_to_reach_it(host: str, url: str) -> None:
    assert ListenAddress(host, 80).url == url


async def test_another_endpoint_can_be_mounted(database: DatabaseLogins, tmp_path: Path) -> None:
    told: list[str] = []

    def build(app: App, keeper: HttpAuthenticator) -> HttpMount:
        async def hello(request: Request) -> Response:
            await keeper.authenticate(
                request, keeper.request_context(request, "probe"), scope="pecia.search"
            )
            return PlainTextResponse("hello")

        route = Route("/probe", hello)
        return HttpMount(
            (route,), resources=("/probe",), on_shutdown=lambda: told.append("stopping")
        )

    async with open_pecia(database, tmp_path / "home", mounts=[build]) as pecia:
        assert (await pecia.http.get("/probe", headers=pecia.ana)).text == "hello"
        refused = await pecia.http.get("/probe")
        where = f"{pecia.url}/.well-known/oauth-protected-resource/probe"
        assert refused.status_code == 401
        assert f'resource_metadata="{where}"' in refused.headers["www-authenticate"]
        assert (await pecia.http.get(where)).json()["resource"] == f"{pecia.url}/probe"
        [row] = await pecia.audit(interface="probe")
        assert (row["status"], row["code"]) == ("denied", "AUTH_REQUIRED")
    assert told == ["stopping"]


async def test_this_machine_reads_the_figures_of_a_server_where_its_operator_says_so(
    database: DatabaseLogins, tmp_path: Path
) -> None:
    async with open_pecia(database, tmp_path / "home", metrics_from_loopback="true") as pecia:
        assert (await pecia.http.get("/metrics")).status_code == 200
        elsewhere = await pecia.http.get("/metrics", headers=ELSEWHERE)
        assert elsewhere.status_code == 401


async def test_a_server_that_is_full_says_when_to_come_back(
    database: DatabaseLogins, tmp_path: Path
) -> None:
    one = dict.fromkeys(("running_max", "tenant_running_max", "principal_running_max"), "1")
    probe = Probe()
    async with (
        open_pecia(database, tmp_path / "home", features=[probe.feature()], **one) as pecia,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(pecia.call, "probe/wait")
        await probe.started.wait()
        headers = {**pecia.bo, "x-pecia-timeout": "0.05"}
        refused = await pecia.call("admin/whoami", headers=headers)
        probe.may_end.set()
        assert refused.status_code == 503
        assert int(refused.headers["retry-after"]) >= 1
        assert refused.json()["error"]["retryable"] is True
