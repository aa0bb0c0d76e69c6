"""How many modules a reader must know to follow one MCP search: measured, and held."""

import math
from pathlib import Path

import pytest

from pecia.adapters.embedding.onnx import ModelTokenizer
from pecia.app import authentication
from pecia.features.hub import dynamic_tools
from pecia.interfaces.http.app import build_http_app
from pecia.interfaces.http.auth.authenticator import HttpAuthenticator
from pecia.interfaces.mcp.mount import mount_mcp
from pecia.interfaces.mcp.views.endpoint_view import EndpointViews
from pecia.kernel.tool.view import ToolView, may_call
from tests.conftest import House
from tests.features.lake.conftest import Lake
from tests.features.lake.test_semantic_search import embed
from tests.house.request_modules import module_recorder, search

pytestmark = pytest.mark.anyio

MAX_BEFORE_APP = 10
"""From the first byte to the hand-over to the app."""
MAX_AROUND_TOOL = 26
"""Before and after the tool: what every call passes, with authentication, limits and audit."""
MAX_IN_ALL = 55
"""With the tool: search, store, embedder, lexicon, frontmatter, the answer within its budget."""


async def test_an_mcp_search_passes_few_modules_and_does_nothing_twice(
    house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Warm, however slow the machine: these two caches live one second.
    monkeypatch.setattr(authentication, "CACHE_TTL_S", math.inf)
    monkeypatch.setattr(dynamic_tools, "CACHE_TTL_S", math.inf)
    with module_recorder() as recorder:
        lake = Lake(house, tmp_path / "docs")
        lake.write({"wheel.md": "# Truing\n\nTighten the spoke opposite the wobble.\n"})
        await house.call(
            house.ana, "add_source", source_id="docs", folder=str(lake.folder), trim_mode="open"
        )
        await lake.crawl()
        # With vectors, and not only when the job's schedule happens to be due.
        await embed(house)
        authenticator = HttpAuthenticator(house.app)
        mount = mount_mcp(house.app, authenticator)
        assert mount.lifespan is not None
        async with mount.lifespan():
            asgi = build_http_app(house.app, authenticator, [mount])
            await search(asgi, house.bo_token)
            await search(asgi, house.bo_token)
            found = await recorder.measure(lambda: search(asgi, house.bo_token))
    assert found["result"]["structuredContent"]["hits"], found
    for once in (EndpointViews.resolve, ToolView.lookup, may_call, ModelTokenizer.encode):
        assert recorder.calls[once.__code__] == 1, once.__qualname__
    assert "kernel.corpus.search.search" not in recorder.around_tool
    for modules, limit in (
        (recorder.before_app, MAX_BEFORE_APP),
        (recorder.around_tool, MAX_AROUND_TOOL),
        (recorder.every, MAX_IN_ALL),
    ):
        assert len(modules) <= limit, "\n".join(modules)
