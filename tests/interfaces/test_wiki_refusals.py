"""What a wiki tool refuses is the caller's to mend, over HTTP as over MCP."""

from pathlib import Path
from typing import Any

import pytest

from tests.interfaces.tenant_server import bearing
from tests.interfaces.test_spaces_server_mode import Server, server

pytestmark = pytest.mark.anyio

__all__ = ["server"]

FOLDERS = {"folders": [{"match": "a/**", "frontmatter": {"title": "A"}}]}

REFUSED: tuple[tuple[str, dict[str, Any], int, str], ...] = (
    ("exec", {"command": "rm a.md"}, 400, "INVALID_INPUT"),
    ("exec", {"command": "cat a.md > b.md"}, 400, "INVALID_INPUT"),
    ("exec", {"command": "cat 'a.md"}, 400, "INVALID_INPUT"),
    ("set_config", {"patch": {"content": {"dir": "x"}}}, 403, "NOT_AGENT_SETTABLE"),
    ("set_config", {"patch": {}}, 400, "INVALID_INPUT"),
    (
        "set_config",
        {"patch": {"mcp": {"tools": {"search": {"maxResults": "x"}}}}},
        400,
        "INVALID_INPUT",
    ),
)


async def post(server: Server, tool: str, asked: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    headers = bearing(server.pecia.tokens["north", "ana"])
    answer = await server.pecia.call(f"wiki/{tool}", {**asked, "space": "notes"}, headers)
    return answer.status_code, answer.json().get("error", {})


async def notes(server: Server) -> Path:
    folder = server.north / "notes"
    folder.mkdir()
    (folder / "a.md").write_text("alpha\n")
    await server.http("ana", "admin.add_space", folder="notes")
    return folder


@pytest.mark.parametrize(
    ("tool", "asked"),
    [
        ("edit_document", {"docName": "b.txt", "find": "beta", "replace": "x"}),
        ("delete_document", {"docName": "b.txt"}),
        ("read_document", {"path": "b.txt"}),
    ],
)
async def test_a_file_that_is_no_document_is_not_said_to_be_missing(
    server: Server, tool: str, asked: dict[str, Any]
) -> None:
    folder = await notes(server)
    (folder / "b.txt").write_text("beta\n")
    found, error = await post(server, tool, asked)
    assert (found, error["code"], error["got"]) == (400, "INVALID_FORMAT", "b.txt")
    assert "only .mdx and .md files" in error["message"]
    assert (folder / "b.txt").read_text() == "beta\n"


@pytest.mark.parametrize(("tool", "asked", "status", "code"), REFUSED)
async def test_a_refusal_is_the_callers_to_mend(
    server: Server, tool: str, asked: dict[str, Any], status: int, code: str
) -> None:
    await notes(server)
    found, error = await post(server, tool, asked)
    assert (found, error["code"], error["retryable"]) == (status, code, False)
    # What MCP clients of the tool read is there too.
    assert error["result"]["error"]["message"] in error["message"]
    rows = await server.pecia.audit(tool=f"wiki.{tool}")
    assert rows[-1]["code"] == code


async def test_settings_that_cannot_be_read_are_unprocessable(server: Server) -> None:
    folder = await notes(server)
    await post(server, "set_config", {"patch": FOLDERS})
    [kept] = list(folder.rglob("*.y*ml"))
    kept.write_text("folders: [\n")
    found, error = await post(server, "set_config", {"patch": FOLDERS})
    assert (found, error["code"], error["retryable"]) == (422, "UNPROCESSABLE", False)
