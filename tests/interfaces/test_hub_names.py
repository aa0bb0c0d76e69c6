"""What the hub serves of other servers: what they can do, and the names of their tools."""

import pytest

from pecia.kernel.errors import Conflict, Json, Unprocessable
from pecia.kernel.tool.model import TextContent
from tests.conftest import House
from tests.interfaces.test_hub import ground, there
from tests.unit.features.hub.hub_server import HubServer, grounded, site
from tests.unit.features.hub.upstream import Site

__all__ = ["ground", "there"]

pytestmark = pytest.mark.anyio


class TestCapabilities:
    @pytest.mark.requirement("hub.capability.strict_off_by_default")
    async def test_one_that_does_not_say_what_it_serves_is_tried(
        self, ground: HubServer, there: Site, caplog: pytest.LogCaptureFixture
    ) -> None:
        there.server.is_mute = True
        await ground.call(ground.ana, "set_server", server="there", enabled=True)
        assert (await ground.ask(ground.bo, "there", "echo", text="hi")).content == (
            TextContent("hi"),
        )
        assert "hub.capability" in {it.__dict__.get("action") for it in caplog.records}

    @pytest.mark.requirement("hub.capability.of_the_upstream", "hub.capability.strict_refuses")
    async def test_where_that_is_wished_it_is_sent_nothing_that_it_never_said_it_serves(
        self, ground: HubServer, there: Site
    ) -> None:
        there.server.is_mute = True
        waiting: dict[str, Json] = {"enforce_strict_capabilities": True}
        await ground.call(ground.ana, "set_server", server="there", waiting=waiting)
        sent = len(there.headers)
        with pytest.raises(Unprocessable, match=r"tools \(required for tools/call\)"):
            await ground.ask(ground.bo, "there", "echo", text="hi")
        methods = {it.get("mcp-method") for it in there.headers[sent:]}
        assert not {it for it in methods if it and it.startswith("tools/")}


class TestNames:
    async def names(self, ground: HubServer) -> dict[str, str]:
        listed = (await ground.call(ground.ana, "list_server_tools", query="echo"))["tools"]
        return {it["server"]: it["name"] for it in listed}

    @pytest.mark.requirement(
        "hub.conflict.prefix", "hub.example.conflict_shown", "hub.example.namespaces"
    )
    async def test_of_two_of_one_name_the_later_is_prefixed(
        self, ground: HubServer, there: Site, house: House
    ) -> None:
        async with site(house) as (url, _):
            await ground.call(ground.ana, "add_server", server="other", url=f"{url}/mcp")
            assert await self.names(ground) == {"there": "echo", "other": "other__echo"}
            for server in ("there", "other"):
                said = await ground.ask(ground.bo, server, "echo", text=server)
                assert said.content == (TextContent(server),)
            await ground.call(ground.ana, "remove_server", server="other")

    @pytest.mark.requirement(
        "hub.conflict.error", "hub.trouble.conflict_message", "hub.trouble.conflict_solved"
    )
    async def test_where_a_conflict_is_an_error_the_second_is_refused(self, house: House) -> None:
        async with (
            site(house, "tools=echo") as (one, _),
            site(house, "tools=echo") as (two, _),
        ):
            async with grounded(house, on_conflict="error") as ground:
                await ground.call(ground.ana, "add_server", server="one", url=f"{one}/mcp")
                with pytest.raises(Conflict, match="Tool name conflict: echo") as refused:
                    await ground.call(ground.ana, "add_server", server="two", url=f"{two}/mcp")
                assert "echo of two is already a tool of one" in refused.value.message
                assert refused.value.fields["servers"] == ["one", "two"]
                assert await self.names(ground) == {"one": "echo"}
            async with grounded(house) as ground:
                await ground.call(ground.ana, "add_server", server="two", url=f"{two}/mcp")
                assert await self.names(ground) == {"one": "echo", "two": "two__echo"}

    @pytest.mark.requirement("hub.conflict.first_wins")
    async def test_where_the_first_wins_the_later_has_its_long_name_only(
        self, house: House
    ) -> None:
        async with (
            site(house, "tools=echo") as (one, _),
            site(house, "tools=echo") as (two, _),
            grounded(house, on_conflict="first-wins") as ground,
        ):
            await ground.call(ground.ana, "add_server", server="one", url=f"{one}/mcp")
            await ground.call(ground.ana, "add_server", server="two", url=f"{two}/mcp")
            assert await self.names(ground) == {"one": "echo", "two": "two__echo"}
            kept = await ground.hub.registry.list_tools(ground.ana)
            assert [it.exposed for it in kept] == ["echo", None]
            for server in ("one", "two"):
                await ground.call(ground.ana, "remove_server", server=server)
