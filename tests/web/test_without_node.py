"""The wheel is the prebuilt console: an empty virtual environment and no Node anywhere."""

import shutil
import site
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import httpx
import pecia_minilm
import pytest
from playwright.sync_api import Page, expect

from tests.web.conftest import Installed, free_port, kill_tree, path_without_node
from tests.web.test_console import wait_for

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

DRAWN = """# Drawn

$E = m c^2$

```mermaid
flowchart LR
  A --> B
```
"""


@pytest.fixture(scope="module")
def fresh(installed: Installed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server of the wheel, run by its own command in an environment that has nothing else.

    Its dependencies are those of the tests, named by a path: to fetch them again would test pip.
    """
    home = tmp_path_factory.mktemp("fresh")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", home / "venv"], check=True)
    python = home / "venv/bin/python"
    (wheel,) = installed.site.parent.glob("*.whl")
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"]
    subprocess.run([*pip, "--no-deps", "--no-index", str(wheel)], check=True, timeout=120)
    (own,) = (home / "venv/lib").glob("python*/site-packages")
    model = str(Path(pecia_minilm.__file__).parents[1])
    libraries = {sysconfig.get_path("purelib"), *site.getsitepackages(), model}
    (own / "dependencies.pth").write_text("\n".join(sorted(libraries)) + "\n")
    folder = home / "notes"
    folder.mkdir()
    (folder / "drawn.md").write_text(DRAWN)
    environ = {
        "PATH": path_without_node(home),
        "HOME": str(home),
        "PECIA_HOME": str(home / "pecia"),
    }
    assert shutil.which("node", path=environ["PATH"]) is None
    assert shutil.which("npm", path=environ["PATH"]) is None
    where = [python, "-c", "import pecia; print(pecia.__file__)"]
    found = subprocess.run(where, env=environ, capture_output=True, text=True, check=True)
    assert Path(found.stdout.strip()).is_relative_to(own)
    port = free_port()
    command = [home / "venv/bin/pecia", "start", folder, "--no-ask", "--port", str(port)]
    with (home / "out.log").open("wb") as log:
        process = subprocess.Popen(command, env=environ, cwd=home, stderr=log, stdout=log)
    url = f"http://127.0.0.1:{port}"
    try:
        wait_for(url, process, home / "out.log")
        yield url
    finally:
        kill_tree(process)


def test_the_console_of_an_installed_wheel_opens_and_draws(fresh: str, page: Page) -> None:
    page.goto(fresh)
    expect(page.get_by_role("heading", name="Recent documents")).to_be_visible()
    page.get_by_role("table").get_by_role("link", name="Drawn").click()
    expect(page.get_by_role("heading", name="Drawn", level=1)).to_be_visible()
    expect(page.locator(".katex").first).to_be_visible()
    expect(page.locator(".diagram img")).to_be_visible()
    page.get_by_role("link", name="Edit").click()
    expect(page.get_by_text("Stored")).to_be_visible()


def test_the_frame_of_diagrams_may_do_nothing_else(fresh: str) -> None:
    answer = httpx.get(f"{fresh}/console/diagram.html", trust_env=False)
    policy = answer.headers["content-security-policy"]
    pairs = [it.strip().partition(" ") for it in policy.split(";")]
    rules = {name: value for name, _, value in pairs}
    assert rules["sandbox"] == "allow-scripts"
    assert rules["default-src"] == "'none'"
    assert "unsafe" not in rules["script-src"]
    assert rules["frame-ancestors"] == "'self'"
    assert "connect-src" not in rules
