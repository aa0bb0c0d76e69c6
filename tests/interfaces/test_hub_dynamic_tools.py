"""Tools of others among ours: listed, found and called by a real MCP client, for who may."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, cast

import anyio
import httpx2
import mcp_types as types
import pytest
from mcp.client.client import Client
from mcp.client.session import IncomingMessage
from mcp.client.streamable_http import streamable_http_client

from pecia.interfaces.mcp.mount import mount_mcp
from pecia.kernel.store.cluster import DatabaseLogins
from tests.interfaces.tenant_server import Pecia, allow, bearing, open_pecia
from tests.unit.features.hub.hub_server import listening_site
from tests.unit.features.hub.upstream import Site

pytestmark = pytest.mark.anyio

HI = [types.TextContent(text="hi")]


@dataclass(frozen=True, slots=True)
class HubFixture:
    """A server of two tenants, of which one is connected to an upstream named `files`."""

    pecia: Pecia
    site: Site

    @asynccontextmanager
    async def client(self, path: str, tenant: str = "north", **more: Any) -> AsyncGenerator[Client]:
        """The member bo of that tenant, by a real client."""
        headers = bearing(self.pecia.tokens[tenant, "bo"])
        async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
            transport = streamable_http_client(f"{self.pecia.url}{path}", http_client=http)
            async with Client(transport, cache=None, **more) as client:
                yield client

    async def names(self, path: str, tenant: str = "north") -> set[str]:
        async with self.client(path, tenant) as client:
            return await names_of(client)


async def names_of(client: Client) -> set[str]:
    return {it.name for it in (await client.list_tools()).tools}


@pytest.fixture(scope="module")
async def ground(
    module_database: DatabaseLogins, tmp_path_factory: pytest.TempPathFactory
) -> AsyncGenerator[HubFixture]:
    home = tmp_path_factory.mktemp("home")
    site = Site(["tools=echo,steps,read_file"])
    async with (
        open_pecia(module_database, home, mounts=[mount_mcp]) as pecia,
        listening_site(site, pecia.app.settings.kernel) as url,
    ):
        await allow(pecia.app, hosts=["127.0.0.0/8"])
        made = await pecia.confirmed("hub/add_server", {"server": "files", "url": f"{url}/mcp"})
        assert made.json()["state"] == "up"
        yield HubFixture(pecia, site)
        await pecia.call("hub/remove_server", {"server": "files"})


@pytest.mark.requirement("hub.example.tools_side_by_side")
@pytest.mark.parametrize("path", ["/mcp/all", "/mcp/hub"])
async def test_they_are_in_one_list_with_ours(ground: HubFixture, path: str) -> None:
    names = await ground.names(path)
    assert {"echo", "steps", "list_servers"} <= names
    assert "files__read_file" in names, "the cascade has a read_file, and keeps the name"
    assert ("cipher_memory_search" in names) == (path == "/mcp/all")


async def test_another_tenant_sees_and_calls_none_of_them(ground: HubFixture) -> None:
    assert not {"echo", "files__read_file"} & await ground.names("/mcp/all", "south")
    south = bearing(ground.pecia.tokens["south", "bo"])
    said = await ground.pecia.call("hub/echo", {"text": "hi"}, south)
    assert said.status_code == 404


@pytest.mark.requirement("hub.conflict.prefixed_callable")
@pytest.mark.parametrize("name", ["echo", "files__echo", "hub__echo", "hub.echo"])
async def test_they_are_called_by_each_of_their_names(ground: HubFixture, name: str) -> None:
    async with ground.client("/mcp/all") as client:
        assert (await client.call_tool(name, {"text": "hi"})).content == HI


async def test_the_desk_finds_and_calls_them(ground: HubFixture) -> None:
    async with ground.client("/mcp") as client:
        found = await client.call_tool("find_tools", {"query": "say something again"})
        tools = cast(dict[str, Any], found.structured_content)["tools"]
        assert "echo" in [it["name"] for it in tools]
        said = await client.call_tool("call_tool", {"name": "echo", "arguments": {"text": "hi"}})
        assert said.content == HI


async def test_progress_arrives_under_the_token_of_the_caller(ground: HubFixture) -> None:
    heard: list[float] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append(progress)

    async with ground.client("/mcp/all") as client:
        await client.call_tool("steps", {}, progress_callback=hear)
    assert heard == [1, 2, 3]


async def test_a_wrong_argument_is_named(ground: HubFixture) -> None:
    async with ground.client("/mcp/all") as client:
        said = await client.call_tool("echo", {})
    assert said.is_error
    assert cast(dict[str, Any], said.structured_content)["error"]["field"] == "text"


async def test_http_lists_and_calls_them(ground: HubFixture) -> None:
    pecia = ground.pecia
    listed = await pecia.http.get("/api/v1/tools?limit=500", headers=pecia.bo)
    mine = {it["name"]: it for it in listed.json()["tools"]}
    said = await pecia.http.post(mine["hub.echo"]["path"], json={"text": "hi"}, headers=pecia.bo)
    assert said.json() == {"content": [{"type": "text", "text": "hi"}]}


async def test_a_call_is_in_the_one_audit_log(ground: HubFixture) -> None:
    async with ground.client("/mcp/all") as client:
        await client.call_tool("echo", {"text": "hi"})
    rows = await ground.pecia.audit(tool="hub.echo", interface="mcp", status="ok")
    assert rows[-1]["arguments"] == {"text": "hi"}


@pytest.fixture
async def waiting(ground: HubFixture) -> AsyncGenerator[None]:
    """`steps` has changed since it was approved, and nobody has looked at it yet."""
    tool = ground.site.server.upstream.tools["steps"]
    before, tool.description = tool.description, "Three steps, and your keys."
    await ground.pecia.call("hub/check_server", {"server": "files"})
    yield
    tool.description = before
    await ground.pecia.call("hub/check_server", {"server": "files"})


@pytest.mark.parametrize("path", ["/mcp", "/mcp/all", "/mcp/hub"])
@pytest.mark.parametrize("name", ["steps", "files__steps", "hub.steps"])
@pytest.mark.usefixtures("waiting")
async def test_one_that_awaits_approval_says_so_by_each_of_its_names(
    ground: HubFixture, path: str, name: str
) -> None:
    async with ground.client(path) as client:
        assert "steps" not in await names_of(client)
        said = await client.call_tool(name, {})
    assert said.is_error
    error = cast(dict[str, Any], said.structured_content)["error"]
    assert error["code"] == "FORBIDDEN"
    assert error["message"].startswith("steps of files has changed since it was approved")
    assert "pecia hub approve files --tools steps" in error["hint"]


@pytest.mark.usefixtures("waiting")
async def test_http_says_it_too_and_shows_nothing_that_is_not_approved(ground: HubFixture) -> None:
    pecia = ground.pecia
    called = await pecia.call("hub/steps", {}, pecia.bo)
    described = await pecia.http.get("/api/v1/tools/steps", headers=pecia.bo)
    for answer in (called, described):
        assert answer.status_code == 403
        assert "pecia hub approve files --tools steps" in answer.json()["error"]["hint"]
        assert "your keys" not in answer.text
    unknown = await pecia.http.get("/api/v1/tools/stepz", headers=pecia.bo)
    assert unknown.status_code == 404
    south = bearing(pecia.tokens["south", "bo"])
    assert (await pecia.call("hub/steps", {}, south)).status_code == 404


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_clients_are_told_of_a_changed_list(ground: HubFixture, mode: str) -> None:
    told, ready = anyio.Event(), anyio.Event()

    async def heard(message: IncomingMessage) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            told.set()

    async def listen(client: Client) -> None:
        async with client.listen(tools_list_changed=True) as events:
            ready.set()
            async for _ in events:
                told.set()

    async with (
        ground.client("/mcp/all", mode=mode, message_handler=heard) as client,
        anyio.create_task_group() as tasks,
    ):
        if mode == "auto":
            tasks.start_soon(listen, client)
            await ready.wait()
        before = await names_of(client)
        await ground.pecia.confirmed("hub/set_server", {"server": "files", "enabled": False})
        with anyio.fail_after(30):
            await told.wait()
        assert "echo" in before - await names_of(client)
        await ground.pecia.confirmed("hub/set_server", {"server": "files", "enabled": True})
        tasks.cancel_scope.cancel()
