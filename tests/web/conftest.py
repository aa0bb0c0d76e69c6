"""The console in a real browser, served by an installed wheel with no Node in reach."""

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.database import alone

ROOT = Path(__file__).parents[2]
AXE = ROOT / "web/node_modules/axe-core/axe.min.js"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

# A page on a busy machine may be slow; a page that is wrong stays wrong.
expect.set_options(timeout=30_000)


@dataclass(frozen=True, slots=True)
class Installed:
    """A wheel of this tree, unpacked where nothing else of it is."""

    site: Path

    def environ(self, home: Path, **more: str) -> dict[str, str]:
        """A newcomer's: the wheel, its dependencies, and no Node."""
        return {
            "PATH": path_without_node(home),
            "HOME": str(home),
            "PECIA_HOME": str(home / "pecia"),
            "PYTHONPATH": str(self.site),
            **more,
        }

    def run(self, home: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "pecia", *words],
            env=self.environ(home, **more),
            cwd=home,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )


def path_without_node(home: Path) -> str:
    """A PATH with every program of the system but Node: `/bin` is `/usr/bin` on most of them."""
    folder = home / "bin"
    if not folder.exists():
        folder.mkdir()
        for it in Path("/bin").iterdir():
            if not it.name.startswith(("node", "npm", "npx", "corepack")):
                (folder / it.name).symlink_to(it)
    return str(folder)


@pytest.fixture(scope="session")
def installed(run_folder: Path) -> Installed:
    """One for the whole run, made by whichever worker needs it first."""
    folder = run_folder / "wheel"
    with alone(folder):
        if not (folder / "site").exists():
            _install(folder)
    return Installed(folder / "site")


def _install(folder: Path) -> None:
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder)]
    subprocess.run([*build, str(ROOT)], check=True, capture_output=True, timeout=170)
    (wheel,) = folder.glob("*.whl")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-compile"]
    subprocess.run([*pip, "--target", str(folder / "site"), str(wheel)], check=True, timeout=60)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Of the module, not of the session: while it is open no other event loop can run here."""
    assert CHROMIUM, "no Chromium: run `make browser`"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A fresh page; whatever it complains about fails the test that opened it."""
    context = browser.new_context(viewport={"width": 1100, "height": 900})
    page = context.new_page()
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on(
        "console", lambda said: complaints.append(said.text) if _is_complaint(said.text) else None
    )
    yield page
    context.close()
    assert complaints == []


def _is_complaint(text: str) -> bool:
    # What a hostile diagram tries to run is stopped in its frame, whose policy is its own.
    is_frame = "inline event handler" in text and "script-src 'sha256-" in text
    return ("Content Security Policy" in text and not is_frame) or "Uncaught" in text


def sign_in_as(page: Page, url: str, token: str) -> None:
    """Sign the browser in, as its sign-in page does."""
    port = urlsplit(url).port
    cookie = {"name": f"pecia_session_{port}", "value": token, "url": url, "httpOnly": True}
    page.context.add_cookies([{**cookie, "sameSite": "Strict"}])  # pyright: ignore[reportArgumentType]


def findings(page: Page) -> list[str]:
    """What axe-core finds on the page as it is, whatever its level."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    return [
        f"{it['id']}: {node['target']} {node['failureSummary']}"
        for it in found["violations"]
        for node in it["nodes"]
    ]


def free_port() -> int:
    with socket.socket() as it:
        it.bind(("127.0.0.1", 0))
        return it.getsockname()[1]


def kill_tree(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        os.kill(process.pid, 9)
