"""The MCP inspector, over HTTP, SSE and stdio, with its strict check of schemas."""

import json
from pathlib import Path

import pytest

from scripts.node import TOOLS, node
from tests.mcp.conftest import Served
from tests.mcp.test_stdio import at
from tests.mcp.tools import needs, run, shim

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.slow,
    pytest.mark.timeout(240),
    needs("node22", "inspector"),
]

INSPECTOR = (
    TOOLS / "inspector/node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"
)
LIST = ("--method", "tools/list", "--strict", "--format", "json")
CALL = (
    *("--method", "tools/call", "--tool-name", "find_tools"),
    *("--tool-arg", "query=token", "--format", "json"),
)


@pytest.mark.parametrize("path", ["/mcp", "/mcp/all"])
@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_http_is_clean(served: Served, tmp_path: Path, path: str, era: str) -> None:
    where = (f"{served.url}{path}", "--transport", "http", "--protocol-era", era)
    done = await run([node(), INSPECTOR, "--cli", *where, *LIST], tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


async def test_sse_is_clean(served: Served, tmp_path: Path) -> None:
    where = (f"{served.url}/sse", "--transport", "sse")
    done = await run([node(), INSPECTOR, "--cli", *where, *LIST], tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


async def test_stdio_is_clean_and_calls(served: Served, tmp_path: Path) -> None:
    for words in (LIST, CALL):
        command = [node(), INSPECTOR, "--cli", *shim(), *at(served), *words]
        done = await run(command, tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
    assert "make_token" in json.dumps(json.loads(done.stdout))
