"""The guide to connecting clients says what the program itself would say."""

import json
from pathlib import Path

import pytest

from pecia.interfaces.cli.output.welcome import client_snippets

GUIDE = (Path(__file__).parents[2] / "docs" / "connect.md").read_text(encoding="utf-8")
ADDRESS = "http://127.0.0.1:7324"


@pytest.mark.requirement("lake.clients.guide")
@pytest.mark.parametrize("client", ["cursor", "vscode", "windsurf"])
def test_the_guide_gives_a_client_what_the_program_gives_it(client: str) -> None:
    assert json.dumps(client_snippets(ADDRESS)[client]) in GUIDE


@pytest.mark.parametrize("client", ["cursor", "vscode", "windsurf"])
def test_the_page_of_a_client_gives_what_the_program_gives_it(client: str) -> None:
    page = Path(__file__).parents[2] / "docs" / "clients" / f"{client}.md"
    assert json.dumps(client_snippets(ADDRESS)[client]) in page.read_text(encoding="utf-8")


def test_every_path_that_the_guide_names_is_served() -> None:
    from pecia.interfaces.mcp.views.endpoints import list_endpoints, list_sse_endpoints

    toolsets = ("lake", "ckf", "cascade")
    served = {
        it.path for it in (*list_endpoints(toolsets, "desk"), *list_sse_endpoints(toolsets, "desk"))
    }
    named = {"/mcp", "/mcp/all", "/sse", *(f"/mcp/{it}" for it in toolsets)}
    assert named <= served
    assert all(f"{it}" in GUIDE for it in named)
