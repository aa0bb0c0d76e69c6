"""Real clients of others list our tools and call one, unchanged."""

import json
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from tests.mcp.conftest import Served
from tests.mcp.test_stdio import at
from tests.mcp.tools import needs, python, script, shim

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.timeout(240)]


def told(done: CompletedProcess[str]) -> dict[str, Any]:
    """What the program printed last; the desk's two tools are always among those it lists."""
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert {"find_tools", "call_tool"} <= set(found["tools"])
    assert "make_token" in json.dumps(found["called"]) or "users" in json.dumps(found["called"])
    return found


def target(served: Served, kind: str) -> list[str]:
    """Where a program finds us by that transport."""
    if kind == "stdio":
        return [*shim(), *at(served)]
    return [f"{served.url}{'/sse' if kind == 'sse' else '/mcp'}"]


@needs("node22", "clients")
@pytest.mark.parametrize("kind", ["http", "sse", "stdio"])
async def test_the_first_typescript_sdk(served: Served, tmp_path: Path, kind: str) -> None:
    told(await script("sdk_v1.mjs", kind, *target(served, kind), cwd=tmp_path))


@needs("node22", "clients")
@pytest.mark.parametrize("era", ["legacy", "modern"])
@pytest.mark.parametrize("kind", ["http", "stdio"])
async def test_the_second_typescript_sdk(
    served: Served, tmp_path: Path, kind: str, era: str
) -> None:
    found = told(await script("sdk_v2.mjs", kind, era, *target(served, kind), cwd=tmp_path))
    assert found["refused"] == "TOOL_NOT_FOUND"


@needs("node22", "clients")
@pytest.mark.requirement("ckf.client.ai_sdk_connects", "ckf.client.ai_sdk_closes")
async def test_the_ai_sdk_with_a_model_that_follows_a_script(
    served: Served, tmp_path: Path
) -> None:
    found = told(await script("ai_sdk.mjs", f"{served.url}/mcp", cwd=tmp_path))
    assert found["said"] == "done"
    assert len(found["called"]) == 2


@needs("langchain")
@pytest.mark.parametrize("kind", ["streamable_http", "sse", "stdio"])
async def test_langchain_on_the_first_python_sdk(served: Served, tmp_path: Path, kind: str) -> None:
    told(
        await python("langchain", "langchain_client.py", kind, *target(served, kind), cwd=tmp_path)
    )


@needs("openai-agents")
@pytest.mark.parametrize("kind", ["http", "stdio"])
async def test_the_openai_agents_sdk(served: Served, tmp_path: Path, kind: str) -> None:
    told(
        await python("openai-agents", "agents_client.py", kind, *target(served, kind), cwd=tmp_path)
    )


@needs("pydantic-ai")
@pytest.mark.parametrize("kind", ["http", "stdio"])
async def test_pydantic_ai(served: Served, tmp_path: Path, kind: str) -> None:
    told(
        await python("pydantic-ai", "pydantic_client.py", kind, *target(served, kind), cwd=tmp_path)
    )
