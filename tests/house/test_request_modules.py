"""How many modules a reader must know to follow one MCP search: measured, and held."""

import math
from pathlib import Path

import pytest

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

MAX_BEFORE_APP = 12
"""From the first byte to the hand-over to the app."""
MAX_OF_CALLS = 20
"""Of interfaces, app and `kernel/tool`: what every call of a tool passes."""
MAX_IN_ALL = 57
"""With the search, the store and the audit log."""

CALLS = ("interfaces.", "app.", "kernel.tool.")


async def test_an_mcp_search_passes_few_modules_and_finds_its_tool_once(
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
    for once in (EndpointViews.resolve, ToolView.lookup, may_call):
        assert recorder.calls[once.__code__] == 1, once.__qualname__
    before, every = [*recorder.before_app], [*recorder.before_app, *recorder.after]
    calls = [it for it in every if it.startswith(CALLS)]
    assert len(before) <= MAX_BEFORE_APP, before
    assert len(calls) <= MAX_OF_CALLS, calls
    assert len(every) <= MAX_IN_ALL, every
