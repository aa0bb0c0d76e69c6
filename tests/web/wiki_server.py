"""A local Pecia with a wiki for the editor: its owner, bo who may only read, and an agent."""

import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
from playwright.sync_api import Locator, Page, expect

from pecia.kernel.identity import owner_token
from tests.web.conftest import Installed, free_port, kill_tree
from tests.web.test_console import wait_for

WAIT_S = 90
SPACE = "notes"


class WikiServer:
    """One that can be killed and started again at the same address."""

    def __init__(self, home: Path, installed: Installed) -> None:
        self.home = home
        self.installed = installed
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.folder = home / SPACE
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        words = ["start", str(self.folder), "--no-ask", "--port", str(self.port)]
        environ = self.installed.environ(self.home)
        log = self.home / "out.log"
        with log.open("ab") as file:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "pecia", *words], env=environ, cwd=self.home, stderr=file
            )
        wait_for(self.url, self._process, log)

    def kill(self) -> None:
        """At once, without a word to anybody."""
        assert self._process is not None
        os.kill(self._process.pid, 9)
        self._process.wait(20)

    def stop(self) -> None:
        assert self._process is not None
        kill_tree(self._process)

    def call(self, tool: str, **arguments: object) -> dict[str, Any]:
        """As the owner, over HTTP."""
        answer = self._post(f"/api/v1/{tool}", dict(arguments))
        assert answer.status_code == 200, answer.text
        return answer.json()

    def agent(self, tool: str, **arguments: object) -> dict[str, Any]:
        """As an agent: over MCP."""
        params = {"name": tool, "arguments": {"space": SPACE, **arguments}}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        answer = self._post("/mcp/wiki", body, accept="application/json, text/event-stream")
        text = answer.text.partition("data: ")[2] or answer.text
        result = httpx.Response(200, text=text).json()["result"]
        assert not result.get("isError"), result
        return result["structuredContent"]

    def sign_in(self, page: Page) -> None:
        """As `pecia open` does."""
        page.goto(self._post("/api/v1/session/link", {}).json()["url"])
        expect(page.get_by_role("button", name="Signed in as")).to_be_visible()

    def write(self, path: str, text: str) -> None:
        """As another program does."""
        place = self.folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text.encode())

    def read(self, path: str) -> str:
        return (self.folder / path).read_bytes().decode()

    def _post(self, path: str, body: object, **headers: str) -> httpx.Response:
        own = {"authorization": f"Bearer {owner_token.read(self.home / 'pecia')}"}
        where = f"{self.url}{path}"
        return httpx.post(
            where, json=body, headers={**own, **headers}, trust_env=False, timeout=WAIT_S
        )


@dataclass(frozen=True, slots=True)
class EditorPage:
    """One tab at one document."""

    page: Page
    name: str

    @property
    def source(self) -> Locator:
        return self.page.get_by_role("textbox", name=f"Source of {self.name}")

    def expect_stored(self) -> None:
        expect(self.page.locator("[data-save-state=good]")).to_have_text("Stored")

    def expect_text(self, text: str) -> None:
        """All of the text, once it is there."""
        whole = self.source.locator(".cm-line")
        expect(whole).to_have_count(len(text.split("\n")))
        for at, line in enumerate(text.split("\n")):
            if line:
                expect(whole.nth(at)).to_have_text(line)

    def type_at_end(self, words: str, delay_ms: float = 0) -> None:
        self.source.focus()
        self.page.keyboard.press("ControlOrMeta+End")
        self.page.keyboard.type(words, delay=delay_ms)


def open_editor(page: Page, server: WikiServer, doc: str) -> EditorPage:
    page.goto(f"{server.url}/console/#/edit?space={SPACE}&doc={quote(doc, safe='')}")
    found = EditorPage(page, doc.rpartition("/")[2])
    expect(found.source).to_be_visible()
    return found


@contextmanager
def serve_wiki(home: Path, installed: Installed) -> Generator[WikiServer]:
    server = WikiServer(home, installed)
    server.folder.mkdir()
    server.start()
    try:
        yield server
    finally:
        server.stop()
