"""The inner host that the operator gives one tenant is of no use to servers of another."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from pecia.app.operator.allowlist import AllowlistChange, disallow
from pecia.app.operator.session import OperatorSession
from pecia.kernel.errors import Json
from pecia.kernel.settings.kernel import KernelSettings
from pecia.kernel.store.cluster import DatabaseLogins
from pecia.kernel.text.yaml.writer import dump_yaml
from tests.interfaces.shell import opened_shell
from tests.interfaces.tenant_server import Pecia, allow, bearing, open_pecia
from tests.unit.adapters.loopback import redirect
from tests.unit.adapters.loopback import serving as answering
from tests.unit.features.hub.hub_server import listening_site
from tests.unit.features.hub.upstream import Site

pytestmark = pytest.mark.anyio

# One list for all tenants, as it was.
SHARED: dict[str, Any] = {"hub.trusted_hosts": "127.0.0.0/8,localhost"}


@dataclass(frozen=True, slots=True)
class Two:
    """`north` and `south`, and an MCP server in the operator's network."""

    pecia: Pecia
    site: Site
    url: str

    @property
    def host(self) -> str:
        return urlsplit(self.url).netloc

    def who(self, tenant: str) -> dict[str, str]:
        return bearing(self.pecia.tokens[tenant, "ana"])

    async def add(self, tenant: str, url: str) -> httpx.Response:
        """Adds it, with an administrator's yes where one is asked for."""
        asked = {"server": "inner", "url": url}
        said = await self.pecia.call("hub/add_server", asked, self.who(tenant))
        if said.status_code == 428:
            said = await self.pecia.confirmed("hub/add_server", asked, self.who(tenant))
        return said

    async def set(self, **changes: Any) -> int:
        asked = {"server": "inner", **changes}
        return (await self.pecia.call("hub/set_server", asked, self.who("north"))).status_code

    async def echo(self) -> httpx.Response:
        asked = {"server": "inner", "tool": "echo", "arguments": {"text": "hi"}}
        return await self.pecia.call("hub/call_server_tool", asked, self.who("north"))

    async def take_away(self) -> None:
        operating = OperatorSession(self.pecia.app.store, self.pecia.app.audit_log, "test")
        await disallow(operating, "north", AllowlistChange(hosts=[self.host]))


@asynccontextmanager
async def opened(database: DatabaseLogins, home: Path, **flags: Any) -> AsyncGenerator[Two]:
    site = Site(["tools=echo"])
    async with (
        open_pecia(database, home, **flags) as pecia,
        listening_site(site, pecia.app.settings.kernel) as url,
    ):
        yield Two(pecia, site, url)


@pytest.fixture
async def two(database: DatabaseLogins, tmp_path: Path) -> AsyncGenerator[Two]:
    async with opened(database, tmp_path / "home", **SHARED) as made:
        await allow(made.pecia.app, "north", hosts=[made.host])
        yield made


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "LOCALHOST", "[::ffff:127.0.0.1]"])
async def test_a_server_on_the_inner_host_of_another_tenant_is_refused(two: Two, name: str) -> None:
    for path in ("mcp", "sse"):
        said = await two.add("south", f"http://{name}:{urlsplit(two.url).port}/{path}")
        assert (said.status_code, said.json()["error"]["code"]) == (403, "FORBIDDEN")
        assert "pecia tenant allow" in said.json()["error"]["hint"]
    assert two.site.headers == [], "nothing was sent to it"
    assert (await two.pecia.call("hub/list_servers", {}, two.who("south"))).json() == {
        "servers": []
    }


async def test_a_tenant_calls_the_tools_of_the_host_that_it_was_given(two: Two) -> None:
    assert (await two.add("north", f"{two.url}/mcp")).json()["state"] == "up"
    assert (await two.echo()).json()["content"] == [{"type": "text", "text": "hi"}]


async def test_a_host_that_is_taken_away_is_reached_no_more_not_even_by_an_open_conversation(
    two: Two,
) -> None:
    assert (await two.add("north", f"{two.url}/mcp")).json()["state"] == "up"
    assert (await two.echo()).status_code == 200
    await two.take_away()
    before = len(two.site.headers)
    assert (await two.echo()).status_code == 403
    assert await two.set(headers={"x-key": "other"}) == 403
    assert await two.set(enabled=True) == 403
    checked = await two.pecia.call("hub/check_server", {"server": "inner"}, two.who("north"))
    assert (checked.json()["state"], checked.json()["reason"][:7]) == ("down", "refused")
    # What ends the conversation that was open may still arrive: a goodbye, and no question.
    assert any("mcp-method" in it for it in two.site.headers[:before])
    assert not any("mcp-method" in it for it in two.site.headers[before:])
    off = {"server": "inner", "enabled": False}
    assert (await two.pecia.confirmed("hub/set_server", off)).json()["state"] == "off"
    await allow(two.pecia.app, "north", hosts=[two.host])
    await two.pecia.confirmed("hub/set_server", {"server": "inner", "enabled": True})
    assert (await two.echo()).status_code == 200


async def test_a_redirect_leads_to_no_host_that_was_not_given(two: Two) -> None:
    async with answering(redirect(f"{two.url}/mcp")) as outside:
        await allow(two.pecia.app, "south", hosts=[urlsplit(outside.url()).netloc])
        said = await two.add("south", outside.url("/mcp"))
        assert (said.status_code, said.json()["state"]) == (200, "down")
    assert two.site.headers == []


async def test_the_operators_own_file_goes_by_the_operators_own_list(
    database: DatabaseLogins, tmp_path: Path
) -> None:
    async with listening_site(Site(["tools=echo"]), KernelSettings()) as url:
        file = tmp_path / "servers.yml"
        entry: Json = {"url": f"{url}/mcp", "tenants": ["south"]}
        file.write_text(dump_yaml({"mcpServers": {"inner": entry}}), encoding="utf-8")
        flags = {**SHARED, "hub.servers_file": str(file)}
        async with opened(database, tmp_path / "home", **flags) as made:
            await made.pecia.call("hub/list_servers", {}, made.who("south"))
            asked = {"server": "inner"}
            said = await made.pecia.call("hub/check_server", asked, made.who("south"))
            assert said.json()["state"] == "up"


@pytest.mark.slow
def test_serve_says_that_the_shared_list_gives_nothing_to_tenants() -> None:
    with opened_shell() as shell:
        config = shell.root / "shared.yml"
        config.write_text("mode: server\nport: 0\nhub:\n  trusted_hosts: [tools.lan:8080]\n")
        with shell.foreground("serve", "--config", config) as server:
            assert server.stdout is not None
            assert "is at" in server.stdout.readline()
            server.terminate()
            _, said = server.communicate(timeout=30)
        assert "hub.trusted_hosts has no effect on the tenants" in said
        assert "pecia tenant allow TENANT --host tools.lan:8080" in said
