"""Answers that are larger than a stock client takes at once: all of it arrives, in parts that say
how to go on, and the session lives."""

import json
import shlex
import sys
from collections.abc import AsyncGenerator
from hashlib import sha256
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from mcp import ClientSession
from mcp.client.sse import sse_client
from mcp.shared.exceptions import MCPError

from tests.conftest import CONTEXT
from tests.mcp.conftest import BIT, Served
from tests.mcp.raw_mcp import BOTH, RawMcp
from tests.mcp.test_stdio import at
from tests.mcp.tools import PROGRAMS, needs, python, run, script, shim

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.timeout(240)]

COUNT = 2_600
WIKI = "/mcp/wiki"
# As much in every alphabet as a client has to take.
LONG = "# Long\n\n" + "".join(
    f'Line {it} of a "long" text, ändert nichts, 漢字 \\ \x07\n' for it in range(12_000)
)
EVENT_LIMIT = 1_048_576
"""The longest event that the Python SDK takes."""


@pytest.fixture(scope="module")
async def folder(running: Served, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("many")
    for it in range(COUNT - 1):
        path = place / f"chapter-{it % 40:02}" / f"a-document-with-quite-a-long-name-{it:04}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"# Document {it}\n", "utf-8")
    (place / "long.md").write_text(LONG, "utf-8")
    await running.app.call(running.owner, "admin.add_space", {"folder": str(place)}, CONTEXT)
    return place


def require_whole(done: CompletedProcess[str]) -> None:
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert (found["rows"], found["names"]) == (COUNT, COUNT)
    assert found["text"] == sha256(LONG.encode()).hexdigest()
    assert found["tools"] > 0


def target(served: Served, kind: str) -> list[str]:
    if kind == "stdio":
        return [*shim(), *at(served), "--toolset", "wiki"]
    return [f"{served.url}{'/sse/wiki' if kind == 'sse' else WIKI}"]


@pytest.mark.parametrize("kind", ["http", "sse", "stdio"])
async def test_the_second_python_sdk(
    served: Served, folder: Path, tmp_path: Path, kind: str
) -> None:
    words = [sys.executable, PROGRAMS / "large_client.py", kind, *target(served, kind)]
    require_whole(await run(words, tmp_path))


@needs("langchain")
@pytest.mark.parametrize("kind", ["http", "sse", "stdio"])
async def test_the_first_python_sdk(
    served: Served, folder: Path, tmp_path: Path, kind: str
) -> None:
    words = ["langchain", "large_client.py", kind, *target(served, kind)]
    require_whole(await python(*words, cwd=tmp_path))


@needs("node22", "clients")
@pytest.mark.parametrize("kind", ["http", "sse", "stdio"])
async def test_the_typescript_sdk(served: Served, folder: Path, tmp_path: Path, kind: str) -> None:
    require_whole(await script("large.mjs", kind, *target(served, kind), cwd=tmp_path))


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("list_documents", {}),
        ("read_document", {"path": "long.md"}),
        ("get_orphans", {}),
    ],
)
async def test_one_answer_fits_in_an_event_and_says_how_to_go_on(
    served: Served, folder: Path, tool: str, arguments: dict[str, str]
) -> None:
    talk: RawMcp = served.talk
    await talk.begin(WIKI)
    call = {"name": tool, "arguments": arguments}
    message = {"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": call}
    response = await talk.post(WIKI, message, accept=BOTH)
    assert response.headers["content-type"] == "application/json"
    assert len(response.content) < EVENT_LIMIT
    found = response.json()["result"]
    if tool == "read_document":
        assert f"offset {found['structuredContent']['nextOffset']}" in found["content"][0]["text"]
    else:
        assert found["structuredContent"]["total"] == COUNT
        assert json.loads(found["content"][0]["text"])["nextCursor"]


async def test_what_comes_before_an_answer_makes_it_a_stream(served: Served) -> None:
    talk = served.talk
    await talk.begin(BIT)
    call: dict[str, str] = {"name": "test_tool_with_logging"}
    message = {"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": call}
    response = await talk.post(BIT, message, accept=BOTH)
    assert response.headers["content-type"].startswith("text/event-stream")
    assert talk.answer(response)["result"]
    assert talk.heard


@pytest.fixture
async def upstream(served: Served) -> AsyncGenerator[None]:
    """A server at the hub whose tool `big` returns as much as it is asked for."""
    command = shlex.join([sys.executable, str(PROGRAMS / "large_upstream.py")])
    asked = {"server": "up", "command": command}
    await served.app.call(served.owner, "hub.add_server", asked, CONTEXT)
    yield
    await served.app.call(served.owner, "hub.remove_server", {"server": "up"}, CONTEXT)


async def test_an_answer_of_the_hub_over_sse_that_is_too_long_is_an_error_and_the_session_lives(
    served: Served, upstream: None
) -> None:
    async with (
        sse_client(f"{served.url}/sse/hub") as (reader, writer),
        ClientSession(reader, writer) as session,
    ):
        await session.initialize()
        [name] = [it.name for it in (await session.list_tools()).tools if it.name.endswith("big")]
        with pytest.raises(MCPError, match="at most 900000"):
            await session.call_tool(name, {"n": 700_000})
        done = await session.call_tool(name, {"n": 400_000})
        assert done.structured_content == {"result": "y" * 400_000}


async def test_an_answer_over_the_limit_of_the_hub_names_it(served: Served, upstream: None) -> None:
    talk = served.talk
    await talk.begin("/mcp/hub")
    tools = (await talk.ask("/mcp/hub", "tools/list", {}))["result"]["tools"]
    [name] = [it["name"] for it in tools if it["name"].endswith("big")]
    call = {"name": name, "arguments": {"n": 30_000_000}}
    found = (await talk.ask("/mcp/hub", "tools/call", call))["result"]
    assert found["isError"]
    assert "hub.answer_bytes" in found["content"][0]["text"]
