"""Searching and reading as a person does: typed, by keyboard, shared, gone back to, and refused."""

import json
import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.web.conftest import Installed, sign_in_as
from tests.web.lake_server import HOSTILE, ODD_NAME, LakeServer, open_lakeside

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240), pytest.mark.usefixtures("silent")]

BOX = "Search everything you may see"


@pytest.fixture(scope="module")
def lakeside(
    installed: Installed, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LakeServer]:
    yield from open_lakeside(tmp_path_factory.mktemp("lakeside"), installed)


@pytest.fixture
def silent(page: Page) -> None:
    """No dialog may open, whatever a file holds."""

    def fail(_: object) -> None:
        raise AssertionError("a dialog opened")

    page.on("dialog", fail)


def hits(page: Page) -> Locator:
    return page.get_by_role("list", name="Hits").get_by_role("article")


def ask(page: Page, words: str) -> None:
    page.get_by_label(BOX).fill(words)
    page.keyboard.press("Enter")


def test_what_a_person_types_finds_what_they_wrote(lakeside: LakeServer, page: Page) -> None:
    lakeside.open(page)
    page.get_by_role("navigation").get_by_role("link", name="Search").click()
    # The box of the start page goes with it.
    expect(page.get_by_label(BOX)).to_have_count(1)
    expect(page.get_by_label(BOX)).to_be_focused()
    ask(page, "heron at dawn")
    first = hits(page).first
    expect(first.get_by_role("link", name="Herons")).to_be_visible()
    expect(first).to_contain_text("notes · heron.md")
    expect(first).to_contain_text("heron.md")
    expect(first.locator("mark").first).to_have_text(re.compile("heron", re.IGNORECASE))


def test_a_search_is_in_its_address_and_can_be_shared(lakeside: LakeServer, page: Page) -> None:
    lakeside.open(page, "#/search?path=her*")
    page.get_by_label("Words only").check()
    page.get_by_label(BOX).fill("heron")
    # Typing is enough.
    expect(hits(page)).to_have_count(1)
    shared = page.url
    other = page.context.new_page()
    other.goto(shared)
    expect(hits(other)).to_have_count(1)
    expect(other.get_by_label(BOX)).to_have_value("heron")
    expect(other.get_by_label("Words only")).to_be_checked()
    expect(other.get_by_text("path her*")).to_be_visible()


def test_the_keyboard_is_enough_and_back_returns_to_the_hits(
    lakeside: LakeServer, page: Page
) -> None:
    lakeside.open(page)
    expect(page.get_by_role("heading", name="Recent documents")).to_be_visible()
    page.keyboard.press("/")
    expect(page.get_by_label(BOX)).to_be_focused()
    page.keyboard.type("heron lantern cormorant")
    page.keyboard.press("Enter")
    expect(hits(page)).to_have_count(3)
    asked: list[str] = []
    page.on("request", lambda it: asked.append(it.url))
    for key in ("ArrowDown", "ArrowDown", "ArrowDown", "ArrowUp"):
        page.keyboard.press(key)
    second = hits(page).nth(1).get_by_role("heading").get_by_role("link")
    expect(second).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".found").first).to_be_visible()
    expect(page.get_by_role("link", name="Open original")).to_be_visible()
    asked.clear()
    page.go_back()
    expect(second).to_be_focused()
    expect(second).to_be_in_viewport()
    # They are the same hits, and were not asked for again.
    assert [it for it in asked if "search_content" in it] == []


def test_more_hits_come_on_demand_and_none_twice(lakeside: LakeServer, page: Page) -> None:
    lakeside.open(page, "#/search?q=lantern&mode=words")
    expect(page.get_by_role("status").first).to_have_text("The first 20 hits in 1 file")
    page.get_by_role("button", name="More hits").click()
    expect(page.get_by_role("status").first).to_have_text("The first 40 hits in 1 file")
    page.get_by_role("button", name="more passages").click()
    places = page.locator(".passage > a").evaluate_all("them => them.map(it => it.href)")
    assert len({*places}) == 40


def test_a_page_that_overlaps_the_last_shows_no_hit_twice(lakeside: LakeServer, page: Page) -> None:
    def overlap(route: Route) -> None:
        asked: dict[str, Any] = json.loads(route.request.post_data or "{}")
        if asked.pop("cursor", None):
            asked["limit"] = 30
        route.continue_(post_data=json.dumps(asked))

    # As it is when files change between two pages.
    page.route("**/lake/search_content", overlap)
    lakeside.open(page, "#/search?q=lantern&mode=words")
    expect(page.get_by_role("status").first).to_have_text("The first 20 hits in 1 file")
    page.get_by_role("button", name="More hits").click()
    expect(page.get_by_role("status").first).to_have_text("The first 30 hits in 1 file")


