"""The ckf feature without a token, if the operator made it public."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from pecia.interfaces.mcp.mount import mount_mcp
from pecia.kernel.store.cluster import DatabaseLogins
from tests.interfaces.tenant_server import Pecia, open_pecia, open_unserved
from tests.unit.features.ckf.ckf_sample import SOURCE, sample

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def opened(database: DatabaseLogins, home: Path) -> AsyncGenerator[Pecia]:
    async with open_unserved(database, home):
        pass
    async with open_pecia(
        database, home, mounts=[mount_mcp], public_toolsets="ckf", public_tenant="north"
    ) as pecia:
        yield pecia


async def call(http: httpx.AsyncClient, tool: str, **arguments: Any) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return (await http.post("/api/mcp", json=body)).json()["result"]


@pytest.mark.requirement(
    "ckf.server.public_toolsets", "ckf.server.anonymous_read_tools", "ckf.server.one_endpoint"
)
async def test_a_stranger_compiles_and_reads(database: DatabaseLogins, tmp_path: Path) -> None:
    async with opened(database, tmp_path / "home") as pecia:
        asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        listed = (await pecia.http.post("/api/mcp", json=asked)).json()["result"]["tools"]
        calls: dict[str, dict[str, Any]] = {
            "ckf.compile": {"text": SOURCE},
            "ckf.parse": {"document": json.dumps(sample())},
            "ckf.serialize": {"package": sample()},
            "ckf.validate": {"package": sample()},
            "ckf.diff": {"a": sample(), "b": sample()},
            "ckf.slice": {"package": sample(), "query": "refund"},
            "ckf.verify": {"package": sample(), "source_text": SOURCE},
            "ckf.viewer_url": {"package": sample()},
            "ckf.search_posts": {"query": "exceptions"},
            "ckf.fetch_post": {"slug": "exceptions-are-the-hard-part"},
        }
        assert calls.keys() <= {it["name"] for it in listed}
        for tool, arguments in calls.items():
            assert not (await call(pecia.http, tool, **arguments)).get("isError"), tool


@pytest.mark.requirement("ckf.server.limited_per_address")
async def test_strangers_are_counted_by_address(database: DatabaseLogins, tmp_path: Path) -> None:
    async with opened(database, tmp_path / "home") as pecia:
        for _ in range(30):
            assert not (await call(pecia.http, "ckf.compile", text=SOURCE)).get("isError")
        refused = (await call(pecia.http, "ckf.compile", text=SOURCE))["structuredContent"]["error"]
        assert (refused["code"], refused["retryable"]) == ("RATE_LIMITED", True)
        assert 0 < refused["retry_after_seconds"] <= 120
        assert not (await call(pecia.http, "ckf.parse", document="metadata: {}")).get("isError")
        elsewhere = httpx.AsyncHTTPTransport(local_address="127.0.0.2")
        async with httpx.AsyncClient(base_url=pecia.url, transport=elsewhere) as other:
            assert not (await call(other, "ckf.compile", text=SOURCE)).get("isError")
