"""What a server of somebody else answers is what the client gets: all of it, as it came, once."""

import json
import sys
from base64 import b64encode
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import mcp_types as types
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from pydantic import BaseModel, ConfigDict

from pecia.interfaces.mcp.mount import mount_mcp
from pecia.kernel.errors import Json
from pecia.kernel.store.cluster import DatabaseLogins
from pecia.kernel.text.yaml.writer import dump_yaml
from tests.interfaces.tenant_server import Pecia, open_pecia
from tests.unit.features.hub import scripted_server

pytestmark = pytest.mark.anyio

SERVER_INFO = "io.modelcontextprotocol/serverInfo"
BYTES = bytes(range(256)) * 1200
DATA = b64encode(BYTES).decode()
MARKS = {
    "annotations": {"audience": ["user"], "priority": 0.25, "lastModified": "2025-01-12T15:00:58Z"},
    "_meta": {"example.com/seen": {"at": None, "by": [1, 2.5]}},
}
BLOCKS: dict[str, dict[str, Any]] = {
    "text": {"type": "text", "text": "naïve\n日本 \u2028 text", **MARKS},
    "image": {"type": "image", "data": DATA, "mimeType": "image/png", **MARKS},
    "audio": {"type": "audio", "data": DATA, "mimeType": "audio/wav", **MARKS},
    "unlikely image": {"type": "image", "data": DATA, "mimeType": "audio/x-drawn"},
    "link": {
        "type": "resource_link",
        "uri": "x://a/b?c#d",
        "name": "a",
        "title": "A",
        "description": "what it is",
        "mimeType": "text/plain",
        "size": 123456,
        **MARKS,
    },
    "embedded text": {
        "type": "resource",
        "resource": {"uri": "x://b", "text": "b", "mimeType": "text/x-b", "_meta": {"k": 1}},
        **MARKS,
    },
    "embedded blob": {"type": "resource", "resource": {"uri": "x://c", "blob": DATA}, **MARKS},
    "bare": {"type": "text", "text": ""},
}


class Raw(BaseModel):
    """An answer as it came over the wire."""

    model_config = ConfigDict(extra="allow")


@dataclass(frozen=True, slots=True)
class Scripted:
    """A served Pecia with an upstream program that answers from a file."""

    pecia: Pecia
    script: Path

    def will(self, **answers: Mapping[str, Any]) -> None:
        self.script.write_text(json.dumps(answers), encoding="utf-8")

    @asynccontextmanager
    async def client(self, mode: str) -> AsyncGenerator[Client]:
        async with httpx2.AsyncClient(headers=self.pecia.bo, timeout=60) as http:
            transport = streamable_http_client(f"{self.pecia.url}/mcp/hub", http_client=http)
            async with Client(transport, cache=None, mode=mode) as client:
                yield client

    async def call(self, tool: str, *, by_name: bool = False, mode: str = "auto") -> dict[str, Any]:
        """What a stock client receives, before it makes anything of it."""
        given: dict[str, Any] = {"server": "scripted", "tool": tool, "arguments": {}}
        name = "call_server_tool" if by_name else tool
        params = types.CallToolRequestParams(name=name, arguments=given if by_name else {})
        async with self.client(mode) as client:
            request = types.CallToolRequest(params=params)
            got = (await client.session.send_request(request, Raw)).model_extra or {}
            # The same again as the SDK reads it: it must be an answer to it, too.
            assert types.CallToolResult.model_validate(got)
            return got


@pytest.fixture(scope="module")
async def ground(
    module_database: DatabaseLogins, tmp_path_factory: pytest.TempPathFactory
) -> AsyncGenerator[Scripted]:
    home = tmp_path_factory.mktemp("home")
    script = home / "script.json"
    entry: Json = {
        "command": sys.executable,
        "args": [str(scripted_server.__file__), str(script)],
        "tenants": ["north"],
    }
    file = home / "cipher.yml"
    file.write_text(dump_yaml({"mcpServers": {"scripted": entry}}), encoding="utf-8")
    flags: dict[str, Any] = {"hub.servers_file": str(file), "hub.timeout_s": "5"}
    async with open_pecia(module_database, home, mounts=[mount_mcp], **flags) as served:
        await served.call("hub/list_servers")
        made = await served.call("hub/check_server", {"server": "scripted"})
        assert made.json()["state"] == "up"
        yield Scripted(served, script)


