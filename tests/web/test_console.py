"""What a person sees: the owner at home, a sign-in, a denial, trouble, and nothing built."""

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.web.conftest import Installed, free_port, kill_tree

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]


@pytest.fixture(scope="module")
def local(installed: Installed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A local Pecia that a newcomer started from the wheel."""
    home = tmp_path_factory.mktemp("home")
    folder = home / "notes"
    folder.mkdir()
    yield from serve(installed, home, ["start", str(folder)])


@pytest.fixture(scope="module")
def server(installed: Installed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Pecia in server mode, whose callers need tokens."""
    home = tmp_path_factory.mktemp("server")
    config = home / "pecia.yml"
    config.write_text("mode: server\n")
    assert installed.run(home, "tenant", "add", "acme").returncode == 0
    yield from serve(installed, home, ["serve", "--config", str(config)])


def serve(
    installed: Installed, home: Path, words: list[str], port: int | None = None, **more: str
) -> Iterator[str]:
    port = port or free_port()
    command = [sys.executable, "-m", "pecia", *words, "--port", str(port)]
    with (home / "out.log").open("wb") as log:
        process = subprocess.Popen(
            command, env=installed.environ(home, **more), cwd=home, stderr=log
        )
    url = f"http://127.0.0.1:{port}"
    try:
        wait_for(url, process, home / "out.log")
        yield url
    finally:
        kill_tree(process)


def wait_for(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        assert process.poll() is None, log.read_text()
        try:
            if httpx.get(f"{url}/readyz", trust_env=False).status_code == 200:
                return
        except httpx.HTTPError:
            time.sleep(0.1)
    raise AssertionError(log.read_text())


def test_the_owner_is_at_home_without_signing_in(local: str, page: Page) -> None:
    page.goto(f"{local}/")
    expect(page.get_by_role("heading", name="Pecia")).to_be_visible()
    expect(page.get_by_role("heading", name="Three things to try")).to_be_visible()
    page.get_by_role("button", name="Signed in as").click()
    expect(page.get_by_text("administrator")).to_be_visible()
    stdio = page.get_by_role("group", name="For Any editor, by stdio")
    expect(stdio).to_contain_text('"command": "pecia"')


def test_a_server_asks_for_a_token_and_says_why_a_bad_one_is_bad(server: str, page: Page) -> None:
    page.goto(f"{server}/console/")
    expect(page.get_by_role("heading", name="Sign in to Pecia")).to_be_visible()
    page.get_by_label("Personal access token").fill("peciapat_nonsense")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("token")
    assert page.evaluate("sessionStorage.length") == 0
    assert page.context.cookies() == []


def test_trouble_is_shown_with_its_code_and_can_be_tried_again(local: str, page: Page) -> None:
    page.route("**/console/about.json", lambda route: route.abort())
    page.goto(f"{local}/console/")
    expect(page.get_by_role("alert")).to_contain_text("does not answer")
    page.unroute("**/console/about.json")
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("heading", name="Recent documents")).to_be_visible()


def test_the_page_may_run_only_its_own_scripts(local: str) -> None:
    answer = httpx.get(f"{local}/console/", trust_env=False)
    policy = answer.headers["content-security-policy"]
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_a_file_that_is_not_there_is_not_found(local: str) -> None:
    for path in ("/console/nothing.js", "/console/../pyproject.toml", "/console/%2e%2e/app.py"):
        assert httpx.get(f"{local}{path}", trust_env=False).status_code in (400, 404)


def test_without_scripts_the_page_says_where_to_look(local: str) -> None:
    text = httpx.get(f"{local}/console/", trust_env=False).text
    assert "<noscript>" in text
    assert "/api/v1/docs" in text
