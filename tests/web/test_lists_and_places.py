"""What a list shows while things go wrong, and where one is after going back."""

import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.web.conftest import ROOT, Installed
from tests.web.lake_server import LakeServer
from tests.web.test_console import serve

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

LONG = "Uebersicht_der_Wartungsvertraege_und_Dienstleistungsvereinbarungen_final_7.csv"
FILES = "#/documents?source=library"
GONE = {"status": 503, "json": {"error": {"code": "DEPENDENCY_UNAVAILABLE", "message": "Gone."}}}
REFUSED = {"status": 403, "json": {"error": {"code": "FORBIDDEN", "message": "Not by you."}}}


@pytest.fixture(scope="module")
def library(installed: Installed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LakeServer]:
    """The handbook, and a folder of many files, one with a name that nobody can break."""
    home = tmp_path_factory.mktemp("lists")
    folder, files = home / "handbook", home / "library"
    shutil.copytree(ROOT / "examples/handbook", folder)
    files.mkdir()
    for it in range(60):
        (files / f"note-{it}.txt").write_text(f"Note {it} is of the heron.\n" * 40)
    (files / LONG).write_text("a,b\n1,2\n")
    lines = (f"2026-11-19 10:00:00 worker {it} finished job {it * 7}\n" for it in range(400))
    (files / "jobs.log").write_text("".join(lines))
    (files / "cut.pdf").write_bytes(b"%PDF-1.4\ncut off")
    sign = '<a href="#feeding" title="Permalink to this heading">¶</a>'
    head = "<html><head><title>Birds</title></head><body><h1>Birds</h1>"
    (files / "birds.html").write_text(
        f"{head}<h2>Feeding{sign}</h2><p>The cormorant eats fish.</p></body></html>"
    )
    for url in serve(installed, home, ["start", str(folder)]):
        it = LakeServer(url, folder, "")
        it.call("admin/add_source", source_id="library", folder=str(files), watch=False)
        it.crawl("library")
        it.can_find("cormorant")
        it.call("admin/add_user", name="mira")
        yield it


def scrolled(page: Page) -> int:
    return int(page.evaluate("window.scrollY"))


def answer(page: Page, path: str, with_what: dict[str, Any]) -> None:
    page.route(f"**/api/v1/{path}", lambda it: it.fulfill(**with_what))


def test_going_back_leads_to_the_row_that_was_left_and_so_does_loading_again(
    library: LakeServer, page: Page
) -> None:
    library.open(page, FILES)
    row = page.get_by_role("link", name="note-45.txt")
    row.scroll_into_view_if_needed()
    left = scrolled(page)
    assert left > 500
    row.click()
    expect(page.get_by_role("heading", name="note-45")).to_be_visible()
    page.go_back()
    expect(row).to_be_in_viewport()
    assert scrolled(page) == left
    page.reload()
    expect(row).to_be_in_viewport()
    page.get_by_role("link", name="Documents", exact=True).click()
    expect(page.get_by_role("heading", name="Documents")).to_be_visible()
    assert scrolled(page) == 0


def test_going_back_in_the_reader_leads_to_the_lines_that_were_read(
    library: LakeServer, page: Page
) -> None:
    library.open(page, "#/read?source=wiki%3Ahandbook&key=safety%2Fbattery-safety.md")
    heading = page.get_by_role("heading", name="Retiring")
    heading.scroll_into_view_if_needed()
    left = scrolled(page)
    page.get_by_role("link", name="Who may see it").dispatch_event("click")
    expect(page.get_by_role("heading", name="Access")).to_be_visible()
    page.go_back()
    expect(heading).to_be_in_viewport()
    assert scrolled(page) == left


def test_a_name_without_a_place_to_break_fits_a_phone(
    library: LakeServer, browser: Browser
) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 800})
    page = context.new_page()
    library.open(page, FILES)
    name = page.get_by_text(LONG)
    expect(name).to_be_visible()
    icon = page.get_by_role("link", name=LONG).locator("svg")
    beside, shown = icon.bounding_box(), name.bounding_box()
    assert beside
    assert shown
    assert shown["x"] > beside["x"]
    assert shown["y"] < beside["y"] + beside["height"]
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    # A folder is one line: its icon says what it is.
    library.open(page, "#/documents?source=wiki%3Ahandbook")
    expect(page.get_by_role("link", name="safety")).to_be_visible()
    expect(page.get_by_text("folder", exact=True).first).to_be_hidden()
    context.close()


