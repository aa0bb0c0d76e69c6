"""What somebody does on an ordinary day with the handbook: finds, reads, writes, compares."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Request, Route, expect

from tests.web.conftest import ROOT, Installed
from tests.web.lake_server import LakeServer
from tests.web.test_console import serve

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

READ = "#/read?source=wiki%3Ahandbook&key="

DEEP = (
    "# Deep\n\n"
    + "> " * 30
    + "quoted often\n\n"
    + "\n".join("  " * it + f"- level {it}" for it in range(40))
    + "\n"
)
"""Quoted mail and generated lists."""
RIGHT_TO_LEFT = "# דוח שנתי\n\nזהו מסמך בעברית.\n\n| שם | ערך |\n|---|---|\n| א | 1 |\n"


@pytest.fixture(scope="module")
def handbook(
    installed: Installed, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LakeServer]:
    home = tmp_path_factory.mktemp("day")
    folder = home / "handbook"
    shutil.copytree(ROOT / "examples/handbook", folder)
    _write_long(folder / "notes/long.md")
    (folder / "notes/deep.md").write_text(DEEP, encoding="utf-8")
    (folder / "notes/right-to-left.md").write_text(RIGHT_TO_LEFT, encoding="utf-8")
    manifest = f"handbook={folder}/cascade/manifest.json"
    words = ["start", str(folder)]
    for url in serve(installed, home, words, PECIA_CASCADE_MANIFESTS=manifest):
        it = LakeServer(url, folder, "")
        it.can_find("quarantine")
        yield it


def _write_long(path: Path) -> None:
    parts = (f"## Part {it}\n\nThe text of part {it}.\n\nAnother paragraph." for it in range(60))
    path.write_text("---\ntitle: Long\n---\n\n# Long\n\n" + "\n\n".join(parts) + "\n")


def test_the_palette_has_its_look_and_what_was_typed_before_it_was_there(
    handbook: LakeServer, page: Page
) -> None:
    handbook.open(page)
    expect(page.get_by_role("heading", name="Recent documents")).to_be_visible()

    waiting: list[Route] = []
    page.route("**/assets/Palette-*.js", lambda it: waiting.append(it))
    with page.expect_request("**/assets/Palette-*.js"):
        page.keyboard.press("Control+k")
    page.keyboard.type("tracker")
    waiting[0].continue_()
    palette = page.get_by_role("dialog", name="Command palette")
    expect(palette).to_have_css("width", "640px")
    expect(page.get_by_role("combobox")).to_have_value("tracker")
    expect(page.get_by_role("option").filter(has_text="tracker-outage.md")).to_be_visible()


def test_half_a_word_finds_a_document_by_its_name(handbook: LakeServer, page: Page) -> None:
    handbook.open(page)
    expect(page.get_by_role("heading", name="Recent documents")).to_be_visible()
    page.keyboard.press("Control+k")
    page.get_by_role("combobox").fill("batt")
    first = page.get_by_role("option").first
    expect(first).to_contain_text("battery-safety")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Battery safety", level=1)).to_be_visible()


def test_each_key_asks_for_little_and_a_pause_for_the_whole_search(
    handbook: LakeServer, page: Page
) -> None:
    handbook.open(page, "#/search")
    asked: list[tuple[int, bool]] = []

    def note(request: Request) -> None:
        if request.url.endswith("/lake/search_content"):
            sent: dict[str, Any] = json.loads(request.post_data or "{}")
            asked.append((sent["limit"], sent.get("typing", False)))

    page.on("request", note)
    page.get_by_role("searchbox").first.fill("how long does a pack stay in quar")
    # A word that is not finished finds the texts that have it.
    expect(page.locator("article.hit mark").get_by_text("quarantine").first).to_be_visible()
    whole = re.compile(r"words and meaning")
    expect(page.locator(".section-head").get_by_text(whole)).to_be_visible()
    assert asked == [(10, True), (20, False)]
    asked.clear()
    page.get_by_role("searchbox").first.press("Enter")
    handbook.open(page, "#/search?q=pack")
    expect(page.get_by_role("status").first).to_have_text(re.compile("hits? in"))
    assert {*asked} == {(20, False)}


def test_going_back_reaches_the_opened_hit_though_the_whole_search_came_meanwhile(
    handbook: LakeServer, page: Page
) -> None:
    handbook.open(page, "#/search")
    page.get_by_role("searchbox").first.fill("quarantine of a pack")
    hit = page.get_by_role("link", name="Winter preparation", exact=True)
    with page.expect_response(lambda it: "search_content" in it.url and _is_whole(it.request)):
        hit.click()
    expect(page.locator(".found").first).to_be_visible()
    page.go_back()
    expect(hit).to_be_focused()


def _is_whole(request: Request) -> bool:
    return "typing" not in json.loads(request.post_data or "{}")


def test_a_query_typed_slowly_is_one_thing_that_somebody_did(
    handbook: LakeServer, page: Page
) -> None:
    for query in ("dynamo", "dynamo lamp", "dynamo lamp flickers"):
        handbook.call("lake/search_content", query=query)
    handbook.open(page)
    activity = page.get_by_role("region", name="Activity")
    expect(activity).to_contain_text("dynamo lamp flickers")
    expect(activity.get_by_text("dynamo")).to_have_count(1)


def test_a_word_found_inside_a_link_is_marked_and_no_tag_is_shown(
    handbook: LakeServer, page: Page
) -> None:
    handbook.open(page, "#/search?q=stolen+bike")
    hit = page.locator("article.hit").first
    expect(hit.locator("mark").first).to_be_visible()
    expect(page.locator("main")).not_to_contain_text("mark>")


def test_a_passage_does_not_repeat_its_heading_and_says_where_it_was_cut(
    handbook: LakeServer, page: Page
) -> None:
    handbook.open(page, "#/search?q=how+long+does+a+pack+stay+in+quarantine")
    passage = page.locator(".passage").filter(has=page.get_by_role("link", name="Quarantine")).first
    text = passage.locator("p").inner_text()
    assert not text.startswith("Quarantine ·"), text
    assert ": ·" not in text
    assert text.rstrip().endswith((".", "…", ":")), text


def test_a_concept_shows_what_holds_beside_who_disagrees(handbook: LakeServer, page: Page) -> None:
    handbook.open(page, "#/cascade")
    expect(page.get_by_role("heading", name="Wax instead of oil")).to_be_visible()
    decision = page.get_by_role("region", name="Decision")
    expect(decision).to_contain_text("Drip wax on my own bike")
    dissent = decision.get_by_role("list", name="Who disagrees")
    expect(dissent.get_by_role("listitem")).to_have_count(2)
    expect(dissent).to_contain_text("company disagrees")
    for raw in ("{#", "type:", "tags:"):
        expect(page.get_by_role("article")).not_to_contain_text(raw)
    decision.get_by_role("link", name="notes/stand-3").click()
    expect(page.get_by_role("heading", name="My stand")).to_be_visible()


def test_a_dialog_that_adds_is_cancelled_not_kept(handbook: LakeServer, page: Page) -> None:
    handbook.open(page, "#/memories")
    page.get_by_role("button", name="Remember something").click()
    dialog = page.get_by_role("dialog", name="Remember something")
    expect(dialog.get_by_role("button", name="Keep")).to_have_count(0)
    dialog.get_by_role("button", name="Cancel").click()
    expect(dialog).to_have_count(0)


@pytest.mark.parametrize("key", ["nowhere.md", "nowhere.txt"])
def test_a_document_that_is_not_there_can_be_searched_for(
    handbook: LakeServer, page: Page, key: str
) -> None:
    handbook.open(page, READ + key)
    expect(page.get_by_role("heading", name="You cannot open this")).to_be_visible()
    page.get_by_role("link", name="Search for it").click()
    expect(page.get_by_role("searchbox").first).to_have_value(key)


def test_the_history_names_the_document_by_its_title(handbook: LakeServer, page: Page) -> None:
    handbook.open(page, "#/history?space=handbook&doc=safety%2Fbattery-safety")
    expect(page.get_by_role("heading", name="History of Battery safety")).to_be_visible()


def test_the_preview_shows_the_place_that_is_being_written(
    handbook: LakeServer, browser: Browser
) -> None:
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    handbook.sign_in(page)
    handbook.open(page, "#/edit?space=handbook&doc=notes%2Flong")
    preview = page.get_by_role("complementary", name="Preview")
    expect(preview.get_by_role("heading", name="Part 0")).to_be_in_viewport()
    page.get_by_role("textbox", name="Source of long").focus()
    page.keyboard.press("ControlOrMeta+End")
    expect(preview.get_by_role("heading", name="Part 59")).to_be_in_viewport()
    page.keyboard.press("ControlOrMeta+Home")
    expect(preview.get_by_role("heading", name="Part 0")).to_be_in_viewport()
    page.close()


def test_the_list_of_tools_leads_to_each_toolset(handbook: LakeServer, page: Page) -> None:
    page.goto(f"{handbook.url}/api/v1/docs")
    page.get_by_role("navigation", name="Toolsets").get_by_role("link", name="wiki").click()
    expect(page.get_by_role("heading", name="wiki", exact=True)).to_be_in_viewport()


def test_a_page_whose_name_is_typed_comes_before_texts_that_have_the_word(
    handbook: LakeServer, page: Page
) -> None:
    handbook.open(page)
    expect(page.get_by_role("heading", name="Recent documents")).to_be_visible()
    page.keyboard.press("Control+k")
    page.get_by_role("combobox").fill("token")
    expect(page.get_by_role("option").filter(has_text=".md").first).to_be_visible()
    expect(page.get_by_role("option").first).to_have_text(re.compile(r"^\s*Tokens"))


def test_a_token_is_made_by_the_enter_key(handbook: LakeServer, page: Page) -> None:
    handbook.open(page, "#/tokens")
    page.get_by_role("button", name="Make a token").click()
    page.get_by_label("What it is for").fill("a tablet")
    page.keyboard.press("Enter")
    expect(page.get_by_role("rowheader", name="a tablet")).to_be_visible()


def test_words_in_bold_stay_in_their_sentence(handbook: LakeServer, page: Page) -> None:
    handbook.open(page, "#/access?source=wiki%3Ahandbook")
    expect(page.get_by_text("Seen by", exact=True)).to_have_css("display", "inline")


def test_a_phone_shows_deep_quotations_and_lists_without_scrolling_sideways(
    handbook: LakeServer, page: Page
) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    handbook.open(page, f"{READ}notes%2Fdeep.md")
    expect(page.get_by_text("level 39")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_columns_of_a_table_from_right_to_left_stand_apart(
    handbook: LakeServer, page: Page
) -> None:
    handbook.open(page, f"{READ}notes%2Fright-to-left.md")
    first = page.get_by_role("columnheader").first
    expect(first).to_have_css("padding-left", "20px")
    expect(first).to_have_css("padding-right", "0px")