def test_why_a_hit_ranks_where_it_does_is_drawn(lakeside: LakeServer, page: Page) -> None:
    lakeside.open(page, "#/search?q=heron&mode=words")
    hits(page).first.get_by_text("Why first").click()
    drawn = hits(page).first.get_by_role("img", name="What its score of")
    expect(drawn).to_be_visible()
    expect(hits(page).first.get_by_role("term").first).to_contain_text("words in the")


def test_a_script_in_a_text_or_a_name_is_text(lakeside: LakeServer, page: Page) -> None:
    lakeside.open(page, "#/search?q=cormorant")
    first = hits(page).first
    expect(first.get_by_role("link", name=HOSTILE)).to_be_visible()
    expect(first).to_contain_text(ODD_NAME)
    expect(first).to_contain_text(f"said {HOSTILE} twice")
    first.get_by_role("link", name=HOSTILE).click()
    expect(page.locator(".found")).to_contain_text(HOSTILE)
    expect(page.get_by_role("heading", name=HOSTILE)).to_be_visible()
    assert page.locator("main img:not(svg), main script, main b").count() == 0


def test_who_has_no_right_sees_nothing_of_it(lakeside: LakeServer, page: Page) -> None:
    lakeside.open_as_bo(page, "#/search")
    ask(page, "lantern")
    # Semantic search may bring what bo may see, and nothing else.
    expect(page.get_by_role("status").first).to_have_text(re.compile(r"^\d+ hits? in \d+ files?$"))
    expect(page.get_by_text("log.md")).to_have_count(0)
    ask(page, "heron")
    expect(hits(page).first).to_contain_text("heron.md")
    lakeside.open(page, "#/read?source=reports&key=log.md")
    expect(page.get_by_role("alert")).to_contain_text("NOT_FOUND")
    expect(page.get_by_text("lantern")).to_have_count(0)


def test_a_token_that_ends_leads_to_the_sign_in(lakeside: LakeServer, page: Page) -> None:
    # A server asks for tokens; that this one is at home the page must not know.
    about = httpx.get(f"{lakeside.url}/console/about.json", trust_env=False).json()
    mocked = {**about, "mode": "server", "has_session": True}
    page.route("**/about.json", lambda it: it.fulfill(json=mocked))
    scopes = ["pecia.read", "pecia.search"]
    made = lakeside.call("admin/make_token", label="short", user="bo", scopes=scopes)
    sign_in_as(page, lakeside.url, made["token"])
    lakeside.open(page, "#/search?q=heron")
    expect(hits(page).first).to_contain_text("heron.md")
    lakeside.call("admin/revoke_token", id=made["id"])
    ask(page, "dawn")
    expect(page.get_by_role("heading", name="Sign in to Pecia")).to_be_visible()
    expect(page.get_by_role("alert")).to_contain_text("Your sign-in has ended")
    page.get_by_label("Personal access token").fill(lakeside.bo)
    page.get_by_role("button", name="Sign in").click()
    # And on they go where they were.
    expect(page.get_by_label(BOX)).to_have_value("dawn")
    expect(hits(page).first).to_contain_text("heron.md")


def test_nothing_found_says_what_to_try(lakeside: LakeServer, page: Page) -> None:
    lakeside.open(page, "#/search?q=zeppelinfahrt&mode=words&source=reports")
    expect(page.get_by_role("heading", name="No hits in what you may see")).to_be_visible()
    expect(page.get_by_role("link", name="Use semantic search too")).to_be_visible()
    page.get_by_role("link", name="Search without the filters").click()
    expect(page).to_have_url(re.compile(r"q=zeppelinfahrt&mode=words$"))


def test_a_refused_filter_is_shown_with_its_code_and_field(
    lakeside: LakeServer, page: Page
) -> None:
    lakeside.open(page, "#/search?q=heron&path=%5B")
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("INVALID_FORMAT")
    expect(alert).to_contain_text("field path")


def test_what_a_search_had_to_do_without_is_told(lakeside: LakeServer, page: Page) -> None:
    lakeside.call("admin/set_search", hybrid=False)
    try:
        lakeside.open(page, "#/search?q=heron")
        expect(page.get_by_text("semantic search is off here")).to_be_visible()
        expect(hits(page).first).to_contain_text("heron.md")
    finally:
        lakeside.call("admin/set_search", hybrid=True)