def test_a_long_name_of_a_user_stands_in_a_few_lines(library: LakeServer, page: Page) -> None:
    name = "jonas-friedrich.wittgenstein-hohenlohe@example.org"
    library.call("admin/add_user", name=name)
    for width in (1100, 768, 390):
        page.set_viewport_size({"width": width, "height": 800})
        library.open(page, "#/people")
        place = page.get_by_role("rowheader", name=name).bounding_box()
        assert place
        assert place["height"] < 90
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_rows_of_another_question_are_not_taken_for_its_answer(
    library: LakeServer, page: Page
) -> None:
    library.open(page, "#/jobs")
    row = page.get_by_role("row").filter(has_text="Crawl library").first
    expect(row).to_be_visible()
    answer(page, "admin/list_jobs", GONE)
    page.get_by_role("link", name="Failed").click()
    expect(page.get_by_role("alert")).to_contain_text("Gone.")
    expect(row).to_have_count(0)
    page.unroute("**/api/v1/admin/list_jobs")
    page.get_by_role("link", name="All", exact=True).click()
    expect(row).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)


def test_a_list_keeps_its_rows_where_more_do_not_come_and_a_filter_looks_at_all(
    library: LakeServer, page: Page
) -> None:
    facts = [f"Locker {it} belongs to bicycle number {it * 13}." for it in range(70)]
    for at in range(0, 70, 10):
        library.call("memory/cipher_extract_and_operate_memory", interaction=facts[at : at + 10])
    shown = {it["text"] for it in library.call("memory/memory_list", all_projects=True)["memories"]}
    (missing, *_) = [it for it in facts if it not in shown]
    library.open(page, "#/memories")
    rows = page.locator("li.memory")
    expect(rows).to_have_count(50)
    answer(page, "memory/memory_list", GONE)
    page.get_by_role("button", name="More memories").click()
    expect(page.get_by_role("alert")).to_contain_text("Gone.")
    expect(rows).to_have_count(50)
    page.unroute("**/api/v1/memory/memory_list")
    page.get_by_role("button", name="Try again").click()
    expect(rows).to_have_count(70)
    expect(page.get_by_role("alert")).to_have_count(0)
    page.reload()
    expect(rows).to_have_count(50)
    page.get_by_role("searchbox", name="Filter by words").fill(missing)
    expect(page.locator("li.memory").filter(has_text=missing)).to_be_visible()
    page.get_by_role("searchbox", name="Filter by words").fill("zebra finches")
    expect(page.get_by_text("No memory has these words")).to_be_visible()


def test_see_why_shows_why(library: LakeServer, page: Page) -> None:
    library.open(page)
    page.get_by_role("link", name=re.compile("See why.*library")).click()
    expect(page.get_by_role("link", name="cut.pdf")).to_be_visible()


def test_a_request_of_an_agent_appears_while_somebody_waits_for_it(
    library: LakeServer, page: Page, tmp_path: Path
) -> None:
    library.sign_in(page)
    expect(page.get_by_role("link", name="Pecia, home")).to_be_visible()
    library.open(page, "#/confirm")
    expect(page.get_by_text("No pending confirmations")).to_be_visible()
    # As an agent of the owner does: without a token.
    asked = {"source_id": "later", "folder": str(tmp_path)}
    where = f"{library.url}/api/v1/admin/add_source"
    assert httpx.post(where, json=asked, trust_env=False, timeout=60).status_code == 428
    waits = page.get_by_role("region").filter(has_text="as the source later")
    expect(waits).to_be_visible()
    waits.get_by_role("button", name="Refuse").click()
    expect(page.get_by_text("No pending confirmations")).to_be_visible()


