"""A toolset that was renamed answers under its old name too, and is listed under the new alone."""

from typing import Any

import pytest

from tests.conftest import CONTEXT
from tests.mcp.conftest import Serve, Served

pytestmark = pytest.mark.anyio


async def listed(served: Served, path: str, **headers: str) -> list[Any]:
    answer = await served.other().ask(path, "tools/list", None, **headers)
    return answer["result"]["tools"]


@pytest.mark.parametrize("suffix", ["", "/readonly"])
async def test_the_old_endpoint_serves_the_same_tools(served: Served, suffix: str) -> None:
    new = await listed(served, f"/mcp/admin{suffix}")
    assert "list_spaces" in {it["name"] for it in new}
    assert await listed(served, f"/mcp/office{suffix}") == new


@pytest.mark.parametrize("path", ["/mcp", "/mcp/all", "/mcp/admin", "/mcp/office"])
async def test_every_old_name_of_a_tool_answers_as_the_new_one(served: Served, path: str) -> None:
    answers: list[Any] = []
    for name in ("admin.whoami", "office.whoami", "office__whoami", "office_whoami"):
        found = await served.talk.ask(path, "tools/call", {"name": name, "arguments": {}})
        answers.append(found["result"]["structuredContent"])
    assert answers[0]["user"]
    assert answers == [answers[0]] * len(answers)


@pytest.mark.parametrize("path", ["/mcp", "/mcp/all", "/mcp/admin", "/mcp/office"])
async def test_no_list_shows_an_old_name(served: Served, path: str) -> None:
    assert "office" not in str(await listed(served, path))


async def test_the_old_toolset_can_be_asked_for_in_a_header(served: Served) -> None:
    new = await listed(served, "/mcp/all", x_mcp_toolsets="admin")
    assert new
    assert await listed(served, "/mcp/all", x_mcp_toolsets="office") == new


async def test_a_setting_takes_the_old_names(serve: Serve) -> None:
    asked = {"public_toolsets": "office", "public_tenant": "local", "desk__tools": "office.whoami"}
    async with serve(**asked) as served:
        names = {it["name"] for it in await listed(served, "/mcp")}
        tools = served.app.full_view.tools
    assert names == {"find_tools", "call_tool", "office.whoami"}
    assert tools["whoami"].public


async def test_the_audit_log_has_the_new_name_and_finds_it_by_either(serve: Serve) -> None:
    async with serve() as served:
        await served.talk.ask("/mcp/office", "tools/call", {"name": "whoami", "arguments": {}})
        for name in ("whoami", "admin.whoami", "office.whoami"):
            found: Any = await served.app.call(served.owner, "list_audit", {"tool": name}, CONTEXT)
            assert [it["tool"] for it in found.structured["rows"]] == ["admin.whoami"], name