def test_a_hit_opens_in_its_document_at_the_passage(lakeside: LakeServer, page: Page) -> None:
    lakeside.open(page, "#/search?q=%22day+30%22&mode=words")
    hits(page).first.get_by_role("link").first.click()
    found = page.locator(".found").filter(has_text="On day 30 ")
    expect(found).to_be_in_viewport()
    expect(found.locator("mark").filter(has_text="30").first).to_be_visible()
    # It is rendered: headings are headings, and stand in the outline.
    page.set_viewport_size({"width": 1440, "height": 900})
    expect(page.get_by_role("heading", name="Day 30", exact=True)).to_be_visible()
    outline = page.get_by_role("navigation", name="On this page")
    expect(outline.get_by_role("link", name="Day 60")).to_have_count(1)
    page.get_by_role("link", name="Source", exact=True).click()
    expect(page.get_by_text("## Day 30")).to_be_visible()


def test_a_long_file_is_read_in_parts(lakeside: LakeServer, page: Page) -> None:
    lakeside.open(page, "#/search?q=%22day+30%22&mode=words")
    hits(page).first.get_by_role("link").first.click()
    expect(page.locator(".found").first).to_be_visible()
    page.goto(f"{page.url}&view=chunks")
    found = page.get_by_label("What was found")
    expect(found).to_be_in_viewport()
    expect(found).to_contain_text("On day 30 ")
    expect(page.get_by_text("On day 12 ")).to_have_count(0)
    page.get_by_role("button", name="Show what comes before").click()
    expect(page.get_by_text("On day 12 ")).to_have_count(1)
    expect(page.get_by_text("On day 45 ")).to_have_count(0)
    page.get_by_role("button", name="Show what follows").click()
    expect(page.get_by_text("On day 45 ")).to_have_count(1)


def test_a_citation_is_copied_and_the_original_opens(lakeside: LakeServer, page: Page) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    lakeside.open(page, "#/search?q=heron&mode=words")
    hits(page).first.get_by_role("link", name="Herons").click()
    page.get_by_role("button", name="Copy citation").click()
    expect(page.get_by_text("Citation copied")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert re.fullmatch(
        r"Herons, pecia://file/wiki%3Anotes/heron\.md, revision \d+, characters \d+–\d+", copied
    )
    link = page.get_by_role("link", name="Open original").get_attribute("href")
    assert link is not None
    assert "A heron stands" in httpx.get(f"{lakeside.url}{link}", trust_env=False, timeout=60).text


# Last: the documents that it writes would be hits of the others.
def test_hits_are_narrowed_to_an_author_of_theirs(lakeside: LakeServer, page: Page) -> None:
    owner = str(lakeside.call("admin/whoami")["user"])
    for name, text in (("egret", "An egret waits for the bittern."), ("crane", "No bittern.")):
        page_of = {"docName": name, "markdown": f"# {name.title()}\n\n{text}\n"}
        lakeside.call("wiki/write_document", space="notes", position="replace", **page_of)
    lakeside.can_find("egret")
    lakeside.can_find("bittern")
    (lakeside.folder / "bittern.md").write_text("# Bitterns\n\nA bittern booms.\n")
    lakeside.crawl("reports")
    lakeside.can_find("booms")
    lakeside.open(page, "#/search?q=bittern&mode=words")
    expect(hits(page)).to_have_count(3)
    author = page.get_by_role("group", name="Author")
    author.get_by_label(owner, exact=True).check()
    expect(hits(page)).to_have_count(2)
    expect(hits(page).filter(has_text="Bitterns")).to_have_count(0)
    author.get_by_label("Agents").check()
    expect(page.get_by_text("No hits in what you may see")).to_be_visible()
    author.get_by_label("Anyone").check()
    expect(hits(page)).to_have_count(3)
    # Who may not see what somebody wrote is not told that they wrote.
    lakeside.call("admin/set_source", source_id="wiki:notes", trim_mode="source_only")
    page.goto("about:blank")
    lakeside.open_as_bo(page, "#/search?q=bittern&mode=words")
    expect(page.get_by_text("No hits in what you may see")).to_be_visible()
    expect(author.get_by_label(owner, exact=True)).to_have_count(0)
    lakeside.call("admin/set_source", source_id="wiki:notes", trim_mode="open")
