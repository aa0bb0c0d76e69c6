"""A stock MCP client works with the wiki unchanged, over HTTP and through the shim."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from tests.features.wiki.conftest import ENDPOINT, Space
from tests.features.wiki.test_wiki_documents import OURS, TOOLS
from tests.mcp.raw_mcp import RawMcp
from tests.warm import start as warm

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning"),
]


@asynccontextmanager
async def shim(space: Space, folder: Path) -> AsyncGenerator[Client]:
    base = space.served.http.base_url
    program, *words = warm.pecia("mcp", "--toolset", "wiki", "--port", base.port)
    server = StdioServerParameters(
        command=program,
        args=[*words, "--host", str(base.host)],
        cwd=str(folder),
        env={"PATH": "/usr/bin:/bin", "HOME": str(folder), "PECIA_HOME": str(folder / "home")},
    )
    async with Client(stdio_client(server)) as client:
        yield client


async def asked(client: Client, space: Space, tool: str, **arguments: Any) -> dict[str, Any]:
    found = await client.call_tool(tool, {"space": space.name, **arguments})
    assert not found.is_error
    return cast(dict[str, Any], found.structured_content)


@pytest.mark.requirement("wiki.clients.any_mcp_client")
async def test_a_stock_client_lists_and_calls_the_tools_over_http(space: Space) -> None:
    url = f"{space.served.http.base_url}".rstrip("/") + ENDPOINT
    async with Client(streamable_http_client(url)) as client:
        assert {it.name for it in (await client.list_tools()).tools} == TOOLS | OURS
        await asked(client, space, "write_document", docName="a", markdown="x\n", position="append")
        read = await asked(client, space, "read_document", path="a.md")
    assert read["content"] == "x\n"


@pytest.mark.requirement(
    "wiki.clients.any_mcp_client", "wiki.shim.launch_command", "wiki.server.owns_the_runtime"
)
async def test_two_shims_on_one_server_see_one_set_of_tools_and_one_document(
    space: Space, tmp_path: Path
) -> None:
    async with shim(space, tmp_path) as one, shim(space, tmp_path) as other:
        assert {it.name for it in (await one.list_tools()).tools} == TOOLS | OURS
        assert {it.name for it in (await other.list_tools()).tools} == TOOLS | OURS
        first, second = {"markdown": "one\n"}, {"markdown": "two\n"}
        await asked(one, space, "write_document", docName="a", position="append", **first)
        await asked(other, space, "write_document", docName="a", position="append", **second)
        read = await asked(one, space, "read_document", path="a.md")
        writers = {it["writerId"] for it in read["history"]}
    assert read["content"] == "one\n\ntwo\n"
    assert len(writers) == 1


async def test_a_version_names_the_program_of_the_agent_that_made_it(space: Space) -> None:
    client = RawMcp(space.served.http)
    await client.begin(ENDPOINT)
    asked = {"space": space.name, "docName": "x", "markdown": "words\n", "position": "replace"}
    await client.ask(ENDPOINT, "tools/call", {"name": "write_document", "arguments": asked})
    entries = (await space.value("get_history", docName="x"))["entries"]
    assert (entries[0]["clientName"], entries[0]["clientVersion"]) == ("test", "1")
    read = await space.value("read_document", path="x.md")
    assert read["history"][0]["clientName"] == "test"
