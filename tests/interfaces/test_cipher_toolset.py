"""The toolset `cipher` at its endpoint: what a session sees, by which variables, and what not."""

import json
import sys
from base64 import b64encode
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from pecia.app.app import SETTINGS, App, open_app
from pecia.features.memory.settings import MemorySettings
from pecia.interfaces.http.server import serve_http
from pecia.interfaces.mcp.mount import mount_mcp
from pecia.interfaces.mcp.request_context import SESSION_HEADER
from pecia.interfaces.mcp.views.cipher import (
    CipherOptions,
    ConflictRule,
    cipher_options,
    cipher_view,
)
from pecia.kernel.errors import Conflict, InvalidFormat, Json
from pecia.kernel.identity.caller import Scope
from pecia.kernel.settings.load import load_settings
from pecia.kernel.store.cluster import DatabaseLogins
from pecia.kernel.text.yaml.writer import dump_yaml
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import ForeignTool, ToolResult
from tests.conftest import CONTEXT, house_flags, no_fetch
from tests.unit.features.hub.hub_server import PROGRAM

pytestmark = pytest.mark.anyio

MEMORY = {
    "cipher_memory_search",
    "cipher_extract_and_operate_memory",
    "cipher_store_reasoning_memory",
    "cipher_search_reasoning_patterns",
}
TEAM = {"cipher_workspace_search", "cipher_workspace_store"}
CONTACT = "contact_ct_knowledge_management"
AGGREGATOR = {"MCP_SERVER_MODE": "aggregator"}


@dataclass(frozen=True, slots=True)
class Served:
    app: App
    url: str

    @asynccontextmanager
    async def client(self, *, path: str = "/mcp/cipher", **session: str) -> AsyncGenerator[Client]:
        """A stock client, in a session with these variables."""
        headers = (
            {SESSION_HEADER: b64encode(json.dumps(session).encode()).decode()} if session else {}
        )
        async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
            transport = streamable_http_client(f"{self.url}{path}", http_client=http)
            async with Client(transport, cache=None) as client:
                yield client

    async def listed(self, **session: str) -> set[str]:
        async with self.client(**session) as client:
            return {it.name for it in (await client.list_tools()).tools}

    async def called(self, tool: str, arguments: Mapping[str, Any], **session: str) -> Any:
        async with self.client(**session) as client:
            return await client.call_tool(tool, {**arguments})

    async def refused(self, tool: str, **session: str) -> MCPError:
        async with self.client(**session) as client:
            with pytest.raises(MCPError) as refused:
                await client.call_tool(tool, {"query": "x"})
        return refused.value


@asynccontextmanager
async def serve(database: DatabaseLogins, home: Any, **environ: str) -> AsyncGenerator[Served]:
    """A Pecia of one owner, with one other server in the operator's file."""
    entry: dict[str, Any] = {"command": sys.executable, "args": [PROGRAM]}
    file = home / "cipher.yml"
    file.write_text(dump_yaml({"mcpServers": {"files": entry}}), encoding="utf-8")
    flags = {**house_flags(database, home), "hub.servers_file": str(file)}
    settings = load_settings(
        SETTINGS, flags=flags, environ=environ, project_file=None, user_file=None
    )
    async with open_app(settings, fetch=no_fetch, report=lambda _: None) as app:
        owner = await app.authenticate(None, CONTEXT)
        # Its tools are known from the first look on.
        made = await app.call(owner, "hub.check_server", {"server": "files"}, CONTEXT)
        assert isinstance(made.structured, dict)
        assert made.structured["state"] == "up"
        async with serve_http(app, port=0, mounts=[mount_mcp]) as where:
            yield Served(app, where.url)


@pytest.fixture(scope="module")
async def served(
    module_database: DatabaseLogins, tmp_path_factory: pytest.TempPathFactory
) -> AsyncGenerator[Served]:
    async with serve(module_database, tmp_path_factory.mktemp("home")) as found:
        yield found


@pytest.mark.requirement("memory.mode.env_selects", "memory.mode.default_lists_only_ask")
async def test_one_variable_decides_which_of_two_lists_a_session_sees(served: Served) -> None:
    assert await served.listed() == {"ask_cipher"}
    assert await served.listed(MCP_SERVER_MODE="default") == {"ask_cipher"}
    assert await served.listed(**AGGREGATOR) > MEMORY
    # Each session keeps its own: the next one is not the last one's.
    assert await served.listed() == {"ask_cipher"}


