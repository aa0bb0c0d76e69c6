"""Sources as a person sees them: what they hold, how their crawls go, and what failed and why."""

import json
import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.web.conftest import Installed
from tests.web.lake_server import LakeServer, open_lakeside

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

AT = "#/sources"


@pytest.fixture(scope="module")
def lakeside(
    installed: Installed, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LakeServer]:
    yield from open_lakeside(tmp_path_factory.mktemp("lakeside"), installed)


def row(page: Page, source: str) -> Locator:
    """Both lines of one source."""
    header = page.get_by_role("rowheader", name=source)
    return page.locator("tbody").filter(has=header)


def test_a_source_is_shown_with_its_files_and_state(lakeside: LakeServer, page: Page) -> None:
    lakeside.open(page, AT)
    reports = row(page, "reports")
    expect(reports).to_contain_text("4 files")
    expect(reports).to_contain_text("Folder")
    expect(reports).to_contain_text("2 could not be read")
    expect(reports).to_contain_text("incomplete")
    # Nothing changed, so this crawl reads nothing: the source is as incomplete as it was.
    assert lakeside.crawl("reports")["failed"] == 0
    lakeside.open(page, AT)
    expect(reports).to_contain_text("2 could not be read")
    expect(reports).to_contain_text("incomplete")
    expect(row(page, "notes")).to_contain_text("1 file")
    expect(page.get_by_text(re.compile(r"You may see \d+ files, \d+ passages"))).to_be_visible()


def test_files_that_could_not_be_read_are_grouped_by_reason(
    lakeside: LakeServer, page: Page
) -> None:
    lakeside.open(page, AT)
    reports = row(page, "reports")
    reports.get_by_text("Files that could not be read").click()
    expect(reports.get_by_role("status")).to_have_text("2 files, by reason.")
    expect(reports.get_by_text("2 · It is a PDF that is damaged or cut off.")).to_be_visible()
    reports.get_by_role("link", name="also-cut.pdf").click()
    expect(page.get_by_text("There is no text to show")).to_be_visible()


def test_a_crawl_that_failed_says_why(lakeside: LakeServer, page: Page) -> None:
    nowhere = lakeside.folder.parent / "nowhere"
    nowhere.mkdir()
    lakeside.call("admin/add_source", source_id="lost", folder=str(nowhere), watch=False)
    nowhere.rmdir()
    assert lakeside.crawl("lost")["state"] == "failed"
    lakeside.open(page, AT)
    expect(row(page, "lost")).to_contain_text("no such file or directory")
    # It is mended and crawled again, from here.
    nowhere.mkdir()
    (nowhere / "found.md").write_text("Found again.")
    page.get_by_role("button", name="Crawl lost now").click()
    expect(row(page, "lost")).to_contain_text("1 file")
    expect(row(page, "lost")).to_contain_text("up to date")


def test_a_folder_is_added_crawled_and_found(lakeside: LakeServer, page: Page) -> None:
    folder = lakeside.folder.parent / "added"
    folder.mkdir()
    (folder / "kingfisher.md").write_text("# Kingfishers\n\nBlue, and gone.\n")
    lakeside.sign_in(page)
    expect(page.get_by_role("link", name="Pecia, home")).to_be_visible()
    lakeside.open(page, AT)
    page.get_by_text("Add a source").click()
    page.get_by_label("Name of the source").fill("added")
    page.get_by_label("Folder on the server").fill("added")
    page.get_by_role("button", name="Add and crawl").click()
    expect(page.get_by_role("alert")).to_contain_text("field folder")
    page.get_by_label("Folder on the server").fill(str(folder))
    page.get_by_role("button", name="Add and crawl").click()
    expect(row(page, "added")).to_contain_text("up to date")
    lakeside.can_find("kingfisher")
    page.keyboard.press("/")
    page.keyboard.type("kingfisher")
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="Kingfishers")).to_be_visible()


