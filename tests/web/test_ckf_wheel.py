"""The ckf feature from an installed wheel: open, whole, and served by one command."""

from collections.abc import Iterator

import httpx
import pytest

from tests.mcp.test_ckf import CURL_COMPILE, CURL_LIST, DOCUMENTED
from tests.web.conftest import Installed
from tests.web.test_console import serve

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]


@pytest.fixture(scope="module")
def plain(installed: Installed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """What `pecia start` of a plain install serves."""
    home = tmp_path_factory.mktemp("plain")
    folder = home / "notes"
    folder.mkdir()
    yield from serve(installed, home, ["start", str(folder)])


@pytest.mark.requirement("ckf.open.licence")
def test_the_wheel_carries_its_licence_and_the_source_of_tools_and_prompts(
    installed: Installed,
) -> None:
    (licence,) = installed.site.glob("pecia-*.dist-info/licenses/LICENSE")
    assert "Apache License" in licence.read_text("utf-8")
    folder = installed.site / "pecia" / "features" / "ckf"
    for name in (
        "tools/compile.py",
        "tools/packages.py",
        "tools/compile_llm.py",
        "prompts.py",
        "talk-to-article.md",
    ):
        assert (folder / name).read_text("utf-8").strip()
    assert "## 1. CORE INTENT" not in (folder / "compile-and-critique.md").read_text("utf-8")


@pytest.mark.requirement("ckf.open.self_host")
def test_one_command_serves_every_tool_with_nothing_hosted(plain: str) -> None:
    headers = {"content-type": "application/json"}
    with httpx.Client(base_url=plain, headers=headers, trust_env=False, timeout=30) as http:
        listed = http.post("/api/mcp", content=CURL_LIST).json()["result"]["tools"]
        assert {f"ckf.{it}" for it in DOCUMENTED} <= {it["name"] for it in listed}
        made = http.post("/api/mcp", content=CURL_COMPILE).json()["result"]
        assert "Sleep supports consolidation." in made["content"][0]["text"]
        for path in ("/viewer?example=legal", "/compiler", "/compiler-heuristic-vs-llm"):
            page = http.get(path, headers={"accept": "text/html"})
            assert page.status_code == 200
            assert "compiledknowledgeformat.org" not in page.text