@pytest.mark.requirement("memory.mode.aggregator_lists_all", "memory.mode.builtin_names")
async def test_in_aggregator_mode_tools_of_ours_and_of_others_stand_side_by_side(
    served: Served,
) -> None:
    listed = await served.listed(**AGGREGATOR)
    assert listed > MEMORY | {"echo", "tool_introspect"}
    assert not listed & {"ask_cipher", CONTACT, "add_server", "search_content"}
    said = await served.called("echo", {"text": "hi"}, **AGGREGATOR)
    assert said.content[0].text == "hi"
    prefixed = await served.called("files__echo", {"text": "hi"}, **AGGREGATOR)
    assert prefixed.content[0].text == "hi"


@pytest.mark.requirement("memory.mode.aggregator_ask")
async def test_aggregator_mode_has_ask_cipher_only_where_it_is_asked_for(served: Served) -> None:
    assert "ask_cipher" in await served.listed(**AGGREGATOR, USE_ASK_CIPHER="true")
    refused = await served.refused("ask_cipher", **AGGREGATOR)
    assert str(refused) == "ask_cipher tool is disabled in this aggregator configuration"


@pytest.mark.requirement("memory.ask.disabled")
@pytest.mark.parametrize("mode", ["default", "aggregator"])
async def test_ask_cipher_that_is_switched_off_is_neither_listed_nor_answered(
    served: Served, mode: str
) -> None:
    off = {"MCP_SERVER_MODE": mode, "USE_ASK_CIPHER": "false"}
    assert "ask_cipher" not in await served.listed(**off)
    refused = await served.refused("ask_cipher", **off)
    assert refused.error.data["code"] == "TOOL_NOT_FOUND"
    assert "USE_ASK_CIPHER" in refused.error.data["hint"]


@pytest.mark.requirement("memory.contact.alone")
@pytest.mark.parametrize("mode", ["default", "aggregator"])
async def test_the_contact_tool_can_be_all_there_is(served: Served, mode: str) -> None:
    only = {
        "MCP_SERVER_MODE": mode,
        "MCP_ONLY_CONTACT_CT_KNOWLEDGE_MANAGEMENT": "true",
        "USE_ASK_CIPHER": "true",
    }
    assert await served.listed(**only) == {CONTACT}
    refused = await served.refused("ask_cipher", **only)
    assert str(refused) == "Tool 'ask_cipher' not found"
    assert "echo" not in await served.listed(**only)


@pytest.mark.requirement("memory.trouble.tool_not_found", "memory.trouble.hint_aggregator")
async def test_a_tool_of_the_other_mode_is_refused_with_what_would_list_it(served: Served) -> None:
    refused = await served.refused("cipher_memory_search")
    assert str(refused) == "Tool 'cipher_memory_search' not found"
    assert "MCP_SERVER_MODE=aggregator" in refused.error.data["hint"]
    found = await served.called("cipher_memory_search", {"query": "x"}, **AGGREGATOR)
    assert found.structured_content["success"] is True


async def test_what_a_session_switches_on_it_sees_whatever_the_server_has(served: Served) -> None:
    assert not await served.listed(**AGGREGATOR) & TEAM
    assert await served.listed(**AGGREGATOR, USE_WORKSPACE_MEMORY="true") >= TEAM
    graph = await served.listed(**AGGREGATOR, KNOWLEDGE_GRAPH_ENABLED="true")
    assert "cipher_add_node" in graph


async def test_ask_cipher_keeps_for_the_team_what_it_is_told_in_a_session_of_the_team(
    served: Served,
) -> None:
    team = {"USE_WORKSPACE_MEMORY": "true", "WORKSPACE_VECTOR_STORE_COLLECTION": "team_project"}
    told = "The deploy function of the billing api is broken since the release of May."
    await served.called("ask_cipher", {"message": told}, **team)
    asked = {"query": "billing api deploy"}
    found = await served.called("cipher_workspace_search", asked, **AGGREGATOR, **team)
    assert [it["text"] for it in found.structured_content["results"]] == [told]
    said = await served.called("ask_cipher", {"message": "What is broken in billing?"}, **team)
    assert told in said.content[0].text


async def test_a_value_that_is_none_is_refused_and_names_its_variable(served: Served) -> None:
    async with httpx2.AsyncClient(timeout=60) as http:
        for name, value in (("USE_ASK_CIPHER", "perhaps"), ("AGGREGATOR_TIMEOUT", "soon")):
            session = b64encode(json.dumps({name: value}).encode()).decode()
            body: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
            said = await http.post(
                f"{served.url}/mcp/cipher", json=body, headers={SESSION_HEADER: session}
            )
            assert said.json()["error"]["data"]["field"] == name


async def test_a_mode_nobody_knows_is_the_default_one_as_in_the_reference(served: Served) -> None:
    assert await served.listed(MCP_SERVER_MODE="both") == {"ask_cipher"}