def sent(result: Mapping[str, Any]) -> dict[str, Any]:
    """What of a result is the tool's: the connection's era adds marks of its own to each."""
    found = {name: it for name, it in result.items() if name != "resultType"}
    meta = {name: it for name, it in found.pop("_meta", {}).items() if name != SERVER_INFO}
    return {**found, "_meta": meta} if meta else found


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("name", [*BLOCKS])
async def test_every_block_comes_as_it_was_sent(ground: Scripted, name: str, mode: str) -> None:
    result = {"content": [BLOCKS[name]]}
    ground.will(give={"result": result})
    for by_name in (False, True):
        assert sent(await ground.call("give", by_name=by_name, mode=mode)) == result


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"structuredContent": {"image": DATA, "none": None, "n": 1.0, "nested": [{"a": None}]}},
        {"isError": True},
        {"isError": True, "structuredContent": {"why": "no luck"}},
        {"_meta": {"example.com/trace": "t-1", "plain": [None]}},
    ],
)
async def test_a_whole_answer_comes_once_and_nothing_is_added(
    ground: Scripted, more: dict[str, Any]
) -> None:
    for content in ([*BLOCKS.values()], [BLOCKS["image"]], []):
        result = {"content": content, **more}
        ground.will(give={"result": result})
        got = await ground.call("give")
        assert sent(got) == result
        assert json.dumps(got).count(DATA[:1000]) == json.dumps(result).count(DATA[:1000])


async def test_an_error_of_the_protocol_says_its_number_its_words_and_its_data(
    ground: Scripted,
) -> None:
    data = {"field": "x", "tried": [1, None], "deep": {"a": 0.5}}
    error = {"code": -32042, "message": "Ask a person first", "data": data}
    ground.will(refuse={"error": error})
    got = await ground.call("refuse")
    assert got["isError"] is True
    assert got["content"][0]["text"].endswith("Tool execution failed: Ask a person first")
    told = got["structuredContent"]["error"]
    assert told["upstream_error"] == error
    assert (told["server"], told["retryable"]) == ("scripted", False)
    by_http = await ground.pecia.call("scripted/refuse", {}, ground.pecia.bo)
    assert by_http.json()["error"]["upstream_error"] == error


@pytest.mark.parametrize(
    ("tool", "retryable"),
    [("die", False), ("die_idempotent", True), ("die_reading", True), ("hang", False)],
)
async def test_what_may_have_been_done_is_to_be_asked_again_only_where_that_does_no_harm(
    ground: Scripted, tool: str, retryable: bool
) -> None:
    ground.will(give={"result": {"content": []}})
    got = await ground.call(tool)
    # It is well again after an answer: what it did to this test costs the next one nothing.
    assert "isError" not in await ground.call("give")
    told = got["structuredContent"]["error"]
    assert (got["isError"], told["retryable"]) == (True, retryable)
    assert ("hint" in told) is not retryable


async def test_over_http_the_blocks_are_the_same(ground: Scripted) -> None:
    content = [*BLOCKS.values()]
    ground.will(give={"result": {"content": content}})
    ask = {"server": "scripted", "tool": "give"}
    said = await ground.pecia.call("hub/call_server_tool", ask, ground.pecia.bo)
    assert said.json() == {"content": content}
    ground.will(give={"result": {"content": content, "isError": True}})
    failed = (await ground.pecia.call("hub/call_server_tool", ask, ground.pecia.bo)).json()["error"]
    assert (failed["content"], failed["retryable"]) == (content, False)


@pytest.mark.parametrize(
    ("result", "answer"),
    [
        ({"content": [BLOCKS["bare"]]}, {"content": [BLOCKS["bare"]]}),
        ({"content": [], "structuredContent": {"a": 1}}, {"a": 1}),
        (
            {
                "content": [{"type": "text", "text": '{"a": 1}'}],
                "structuredContent": {"a": 1},
            },
            {"a": 1},
        ),
        *(
            (both := {"content": [BLOCKS[it]], "structuredContent": {"a": 1}}, both)
            for it in ("image", "bare", "link")
        ),
        (
            {"content": [], "structuredContent": {"_meta": 1}},
            {"content": [], "structuredContent": {"_meta": 1}},
        ),
    ],
)
async def test_over_http_the_meta_of_an_answer_comes_too(
    ground: Scripted, result: dict[str, Any], answer: dict[str, Any]
) -> None:
    meta = {"_meta": {"example.com/trace": "t-1", "plain": [None]}}
    ask = {"server": "scripted", "tool": "give"}
    ground.will(give={"result": {**result, **meta}})
    for path, given in (("hub/call_server_tool", ask), ("hub/give", {})):
        said = await ground.pecia.call(path, given, ground.pecia.bo)
        assert said.json() == {**answer, **meta}
    ground.will(give={"result": {**result, **meta, "isError": True}})
    failed = (await ground.pecia.call("hub/call_server_tool", ask, ground.pecia.bo)).json()["error"]
    assert failed["_meta"] == meta["_meta"]
