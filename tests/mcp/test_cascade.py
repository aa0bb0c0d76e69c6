"""The cascade over MCP by itself, on stdio."""

import json
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from tests.features.cascade_fixture import Layers, document, write_layers
from tests.mcp.test_stdio import HELLO, LIST, READY, heard, pecia
from tests.warm import start as warm

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning"),
]

TOOLS = ["get_links", "list_concepts", "read_file", "search"]
LAYERS: Layers = {
    "company": {"a": document("type: note\ntitle: Low", "## Rule\n\nfrom the company")},
    "team": {"a": document("title: High", "## Rule\n\nfrom the team")},
}


@asynccontextmanager
async def client(cwd: Path, *words: str) -> AsyncGenerator[Client]:
    """A client of `pecia cascade serve`, started as an editor would."""
    program, *rest = warm.pecia("cascade", "serve", *words)
    started = StdioServerParameters(
        command=program,
        args=rest,
        env={"PATH": "/usr/bin:/bin", "HOME": str(cwd), "PECIA_HOME": str(cwd / "home")},
        cwd=cwd,
    )
    with anyio.fail_after(40):
        async with Client(stdio_client(started)) as it:
            yield it


def text(result: Any) -> Any:
    return json.loads(result.content[0].text)


@pytest.mark.requirement("cascade.server.stdio", "cascade.tools.all_four", "cascade.start.manifest")
async def test_a_client_lists_and_calls_exactly_the_four_tools(tmp_path: Path) -> None:
    manifest = write_layers(tmp_path / "c", LAYERS)
    async with client(tmp_path, "--manifest", str(manifest)) as it:
        listed = (await it.list_tools()).tools
        assert [tool.name for tool in listed] == TOOLS
        assert all(tool.annotations and tool.annotations.read_only_hint for tool in listed)
        found = text(await it.call_tool("read_file", {"concept_id": "a"}))
        assert found["sections"][0]["content"] == "from the team"
        assert text(await it.call_tool("search", {"query": "company"}))[0]["id"] == "a"
        refused = await it.call_tool("read_file", {"concept_id": "zz"})
        assert refused.is_error


async def test_two_folders_are_a_cascade_and_a_manifest_wins(tmp_path: Path) -> None:
    manifest = write_layers(tmp_path / "c", LAYERS)
    company, team = str(tmp_path / "c" / "company"), str(tmp_path / "c" / "team")
    folders = ["--personal", company, "--shared", team]
    async with client(tmp_path, *folders) as it:
        found = text(await it.call_tool("read_file", {"concept_id": "a"}))
        assert [it["layer"] for it in found["contributors"]] == ["personal", "shared"]
        assert found["sections"][0]["content"] == "from the company"
    async with client(tmp_path, *folders, "--manifest", str(manifest)) as it:
        found = text(await it.call_tool("read_file", {"concept_id": "a"}))
        assert [it["layer"] for it in found["contributors"]] == ["team", "company"]


@pytest.mark.requirement("cascade.start.one_folder_missing")
@pytest.mark.parametrize("words", [[], ["--personal", "."], ["--shared", "."]])
async def test_half_a_cascade_is_refused_with_the_usage(tmp_path: Path, words: list[str]) -> None:
    done = await pecia("cascade", "serve", *words, frames=[HELLO], cwd=tmp_path)
    assert done.returncode != 0
    assert done.stdout == b""
    assert b"--manifest FILE" in done.stderr


@pytest.mark.requirement("cascade.server.stdout_is_protocol")
async def test_stdout_carries_frames_and_nothing_else(tmp_path: Path) -> None:
    layers: Layers = {**LAYERS, "personal": {"bad": "---\ntype: [\n---\n"}}
    manifest = write_layers(tmp_path / "c", layers)
    words = ("cascade", "serve", "--manifest", str(manifest))
    done = await pecia(*words, frames=[HELLO, READY, LIST, b"not json"], cwd=tmp_path)
    answers = {it.get("id"): it for it in heard(done)}
    assert [it["name"] for it in answers[2]["result"]["tools"]] == TOOLS


async def test_what_was_asked_before_stdin_ended_is_answered(tmp_path: Path) -> None:
    manifest = write_layers(tmp_path / "c", LAYERS)
    asked = [
        json.dumps(
            {
                "jsonrpc": "2.0",
                "id": number,
                "method": "tools/call",
                "params": {"name": "search", "arguments": {"query": "company"}},
            }
        ).encode()
        for number in range(100, 200)
    ]
    words = ("cascade", "serve", "--manifest", str(manifest))
    done = await pecia(*words, frames=[HELLO, READY, *asked], cwd=tmp_path)
    assert {it.get("id") for it in heard(done)} >= {*range(100, 200)}


async def test_a_subscriber_hears_of_an_edit(tmp_path: Path) -> None:
    manifest = write_layers(tmp_path / "c", LAYERS)
    heard_of: list[str] = []
    changed = anyio.Event()

    async def hear(message: Any) -> None:
        if getattr(message, "method", "") == "notifications/resources/updated":
            heard_of.append(str(message.params.uri))
            changed.set()

    program, *rest = warm.pecia("cascade", "serve", "--manifest", manifest)
    started = StdioServerParameters(
        command=program,
        args=rest,
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "PECIA_HOME": str(tmp_path / "home")},
    )
    with anyio.fail_after(40):
        async with Client(stdio_client(started), message_handler=hear, mode="legacy") as it:
            (entry,) = (await it.list_resources()).resources
            assert entry.uri == "okf://c/a"
            await it.session.subscribe_resource(entry.uri)  # pyright: ignore[reportDeprecated] - of the older era, as most clients are.
            file = tmp_path / "c" / "team" / "a.md"
            file.write_text(document("title: Newer", "## Rule\n\nedited"), encoding="utf-8")
            await changed.wait()
            (contents,) = (await it.read_resource(entry.uri)).contents
    assert heard_of[0] == "okf://c/a"
    assert "edited" in str(contents)


@pytest.mark.requirement("cascade.client.claude_config")
async def test_the_config_of_the_guide_connects_as_written(tmp_path: Path) -> None:
    guide = (Path(__file__).parents[2] / "docs" / "cascade.md").read_text(encoding="utf-8")
    block = guide.split("```json\n")[1].split("```")[0]
    config = json.loads(block)["mcpServers"]["knowledge"]
    manifest = write_layers(tmp_path / "c", LAYERS)
    program = Path(sys.executable).with_name(config["command"])
    words = [str(manifest) if it == "/path/to/manifest.json" else it for it in config["args"]]
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "PECIA_HOME": str(tmp_path / "home")}
    started = StdioServerParameters(command=str(program), args=words, env=env)
    with anyio.fail_after(40):
        async with Client(stdio_client(started)) as it:
            assert [tool.name for tool in (await it.list_tools()).tools] == TOOLS
