"""What we answer and what we announce: the same, at every endpoint and in every era."""

from collections.abc import Mapping
from typing import Any

import pytest

from pecia.interfaces.mcp.request_context import TASKS_EXTENSION
from tests.mcp.conftest import Served, running, served
from tests.mcp.methods import ERAS, METHODS, MODERN

__all__ = ["running", "served"]

pytestmark = pytest.mark.anyio

UNKNOWN = -32601
# Every client may ask these, whatever a server can do.
OPEN = frozenset(("initialize", "ping", "server/discover"))
FAMILIES = {"completion": "completions"}


def is_announced(method: str, capabilities: Mapping[str, Any]) -> bool:
    """Whether a server with these capabilities says that it answers this method."""
    family = method.partition("/")[0]
    if method in ("resources/subscribe", "resources/unsubscribe", "subscriptions/listen"):
        return capabilities.get("resources", {}).get("subscribe") is True
    if family == "tasks":
        return TASKS_EXTENSION in capabilities.get("extensions", {})
    return method in OPEN or FAMILIES.get(family, family) in capabilities


async def announced(served: Served, path: str, era: str) -> Mapping[str, Any]:
    if era in MODERN:
        told = (await served.talk.modern(path, "server/discover")).json()
    else:
        told = await served.talk.begin(path, era)
    return told["result"]["capabilities"]


async def is_answered(served: Served, path: str, era: str, method: str, params: Any) -> bool:
    """Whether it is, be it with a refusal of what was asked for."""
    if era in MODERN:
        said = (await served.talk.modern(path, method, params)).json()
    else:
        said = await served.talk.ask(path, method, params)
    return said.get("error", {}).get("data", {}).get("code") != "METHOD_NOT_FOUND"


@pytest.mark.requirement("hub.capability.of_ourselves")
@pytest.mark.parametrize("path", ["/mcp", "/mcp/all", "/mcp/cipher", "/mcp/wiki", "/mcp/hub"])
@pytest.mark.parametrize("era", ERAS)
async def test_every_method_that_is_answered_is_announced(
    served: Served, path: str, era: str
) -> None:
    capabilities = await announced(served, path, era)
    asked = [(it.name, it.params) for it in METHODS if it.name != "subscriptions/listen"]
    asked += [("tasks/get", {"taskId": "none"}), ("sampling/createMessage", {})]
    answered = [
        method for method, params in asked if await is_answered(served, path, era, method, params)
    ]
    assert len(answered) > 8
    assert [it for it in answered if not is_announced(it, capabilities)] == []
