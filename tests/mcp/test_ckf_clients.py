"""The ckf endpoint with the clients that its reference names, each as it is documented there."""

import json
import re
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp import Client

from tests.mcp.conftest import Served
from tests.mcp.test_ckf import DOCUMENTED
from tests.mcp.tools import needs, python, script

pytestmark = pytest.mark.anyio

GUIDE = Path(__file__).parents[2] / "docs" / "ckf.md"
TEN = {f"ckf.{it}" for it in DOCUMENTED}
# Word for word the entry of the reference, but for its address.
DOCUMENTED_ENTRY = """{
"mcpServers": {
"ckf": {
"url": "https://compiledknowledgeformat.org/api/mcp"
}
}
}"""


def guide_entries() -> dict[str, dict[str, Any]]:
    """The configuration of each client in the guide, by its heading."""
    found = re.findall(r"^### (.+?)\n.*?```json\n(.*?)```", GUIDE.read_text("utf-8"), re.S | re.M)
    return {name: json.loads(text) for name, text in found}


@pytest.mark.requirement("ckf.client.claude_desktop", "ckf.client.cursor", "ckf.client.windsurf")
@pytest.mark.parametrize("client", ["Claude Desktop", "Cursor", "Windsurf"])
async def test_the_documented_entry_is_all_that_a_client_needs(served: Served, client: str) -> None:
    entry = guide_entries()[client]
    assert entry.keys() == json.loads(DOCUMENTED_ENTRY).keys()
    assert entry["mcpServers"]["ckf"].keys() == {"url"}
    address = entry["mcpServers"]["ckf"]["url"]
    assert address.endswith("/api/mcp")
    # What a client does with an entry: it connects to the address and lists.
    ours = f"{served.url}/api/mcp"
    async with Client(ours) as connected:
        listed = await connected.list_tools()
    assert {it.name for it in listed.tools} >= TEN


@pytest.mark.requirement("ckf.client.claude_desktop_paths")
def test_the_guide_says_where_claude_desktop_keeps_its_servers() -> None:
    guide = GUIDE.read_text("utf-8")
    for path in (
        "~/Library/Application Support/Claude/claude_desktop_config.json",
        r"%APPDATA%\Claude\claude_desktop_config.json",
        "~/.cursor/mcp.json",
    ):
        assert path in guide


@needs("node22", "clients")
@pytest.mark.slow
@pytest.mark.timeout(240)
@pytest.mark.requirement("ckf.client.ai_sdk_tools", "ckf.client.ai_sdk_runs_tools")
async def test_the_ai_sdk_searches_and_fetches(served: Served, tmp_path: Path) -> None:
    done = await script("ckf_ai_sdk.mjs", f"{served.url}/api/mcp", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert set(found["tools"]) >= TEN
    searched, fetched = found["called"]
    assert found["said"] == "done"
    slug = searched["structuredContent"]["items"][0]["slug"]
    assert fetched["structuredContent"]["post"]["slug"] == slug
    assert fetched["structuredContent"]["package"]["decision_rules"]


@needs("openai-agents")
@pytest.mark.slow
@pytest.mark.timeout(240)
@pytest.mark.requirement("ckf.client.openai_agents")
async def test_the_openai_agents_sdk_compiles(served: Served, tmp_path: Path) -> None:
    url = f"{served.url}/api/mcp"
    done = await python("openai-agents", "ckf_agents_client.py", url, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert set(found["tools"]) >= TEN
    assert found["called"].startswith("# CKF — KNOWLEDGE CONTEXT PACKAGE")


@pytest.mark.requirement("ckf.client.custom_gpt")
async def test_a_custom_gpt_finds_its_calls_in_the_openapi_document(served: Served) -> None:
    async with httpx.AsyncClient(base_url=served.url, trust_env=False) as http:
        document = (await http.get("/api/v1/openapi.json")).json()
        post = _operation(document, "ckf.search_posts")
        fields = post["requestBody"]["content"]["application/json"]["schema"]
        fields = _resolved(document, fields)
        assert "query" in fields["required"]
        searched = await http.post(post["path"], json={"query": "package"})
        slug = searched.json()["items"][0]["slug"]
        fetch = _operation(document, "ckf.fetch_post")
        fetched = await http.post(fetch["path"], json={"slug": slug})
    assert fetched.json()["post"]["slug"] == slug
    # GPT actions are named by their operation, with letters, digits, underscores and hyphens.
    for it in (post, fetch):
        assert re.fullmatch(r"[A-Za-z0-9_.-]+", it["operationId"])


def _operation(document: dict[str, Any], tool: str) -> dict[str, Any]:
    path = next(it for it in document["paths"] if it.endswith(f"/{tool}"))
    server = document.get("servers", [{"url": ""}])[0]["url"]
    prefix = "" if path.startswith("/api/") else server
    return {**document["paths"][path]["post"], "path": f"{prefix}{path}"}


def _resolved(document: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    if "$ref" not in schema:
        return schema
    found: Any = document
    for step in schema["$ref"].removeprefix("#/").split("/"):
        found = found[step]
    return found