def test_a_browser_that_is_not_signed_in_is_told_how_a_person_says_yes(
    lakeside: LakeServer, page: Page
) -> None:
    lakeside.open(page, AT)
    page.get_by_text("Add a source").click()
    page.get_by_label("Name of the source").fill("unsigned")
    page.get_by_label("Folder on the server").fill(str(lakeside.folder))
    page.get_by_role("button", name="Add and crawl").click()
    expect(page.get_by_role("alert")).to_contain_text("pecia confirm")
    page.get_by_role("link", name="Confirm").click()
    waits = page.get_by_role("region").filter(has_text="as the source unsigned")
    expect(waits).to_contain_text(str(lakeside.folder))
    expect(page.get_by_role("note")).to_contain_text("pecia open")
    expect(page.get_by_role("button", name="Allow")).to_have_count(0)


def test_what_an_agent_asked_for_is_confirmed_or_refused_on_a_page(
    lakeside: LakeServer, page: Page
) -> None:
    def ask(source_id: str) -> httpx.Response:
        """As an agent of the owner does: by the owner's process, and without a token."""
        folder = str(lakeside.folder)
        return httpx.post(
            f"{lakeside.url}/api/v1/admin/add_source",
            json={"source_id": source_id, "folder": folder, "watch": False},
            trust_env=False,
            timeout=60,
        )

    assert [ask(it).status_code for it in ("wanted", "unwanted")] == [428, 428]
    lakeside.sign_in(page)
    page.get_by_role("link", name="Confirm").click()
    for source_id, button in (("wanted", "Allow"), ("unwanted", "Refuse")):
        waits = page.get_by_role("region").filter(has_text=f"as the source {source_id}?")
        waits.get_by_role("button", name=button, exact=True).click()
        expect(waits).to_have_count(0)
    assert [ask(it).status_code for it in ("wanted", "unwanted")] == [200, 428]
    assert "code=" not in page.url


def test_the_link_of_pecia_open_leads_to_the_home_page_in_a_new_tab_and_in_an_open_one(
    lakeside: LakeServer, page: Page
) -> None:
    for _ in range(2):
        lakeside.sign_in(page)
        expect(page.get_by_role("heading", name="Recent documents")).to_be_visible()
        assert page.url.endswith("#/")


def test_who_may_not_change_sources_is_offered_nothing_to_change(
    lakeside: LakeServer, page: Page
) -> None:
    lakeside.open_as_bo(page, AT)
    expect(row(page, "notes")).to_contain_text("visible to its owners")
    expect(page.get_by_role("rowheader")).to_have_count(1)
    expect(page.get_by_role("main").get_by_role("button")).to_have_count(0)
    expect(page.get_by_text("Add a source")).to_have_count(0)


def test_a_question_that_got_no_answer_is_not_taken_for_a_refusal(
    lakeside: LakeServer, page: Page
) -> None:
    page.route("**/admin/crawl_status", lambda route: route.abort())
    lakeside.open(page, AT)
    expect(row(page, "reports")).to_contain_text("unknown")
    expect(page.get_by_role("button", name="Crawl reports now")).to_be_visible()


class Script:
    """Says how a crawl goes, for a page that cannot tell it from a long one."""

    def __init__(self, found: dict[str, Any]) -> None:
        self.found = found
        self.read = 1
        self.asked = 0

    def answer(self, route: Route) -> None:
        self.asked += 1
        told = {**self.found, "state": "reading", "seen": 9, "added": 9, "read": self.read}
        route.fulfill(status=200, content_type="application/json", body=json.dumps(told))


def test_a_running_crawl_moves_while_somebody_looks(lakeside: LakeServer, page: Page) -> None:
    script = Script(lakeside.call("admin/crawl_status", source_id="reports"))
    page.route("**/admin/crawl_status", script.answer)
    page.clock.install()
    lakeside.open(page, AT)
    bar = row(page, "reports").get_by_role("progressbar")
    expect(bar).to_have_attribute("value", "1")
    expect(row(page, "reports")).to_contain_text("1 of 9 read")
    expect(page.get_by_role("button", name="Stop the crawl of reports")).to_be_visible()
    script.read = 7
    page.clock.run_for(5_000)
    expect(bar).to_have_attribute("value", "7")
    page.evaluate("Object.defineProperty(document, 'hidden', { value: true, writable: true })")
    page.clock.run_for(5_000)
    before = script.asked
    page.clock.run_for(60_000)
    assert script.asked == before
    script.read = 9
    page.evaluate("document.hidden = false")
    page.clock.run_for(5_000)
    expect(bar).to_have_attribute("value", "9")
