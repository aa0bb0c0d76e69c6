"""Stock clients over stdio where Pecia refuses: each is answered, none waits for ever."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import anyio
import pytest

from scripts.node import TOOLS
from tests.conftest import CONTEXT
from tests.mcp.conftest import Serve, Served
from tests.mcp.test_stdio import HELLO, at, heard, pecia
from tests.mcp.tools import PROGRAMS, needs, shim
from tests.unit.features.hub.hub_server import listening_site
from tests.unit.features.hub.upstream import Site

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.timeout(240)]

LIMIT_S = 60
MODERN_LIST: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 7,
    "method": "tools/list",
    "params": {
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "editor", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }
    },
}
OWN = Path(sys.executable)

CLIENTS = [
    pytest.param(OWN, "stdio_client.py", id="sdk-2"),
    pytest.param(
        TOOLS / "langchain" / "venv" / "bin" / "python",
        "stdio_client.py",
        id="sdk-1",
        marks=needs("langchain"),
    ),
    pytest.param(
        TOOLS / "pydantic-ai" / "venv" / "bin" / "python",
        "fastmcp_client.py",
        id="fastmcp",
        marks=needs("pydantic-ai"),
    ),
]

UNIQUE = "AGGREGATOR_CONFLICT_RESOLUTION"

# What an editor's configuration may say wrongly, and a word of the reason that must reach it.
REFUSED: list[tuple[list[str], dict[str, str], str]] = [
    ([], {"PECIA_TOKEN": "peciapat_wrong"}, "token"),
    ([], {"PECIA_TOKEN": "peciapat_se…cret"}, "PECIA_TOKEN"),
    (["--toolset", "cipher"], {UNIQUE: "last-wins"}, UNIQUE),
    (["--toolset", "bogus"], {}, "no toolset at /mcp/bogus"),
]


async def client(
    python: Path, program: str, *words: str, cwd: Path, env: Mapping[str, str]
) -> dict[str, Any]:
    """What the client came to, within the limit."""
    own = {"PATH": "/usr/bin:/bin", "HOME": str(cwd / "ana"), "PECIA_HOME": str(cwd / "home")}
    command = [str(python), str(PROGRAMS / program), *shim(), *words]
    with anyio.fail_after(LIMIT_S):
        done = await anyio.run_process(command, check=False, cwd=cwd, env={**own, **env})
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout.splitlines()[-1])


def answered(done: CompletedProcess[bytes], request_id: object) -> dict[str, Any]:
    """The one error that a request got."""
    (found,) = heard(done)
    assert found["id"] == request_id
    return found["error"]


@pytest.mark.parametrize(("python", "program"), CLIENTS)
@pytest.mark.parametrize(("words", "env", "reason"), REFUSED)
async def test_a_stock_client_learns_why_it_is_refused(
    served: Served,
    tmp_path: Path,
    python: Path,
    program: str,
    words: list[str],
    env: dict[str, str],
    reason: str,
) -> None:
    found = await client(python, program, *at(served), *words, cwd=tmp_path, env=env)
    assert reason in found["error"]


@pytest.mark.parametrize(("python", "program"), CLIENTS)
async def test_a_stock_client_learns_of_two_tools_with_one_name(
    serve: Serve, tmp_path: Path, python: Path, program: str
) -> None:
    env = {"MCP_SERVER_MODE": "aggregator", UNIQUE: "error"}
    async with (
        serve(hub__trusted_hosts="127.0.0.0/8") as served,
        listening_site(Site(["tools=echo"]), served.app.settings.kernel) as url,
    ):
        for name in ("one", "two"):
            asked: dict[str, Any] = {"server": name, "url": f"{url}/mcp"}
            await served.app.call(served.owner, "hub.add_server", asked, CONTEXT)
        words = [*at(served), "--toolset", "cipher"]
        found = await client(python, program, *words, cwd=tmp_path, env=env)
    assert "Tool name conflict: echo of two is already a tool of one" in found["error"]


@pytest.mark.parametrize(("python", "program"), CLIENTS)
@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--port", "1"], "no answer from"),
        ([], "pecia start FOLDER"),
    ],
)
async def test_a_stock_client_learns_that_there_is_no_server(
    tmp_path: Path, python: Path, program: str, words: list[str], reason: str
) -> None:
    found = await client(python, program, *words, cwd=tmp_path, env={})
    assert reason in json.dumps(found)


@pytest.mark.parametrize(("python", "program"), CLIENTS)
async def test_a_stock_client_does_not_wait_for_a_command_that_is_none(
    tmp_path: Path, python: Path, program: str
) -> None:
    found = await client(python, program, "--port", "99999", cwd=tmp_path, env={})
    assert found["error"]


@pytest.mark.parametrize(("words", "env", "reason"), REFUSED)
async def test_a_refused_handshake_is_answered_under_its_id_and_ends_the_process(
    served: Served, tmp_path: Path, words: list[str], env: dict[str, str], reason: str
) -> None:
    hello = {**HELLO, "id": "the first"}
    done = await pecia("mcp", *at(served), *words, frames=[hello], cwd=tmp_path, env=env)
    assert reason in answered(done, "the first")["message"]
    assert reason in done.stderr.decode()
    assert done.returncode == 1


@pytest.mark.parametrize("frame", [HELLO, MODERN_LIST], ids=["handshake", "stateless"])
async def test_a_variable_that_only_the_server_can_refuse_ends_the_process_too(
    serve: Serve, tmp_path: Path, frame: dict[str, Any]
) -> None:
    env = {"VECTOR_STORE_COLLECTION": "team"}
    async with serve(memory__use_workspace=True, memory__workspace_collection="team") as served:
        words = [*at(served), "--toolset", "cipher"]
        done = await pecia("mcp", *words, frames=[frame], cwd=tmp_path, env=env)
    reason = "a different name than memory.collection"
    assert reason in answered(done, frame["id"])["message"]
    assert reason in done.stderr.decode()
    assert done.returncode == 1
