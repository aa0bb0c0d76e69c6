"""A session at a team's server: its own collection holds there, its keys and programs do not."""

import json
import tomllib
from base64 import b64encode
from collections.abc import AsyncGenerator
from importlib import import_module
from pathlib import Path
from typing import Any

import httpx
import pytest

from pecia.interfaces.cli.main import run
from pecia.interfaces.mcp.mount import mount_mcp
from pecia.interfaces.mcp.request_context import SESSION_HEADER
from pecia.kernel.store.cluster import DatabaseLogins
from tests.interfaces.tenant_server import Pecia, open_pecia

pytestmark = pytest.mark.anyio
ROOT = Path(__file__).parents[2]


@pytest.fixture
async def pecia(database: DatabaseLogins, tmp_path: Path) -> AsyncGenerator[Pecia]:
    async with open_pecia(database, tmp_path, mounts=(mount_mcp,)) as opened:
        yield opened


async def post(pecia: Pecia, tool: str, arguments: Any, session: Any) -> httpx.Response:
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": tool, "arguments": arguments},
    }
    sent = b64encode(json.dumps(session).encode()).decode()
    headers = {**pecia.bo, SESSION_HEADER: sent, "accept": "application/json, text/event-stream"}
    return await pecia.http.post("/mcp/memory", json=body, headers=headers)


async def test_a_collection_of_the_session_holds_at_a_server_for_many(pecia: Pecia) -> None:
    here = {"VECTOR_STORE_COLLECTION": "frontend"}
    fact = {"interaction": "The frontend listens on port 5173."}
    assert (await post(pecia, "cipher_extract_and_operate_memory", fact, here)).status_code == 200
    asked = {"query": "port of the frontend"}
    assert "5173" in (await post(pecia, "cipher_memory_search", asked, here)).text
    other = {"memory.collection": "backend"}
    assert "5173" not in (await post(pecia, "cipher_memory_search", asked, other)).text


@pytest.mark.parametrize(
    "session",
    [
        {"OPENAI_API_KEY": "sk-x"},
        {"hub.servers": {"a": "b"}},
        {"memory.secrets": "mark"},
        {"VECTOR_STORE_COLLECTION": "x", "ckf.operator_url": "http://127.0.0.1"},
    ],
)
async def test_what_is_not_about_memories_is_refused_from_elsewhere(
    pecia: Pecia, session: dict[str, Any]
) -> None:
    said = await post(pecia, "cipher_memory_search", {"query": "x"}, session)
    assert said.status_code == 403
    assert "sets which memories it uses" in said.text


def test_the_program_cipher_is_installed() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["scripts"]
    module, _, name = declared["cipher"].partition(":")
    assert callable(getattr(import_module(module), name))


def test_an_address_that_is_none_is_refused(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["cipher", "--server", "pecia.example.org"]) == 2
    assert "--server must be an address" in capfd.readouterr().err