def test_what_the_server_refused_is_not_shown_as_done(library: LakeServer, page: Page) -> None:
    library.open(page, "#/people")
    name = page.get_by_label("Name of the new user")
    name.fill("mira")
    page.get_by_role("button", name="Add user").click()
    expect(page.get_by_role("alert")).to_be_visible()
    expect(name).to_have_value("mira")
    role = page.get_by_label("Role of mira")
    answer(page, "admin/set_user", REFUSED)
    role.select_option("admin")
    expect(page.get_by_role("alert")).to_contain_text("Not by you.")
    expect(role).to_have_value("member")


def test_a_right_that_was_removed_by_mistake_is_given_back(library: LakeServer, page: Page) -> None:
    library.call("admin/grant", source_id="library", to="user:mira", role="writer")
    library.open(page, "#/access?source=library")
    mira = page.get_by_role("row").filter(has_text="user:mira")
    mira.get_by_role("button", name="Remove").click()
    expect(mira).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(mira).to_contain_text("writer")


def test_roles_of_one_source_are_not_shown_under_another(library: LakeServer, page: Page) -> None:
    library.call("admin/grant", source_id="library", to="user:mira", role="writer")
    library.open(page, "#/access?source=library")
    remove = page.get_by_role("button", name="Remove user:mira")
    expect(remove).to_be_visible()
    waiting: list[Route] = []
    page.route("**/api/v1/admin/list_grants", lambda it: waiting.append(it))
    page.evaluate("location.hash = '#/access?source=wiki%3Ahandbook'")
    expect(page.get_by_role("heading", name="Roles in handbook")).to_be_visible()
    expect(remove).to_have_count(0)
    for it in waiting:
        it.continue_()
    expect(page.get_by_text("Nobody holds a role of their own here")).to_be_visible()


def test_tools_stay_in_sight_after_one_was_approved(
    library: LakeServer, page: Page, tmp_path: Path
) -> None:
    words = tmp_path / "described.txt"
    words.write_text("Say it again.")
    program = f"{sys.executable} {ROOT / 'tests/unit/features/hub/upstream.py'} tools=echo,touch"
    library.call("hub/add_server", server="parrot", command=f"{program} described={words}")
    words.write_text("Say it twice.")
    # What it says of its tools is read when it starts.
    for is_on in (False, True):
        library.call("hub/set_server", server="parrot", enabled=is_on)
    library.call("hub/check_server", server="parrot")
    library.sign_in(page)
    expect(page.get_by_role("link", name="Pecia, home")).to_be_visible()
    library.open(page, "#/hub")
    server = page.get_by_role("region", name="parrot")
    server.get_by_text("Tools", exact=True).click()
    server.get_by_role("button", name="Approve echo").click()
    expect(page.get_by_text("Approved echo")).to_be_visible()
    expect(server.get_by_role("button", name="Approve")).to_have_count(0)
    expect(server.get_by_text("Say it twice.")).to_be_visible()
    expect(server.locator("b").get_by_text("touch", exact=True)).to_be_visible()
    server.get_by_role("button", name="Remove parrot").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove the server").click()
    expect(server).to_have_count(0)


def test_a_plain_text_stands_in_columns_and_its_lines_are_whole(
    library: LakeServer, page: Page
) -> None:
    library.open(page, "#/read?source=library&key=jobs.log")
    text = page.get_by_role("main").locator(".text")
    expect(text).to_contain_text("worker 0 finished")
    lines = [it for it in text.inner_text().split("\n") if it]
    assert len(lines) > 100
    whole = [it for it in lines if not (it.startswith("2026-11-19") and "finished job " in it)]
    # The last one may go on in what is not loaded yet.
    assert [it for it in whole if it != lines[-1]] == []
    family = page.locator(".passage").first.evaluate("it => getComputedStyle(it).fontFamily")
    assert "mono" in family.lower()


def test_a_heading_has_no_sign_of_its_own_address(library: LakeServer, page: Page) -> None:
    library.open(page, "#/search?q=cormorant&mode=words")
    place = page.locator("article.hit .passage > a")
    expect(place).to_have_text("Feeding")
    place.click()
    expect(page.get_by_role("heading", name="Feeding", exact=True)).to_be_visible()


def test_a_shortened_address_leads_to_the_list(library: LakeServer, page: Page) -> None:
    page.goto(f"{library.url}/read/library/")
    expect(page.get_by_role("link", name="jobs.log")).to_be_visible()
