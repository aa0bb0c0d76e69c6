"""Odd arguments over HTTP, MCP and stdio: one audit row each, and no secret in any of them."""

import io
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from pecia.interfaces.mcp.mount import mount_mcp
from pecia.kernel import logs
from pecia.kernel.store.cluster import DatabaseLogins
from tests.interfaces.tenant_server import Pecia, open_pecia
from tests.laws.frame_transports import shim
from tests.mcp.raw_mcp import RawMcp

pytestmark = pytest.mark.anyio

PAT = "peciapat_" + "Ab3" * 16 + "x"
DEPTHS = (100, 127, 129, 254, 255, 300, 900, 1023, 1500, 100_000)

REFUSALS = ("INVALID_INPUT", "INVALID_ENUM", "PARSE_ERROR")


@pytest.fixture(scope="module")
async def pecia(
    module_database: DatabaseLogins, tmp_path_factory: pytest.TempPathFactory
) -> AsyncGenerator[Pecia]:
    home = tmp_path_factory.mktemp("home")
    async with open_pecia(module_database, home, mounts=[mount_mcp]) as served:
        yield served


def nested(depth: int) -> bytes:
    """An array in an array, so many times."""
    return b"[" * depth + b"]" * depth


def frame(arguments: bytes, meta: bytes = b"") -> bytes:
    call = b'{"name":"make_token","arguments":{"label":"x","scopes":%b}%b}' % (arguments, meta)
    return b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":%b}' % call


async def over_http(pecia: Pecia, deep: bytes) -> int:
    response = await pecia.http.post(
        "/api/v1/admin/make_token",
        content=b'{"label":"x","scopes":%b}' % deep,
        headers={**pecia.ana, "content-type": "application/json"},
    )
    return response.status_code


async def over_legacy(pecia: Pecia, deep: bytes) -> int:
    talk = RawMcp(pecia.http, pecia.tokens["north", "ana"])
    return (await talk.post("/mcp/all", frame(deep), accept="application/json")).status_code


async def over_session(pecia: Pecia, deep: bytes) -> int:
    talk = RawMcp(pecia.http, pecia.tokens["north", "ana"])
    await talk.begin("/mcp/all")
    both = "application/json, text/event-stream"
    return (await talk.post("/mcp/all", frame(deep), accept=both)).status_code


async def over_modern(pecia: Pecia, deep: bytes) -> int:
    talk = RawMcp(pecia.http, pecia.tokens["north", "ana"])
    meta = json.dumps(
        {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        }
    ).encode()
    headers = {
        "accept": "application/json",
        "mcp_protocol_version": "2026-07-28",
        "mcp_method": "tools/call",
        "mcp_name": "make_token",
    }
    body = frame(deep, b',"_meta":' + meta)
    return (await talk.post("/mcp/all", body, **headers)).status_code


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("send", [over_http, over_legacy, over_session, over_modern])
async def test_arguments_of_any_depth_are_refused_cleanly_and_leave_one_row(
    pecia: Pecia, send: Callable[[Pecia, bytes], Awaitable[int]], depth: int
) -> None:
    before = len(await pecia.audit())
    status = await send(pecia, nested(depth))
    rows = (await pecia.audit())[before:]
    assert status in ((400,) if send is over_http else (200, 400))
    assert [(it["status"], it["code"] in REFUSALS) for it in rows] == [("error", True)]


@pytest.mark.parametrize("depth", [200, 300, 5000])
async def test_over_stdio_too(pecia: Pecia, tmp_path: Path, depth: int) -> None:
    environ = {"PECIA_TOKEN": pecia.tokens["north", "ana"]}
    async with shim(pecia.port, tmp_path, **environ) as line:
        assert line.process.stdin is not None
        with anyio.fail_after(60):
            # A client whose every request is refused ends with 1: this one is served first.
            await line.process.stdin.send(frame(b'["pecia.read"]') + b"\n")
            await line.lines.receive_until(b"\n", 1_000_000)
            before = len(await pecia.audit())
            await line.process.stdin.send(frame(nested(depth)) + b"\n")
            answer = json.loads(await line.lines.receive_until(b"\n", 1_000_000))
    assert "error" in answer or answer["result"]["isError"]
    rows = (await pecia.audit())[before:]
    assert [(it["status"], it["code"] in REFUSALS) for it in rows] == [("error", True)]


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"5", b'{"label": NaN}', b'{"label": "x", "label": "y"}', b"\xff", b'"x"'],
)
async def test_a_body_that_is_no_object_is_refused_and_leaves_one_row(
    pecia: Pecia, body: bytes
) -> None:
    before = len(await pecia.audit())
    headers = {**pecia.ana, "content-type": "application/json"}
    response = await pecia.http.post("/api/v1/admin/make_token", content=body, headers=headers)
    rows = (await pecia.audit())[before:]
    assert response.status_code == 400
    code = response.json()["error"]["code"]
    assert [(it["tool"], it["code"]) for it in rows] == [("admin.make_token", code)]