async def test_narrowing_and_reading_only_hold_here_too(served: Served) -> None:
    async with served.client(path="/mcp/cipher/readonly", **AGGREGATOR) as client:
        listed = {it.name for it in (await client.list_tools()).tools}
    assert "cipher_memory_search" in listed
    assert "cipher_extract_and_operate_memory" not in listed


async def test_the_server_bears_the_name_that_clients_look_for(served: Served) -> None:
    async with served.client() as client:
        about = client.server_info
    assert about is not None
    assert about.name == "cipher"


async def test_the_settings_of_the_server_hold_where_a_session_brings_none(
    database: DatabaseLogins, tmp_path: Any
) -> None:
    environ = {**AGGREGATOR, "USE_ASK_CIPHER": "true", "PECIA_MCP_ROOT": "cipher"}
    async with serve(database, tmp_path, **environ) as served:
        assert await served.listed() >= MEMORY | {"ask_cipher", "echo"}
        assert await served.listed(MCP_SERVER_MODE="default") == {"ask_cipher"}
        async with served.client(path="/mcp") as client:
            assert {it.name for it in (await client.list_tools()).tools} >= MEMORY


async def test_a_session_has_its_own_rule_for_two_tools_of_one_name(served: Served) -> None:
    prefixed = {**AGGREGATOR, "AGGREGATOR_PREFIX_ALWAYS": "true"}
    listed = await served.listed(**prefixed)
    assert "files__echo" in listed
    assert "echo" not in listed
    said = await served.called("files__echo", {"text": "hi"}, **prefixed)
    assert said.content[0].text == "hi"
    assert "echo" in await served.listed(**AGGREGATOR)


@pytest.mark.parametrize("rule", ["prefix", "first-wins"])
def test_of_two_servers_the_first_that_a_session_names_has_the_bare_name(rule: Any) -> None:
    wants = replace(BOTH, rule=ConflictRule(rule, prefix_always=False))
    view = cipher_view([], [foreign("b-1", "read"), foreign("a-1", "read")], wants)
    assert [*view.tools] == ["read", "b__read"]
    assert view.find("read").description == "a-1"
    assert view.find("a__read") is view.find("read")


def test_a_session_that_wants_no_conflict_is_told_of_it() -> None:
    wants = replace(BOTH, rule=ConflictRule("error", prefix_always=False))
    with pytest.raises(Conflict, match="Tool name conflict: read") as refused:
        cipher_view([], [foreign("b-1", "read"), foreign("a-1", "read")], wants)
    assert refused.value.fields["servers"] == ["a", "b"]


def test_servers_that_a_session_does_not_name_are_none_of_its_own() -> None:
    mine = foreign("files-agent-0123abcd", "read")
    one = CipherOptions(BOTH.settings, servers=(("files", "files-agent-0123abcd"),))
    assert [*cipher_view([], [mine, foreign("other", "write")], one).tools] == ["read"]
    anybody = CipherOptions(BOTH.settings)
    assert [*cipher_view([], [mine, foreign("other", "write")], anybody).tools] == ["write"]


def test_the_time_that_a_session_asks_for_is_that_of_every_tool_of_ours(served: Served) -> None:
    session: dict[str, Json] = {"hub.timeout_s": 300.0, "MCP_SERVER_MODE": "aggregator"}
    view = cipher_view(served.app.tools, [], cipher_options(served.app.settings, session))
    assert {it.timeout_s for it in view.tools.values()} == {300.0}
    usual = cipher_view(served.app.tools, [], cipher_options(served.app.settings, {}))
    said = cipher_options(served.app.settings, {"AGGREGATOR_TIMEOUT": "60000"})
    asked = usual.find("ask_cipher").timeout_s
    assert asked != 60
    assert cipher_view(served.app.tools, [], said).find("ask_cipher").timeout_s == 60


def test_servers_of_a_session_that_are_no_names_are_refused(served: Served) -> None:
    nothing: list[dict[str, Json]] = [
        {"hub.servers": "files"},
        {"hub.servers": {"files": 5}},
        {"hub.servers": {"two words": "files-1"}},
    ]
    for session in nothing:
        with pytest.raises(InvalidFormat, match=r"hub\.servers"):
            cipher_options(served.app.settings, session)


def foreign(server: str, name: str) -> ForeignTool:
    async def run(call: Call, arguments: Mapping[str, Json]) -> ToolResult:
        return ToolResult()

    return ForeignTool(
        "hub", name, Scope.READ, server, {"type": "object"}, run, server=server, upstream_name=name
    )


BOTH = CipherOptions(MemorySettings(server_mode="aggregator"), servers=(("a", "a-1"), ("b", "b-1")))
