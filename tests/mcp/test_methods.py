"""Each method is served in each era that has it, and refused as that era wants it in the others."""

import json
from typing import Any

import anyio
import pytest

from tests.mcp.conftest import BIT, Served
from tests.mcp.methods import ERAS, METHODS, PAGE, Method, page
from tests.mcp.raw_mcp import RawMcp, routed

pytestmark = pytest.mark.anyio


async def asked(talk: RawMcp, era: str, method: Method) -> tuple[int, dict[str, Any]]:
    """The first frame that answers."""
    if era not in ("2026-07-28",):
        talk.version = era
        message = {"jsonrpc": "2.0", "id": 1, "method": method.name, "params": method.params}
        response = await talk.post(BIT, message, accept="application/json")
        return response.status_code, response.json()
    message = talk.enveloped(method.name, method.params)
    headers = {name.replace("_", "-"): value for name, value in routed(message).items()}
    async with talk.http.stream("POST", BIT, json=message, headers=headers) as response:
        with anyio.fail_after(10):
            async for line in response.aiter_lines():
                text = line.removeprefix("data:").strip()
                if text.startswith("{"):
                    return response.status_code, json.loads(text)
    raise AssertionError("no frame came")


@pytest.mark.parametrize("era", ERAS)
async def test_every_method_is_served_or_refused_as_its_era_wants(served: Served, era: str) -> None:
    for method in METHODS:
        status, frame = await asked(served.other(), era, method)
        if era in method.eras:
            assert "error" not in frame, (era, method.name, frame)
            assert status == 200
        else:
            assert frame["error"]["code"] == -32601, (era, method.name, frame)
            assert frame["error"]["data"]["code"] == "METHOD_NOT_FOUND"
            assert status == (404 if era == "2026-07-28" else 200)


def test_the_page_of_the_documentation_is_this_table() -> None:
    assert PAGE.read_text("utf-8") == page()
