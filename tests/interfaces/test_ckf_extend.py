"""A tool added to the ckf feature as data is served by every interface, with no other change."""

from dataclasses import replace
from pathlib import Path

import anyio.to_thread
import pytest

from pecia.app.app import App
from pecia.interfaces.cli.server.client import ServerClient
from pecia.interfaces.cli.tools.backend import ServerBackend, find_tool
from pecia.interfaces.mcp.mount import mount_mcp
from pecia.kernel.errors import Json
from pecia.kernel.identity.caller import Scope
from pecia.kernel.store.cluster import DatabaseLogins
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import Input, Output, Tool
from pecia.kernel.tool.view import combine_tools
from tests.interfaces.tenant_server import open_pecia

pytestmark = pytest.mark.anyio


class Count(Input):
    text: str


class Counted(Output):
    words: int


async def count_words(call: Call, ask: Count) -> Counted:
    """Count the words of a text."""
    return Counted(words=len(ask.text.split()))


COUNT = Tool("ckf", "ckf.count", Scope.READ, Count, Counted, count_words)


def extended(app: App) -> App:
    features = tuple(
        replace(it, tools=(*it.tools, COUNT)) if it.name == "ckf" else it for it in app.features
    )
    tools = combine_tools(tool for feature in features for tool in feature.tools)
    return replace(app, features=features, full_view=tools)


@pytest.mark.requirement("ckf.open.extend")
async def test_an_added_tool_is_there_at_every_interface(
    database: DatabaseLogins, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    async with open_pecia(database, home, mounts=[mount_mcp], change=extended) as pecia:
        params = {"name": "ckf.count", "arguments": {"text": "one two"}}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        by_mcp = await pecia.http.post("/mcp/ckf", json=body, headers=pecia.ana)
        by_http = await pecia.call("ckf/ckf.count", {"text": "one two"})
        server = ServerClient(pecia.url, pecia.tokens["north", "ana"])
        by_cli = await anyio.to_thread.run_sync(_called, ServerBackend(server))
    assert by_mcp.json()["result"]["structuredContent"] == {"words": 2}
    assert by_http.json() == by_cli == {"words": 2}


def _called(tools: ServerBackend) -> Json:
    """As `pecia call ckf.count` does it."""
    return tools.call(find_tool(tools.list_tools(), "ckf.count"), {"text": "one two"})
