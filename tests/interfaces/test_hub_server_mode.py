"""The hub of a served Pecia: for two tenants, and for real MCP clients."""

import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, cast

import httpx2
import mcp_types as types
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from pecia.interfaces.http.server import serve_http
from pecia.interfaces.mcp.mount import mount_mcp
from pecia.kernel.errors import Json
from pecia.kernel.identity import owner_token
from pecia.kernel.store.cluster import DatabaseLogins
from pecia.kernel.text.yaml.writer import dump_yaml
from tests.conftest import House
from tests.interfaces.tenant_server import Pecia, bearing, open_pecia
from tests.unit.features.hub.hub_server import PROGRAM

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
async def pecia(
    module_database: DatabaseLogins, tmp_path_factory: pytest.TempPathFactory
) -> AsyncGenerator[Pecia]:
    """A server whose operator wrote a program into a file, for the tenant north."""
    home = tmp_path_factory.mktemp("home")
    entry: Json = {"command": sys.executable, "args": [PROGRAM], "tenants": ["north", "nobody"]}
    file = home / "cipher.yml"
    file.write_text(dump_yaml({"mcpServers": {"files": entry}}), encoding="utf-8")
    flags: dict[str, Any] = {"hub.servers_file": str(file)}
    async with open_pecia(module_database, home, mounts=[mount_mcp], **flags) as served:
        # Tools are known from the first look on.
        await served.call("hub/list_servers")
        made = await served.call("hub/check_server", {"server": "files"})
        assert made.json()["state"] == "up"
        yield served


@asynccontextmanager
async def client_of(url: str, headers: dict[str, str], **more: Any) -> AsyncGenerator[Client]:
    async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
        transport = streamable_http_client(f"{url}/mcp/hub", http_client=http)
        async with Client(transport, cache=None, **more) as client:
            yield client


@pytest.mark.requirement("hub.upstream.from_agent_file")
async def test_a_real_client_lists_and_calls_through_the_hub(pecia: Pecia) -> None:
    async with client_of(pecia.url, pecia.bo) as client:
        listed = {it.name for it in (await client.list_tools()).tools}
        assert {"list_servers", "list_server_tools", "call_server_tool"} <= listed
        ask = {"server": "files", "tool": "echo", "arguments": {"text": "hi"}}
        said = await client.call_tool("call_server_tool", ask)
    assert said.content == [types.TextContent(text="hi")]
    rows = await pecia.audit(tool="hub.call_server_tool", interface="mcp", status="ok")
    assert rows[-1]["arguments"] == {**ask, "arguments": "•••"}


async def test_http_gives_the_same_answer(pecia: Pecia) -> None:
    ask = {"server": "files", "tool": "echo", "arguments": {"text": "hi"}}
    said = await pecia.call("hub/call_server_tool", ask, pecia.bo)
    assert said.json() == {"content": [{"type": "text", "text": "hi"}]}


async def test_another_tenant_knows_nothing_of_it(pecia: Pecia) -> None:
    south = bearing(pecia.tokens["south", "ana"])
    assert (await pecia.call("hub/list_servers", {}, south)).json() == {"servers": []}
    said = await pecia.call("hub/call_server_tool", {"server": "files", "tool": "echo"}, south)
    assert said.status_code == 404
    said = await pecia.call("hub/remove_server", {"server": "files"}, south)
    assert said.status_code == 404


async def test_what_the_operator_named_its_tenant_can_only_switch_off(pecia: Pecia) -> None:
    said = await pecia.call("hub/remove_server", {"server": "files"})
    assert said.status_code == 403
    ask = {"server": "files", "env": {"LD_PRELOAD": "/tmp/x.so"}}
    assert (await pecia.call("hub/set_server", ask)).status_code == 403
    off = await pecia.confirmed("hub/set_server", {"server": "files", "enabled": False})
    assert off.json()["state"] == "off"
    await pecia.confirmed("hub/set_server", {"server": "files", "enabled": True})


async def test_no_tenant_starts_a_program_on_a_server_of_many(pecia: Pecia) -> None:
    ask = {"server": "x", "command": "touch x"}
    said = await pecia.call("hub/add_server", ask)
    assert (said.status_code, said.json()["error"]["code"]) == (403, "FORBIDDEN")


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:1/mcp",
        "http://169.254.169.254/latest",
        "http://[::1]/mcp",
        "http://10.0.0.1/sse",
    ],
)
async def test_no_tenant_reaches_into_the_operators_network(pecia: Pecia, url: str) -> None:
    said = await pecia.call("hub/add_server", {"server": "inside", "url": url})
    assert (said.status_code, said.json()["error"]["code"]) == (403, "FORBIDDEN")
    assert "pecia tenant allow" in said.json()["error"]["hint"]


@pytest.mark.parametrize("action", ["accept", "decline"])
async def test_an_agent_starts_a_program_only_if_its_person_says_yes(
    house: House, action: str
) -> None:
    asked: list[str] = []

    async def answer(ctx: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        asked.append(params.message)
        return types.ElicitResult(action=cast(Any, action), content={})

    ask = {"server": "files", "command": f"{sys.executable} {PROGRAM}"}
    # A client of the owner's, as the shim is: it shows the owner's token.
    shown = bearing(owner_token.read(house.app.settings.kernel.home) or "")
    async with (
        serve_http(house.app, port=0, mounts=[mount_mcp]) as where,
        client_of(where.url, shown, elicitation_callback=answer) as client,
    ):
        said = await client.call_tool("add_server", ask)
    assert PROGRAM in asked[0]
    assert bool(said.is_error) == (action == "decline")


@pytest.mark.requirement("hub.capability.of_the_client")
async def test_an_agent_without_a_person_starts_nothing(house: House) -> None:
    ask = {"server": "x", "command": "touch x"}
    async with (
        serve_http(house.app, port=0, mounts=[mount_mcp]) as where,
        client_of(where.url, {}) as client,
    ):
        said = await client.call_tool("add_server", ask)
    assert said.is_error
    error = cast(dict[str, Any], said.structured_content)["error"]
    assert error["code"] == "CONFIRMATION_REQUIRED"
    assert f"pecia confirm {error['confirmation']}" in error["message"]
    assert (await house.call(house.ana, "hub.list_servers"))["servers"] == []
