"""A local Pecia with files to find: a wiki that all may read, and reports for its owner alone."""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from playwright.sync_api import Page

from pecia.kernel.identity import owner_token
from tests.web.conftest import Installed, sign_in_as
from tests.web.test_console import serve

WAIT_S = 90
HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script>"
ODD_NAME = "<b>odd<.md"


@dataclass(frozen=True, slots=True)
class LakeServer:
    """Where it is served, the folder of the reports, and the token of bo, who may not see them."""

    url: str
    folder: Path
    bo: str

    def call(self, tool: str, **arguments: object) -> dict[str, Any]:
        """Call a tool as the owner, who also says yes to what a person must say yes to."""
        answer = self._post(tool, arguments)
        if answer.status_code == 428:
            # The person at the terminal says yes.
            waits = answer.json()["error"]["confirmation"]
            said = self._post(f"confirmations/{waits}", {})
            assert said.status_code == 200, said.text
            answer = self._post(tool, arguments)
        assert answer.status_code == 200, answer.text
        return answer.json()

    @property
    def owner(self) -> dict[str, str]:
        """The headers of the owner, as their own commands send them."""
        return {"authorization": f"Bearer {owner_token.read(self.folder.parent / 'pecia')}"}

    def _post(self, path: str, arguments: Mapping[str, Any]) -> httpx.Response:
        return httpx.post(
            f"{self.url}/api/v1/{path}",
            json=dict(arguments),
            headers=self.owner,
            trust_env=False,
            timeout=WAIT_S,
        )

    def sign_in(self, page: Page) -> None:
        """As `pecia open` does."""
        page.goto(self._post("session/link", {}).json()["url"])

    def open(self, page: Page, at: str = "") -> None:
        page.goto(f"{self.url}/console/{at}")

    def open_as_bo(self, page: Page, at: str = "") -> None:
        sign_in_as(page, self.url, self.bo)
        self.open(page, at)

    def crawl(self, source_id: str) -> dict[str, Any]:
        """Crawl a source to its end, however that is."""
        self.call("admin/crawl_source", source_id=source_id)

        def ended() -> dict[str, Any] | None:
            found = self.call("admin/crawl_status", source_id=source_id)
            return found if found["state"] in ("done", "failed") else None

        return until(ended)

    def can_find(self, query: str) -> None:
        """Wait until the keyword index has caught up."""
        until(lambda: self.call("lake/search_content", query=query, mode="lexical")["hits"] or None)


def open_lakeside(home: Path, installed: Installed) -> Iterator[LakeServer]:
    """One for a whole module of tests."""
    notes, reports = home / "notes", home / "reports"
    _write(notes, reports)
    for url in serve(installed, home, ["start", str(notes)]):
        it = LakeServer(url, reports, "")
        it.call("admin/add_user", name="bo")
        scopes = ["pecia.read", "pecia.search"]
        token = it.call("admin/make_token", label="bo", user="bo", scopes=scopes)["token"]
        it.call("admin/add_source", source_id="reports", folder=str(reports), watch=False)
        it.crawl("reports")
        it.can_find("heron")
        it.can_find("lantern")
        yield LakeServer(url, reports, token)


def _write(notes: Path, reports: Path) -> None:
    notes.mkdir()
    reports.mkdir()
    (notes / "heron.md").write_text("# Herons\n\nA heron stands in the reeds at dawn.\n")
    days = (
        f"## Day {it}\n\nOn day {it} the lantern was lit at dusk. {'Nothing else happened. ' * 30}"
        for it in range(1, 61)
    )
    (reports / "log.md").write_text("# The lantern log\n\n" + "\n\n".join(days))
    (reports / ODD_NAME).write_text(f"# {HOSTILE}\n\nThe cormorant said {HOSTILE} twice.\n")
    (reports / "cut.pdf").write_bytes(b"%PDF-1.4\ncut off")
    (reports / "also-cut.pdf").write_bytes(b"%PDF-1.4\nalso cut off")


def until(look: Callable[[], Any]) -> Any:
    """What `look` finds, as soon as it finds something."""
    end = time.monotonic() + WAIT_S
    while time.monotonic() < end:
        if (found := look()) is not None:
            return found
        time.sleep(0.1)
    raise AssertionError("it did not come about")