@pytest.mark.parametrize("arguments", [b"5", b"[]", b'"x"', b"true"])
@pytest.mark.parametrize("send", [over_legacy, over_session, over_modern])
async def test_a_call_whose_arguments_are_no_object_leaves_one_row(
    pecia: Pecia, send: Callable[[Pecia, bytes], Awaitable[int]], arguments: bytes
) -> None:
    before = len(await pecia.audit())
    await send(pecia, b'0},"arguments":%b,"x":{"y":0' % arguments)
    rows = (await pecia.audit())[before:]
    assert [(it["tool"], it["status"]) for it in rows] == [("admin.make_token", "error")]


async def test_a_token_in_a_path_or_a_request_id_stands_in_no_row_log_or_answer(
    pecia: Pecia,
) -> None:
    before = len(await pecia.audit())
    seen: list[str] = []
    lines = io.StringIO()
    with logs.configure_logging(pecia.app.settings.kernel, stream=lines):
        for path in (f"/api/v1/admin/{PAT}", f"/{PAT}", f"/api/v1/{PAT}/x", f"/mcp/{PAT}"):
            response = await pecia.http.post(path, json={}, headers=pecia.ana)
            seen += [response.text, str(response.headers)]
        for given in (PAT, f"a:{PAT}", "sk-proj-abcdefGHIJKL0123456789"):
            headers = {**pecia.ana, "x-request-id": given}
            response = await pecia.http.post("/api/v1/admin/whoami", json={}, headers=headers)
            assert response.status_code == 200
            seen += [response.text, str(response.headers)]
    rows = (await pecia.audit())[before:]
    assert len(rows) == 5
    assert "whoami" in lines.getvalue()
    for secret in (PAT, "abcdefGHIJKL0123456789"):
        assert not [it for it in (*seen, *map(str, rows), lines.getvalue()) if secret in it]


async def test_secrets_in_commands_and_addresses_stand_in_no_row(pecia: Pecia) -> None:
    before = len(await pecia.audit())
    asks: list[dict[str, Any]] = [
        {"server": "a", "url": "https://ana:hunter22@host.invalid/mcp?api_key=hunter22"},
        {"server": "b", "command": "nothing --token hunter22 --x postgres://u:hunter22@h/d"},
        {"server": "c", "command": "nothing", "args": ["--token", "hunter22"]},
    ]
    for ask in asks:
        await pecia.call("hub/add_server", ask)
    rows = (await pecia.audit())[before:]
    assert [it["tool"] for it in rows] == ["hub.add_server"] * 3
    assert "hunter22" not in str(rows)


@pytest.mark.parametrize(
    "given",
    [
        "mysql -phunter22",
        "mysql\t-u root\t-phunter22",
        "mysql -hdb \\\n  -phunter22",
        "mysql '-phunter 22 hunter22'",
        "mysql -vphunter22",
        "MySQL.exe -phunter22",
        "/opt/mysql8.0 -D zip -phunter22",
        "mysqlcheck -phunter22",
        "mariadb-admin -phunter22 status",
        "mysqldump db | redis-cli -a hunter22",
        "docker  login -u ana -p hunter22",
        ["sudo", "mysql", "-phunter22"],
        ["docker", "exec", "-it", "db", "mysql", "-uroot", "-vphunter22"],
        {"command": "docker", "args": ["exec", "db", "mysql", "-phunter22"]},
        {"cmd": "mysql", "args": ["-phunter22"]},
        {"program": "mysql", "arguments": "-uroot -phunter22"},
    ],
    ids=str,
)
async def test_a_password_glued_to_a_flag_stands_in_no_row(pecia: Pecia, given: Any) -> None:
    before = len(await pecia.audit())
    # Refused, as a program on a shared server or for its type, and audited as it came.
    await pecia.call("hub/add_server", {"server": "kept", "command": given})
    (row,) = (await pecia.audit())[before:]
    assert "kept" in str(row)
    assert "hunter22" not in str(row)
