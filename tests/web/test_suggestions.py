"""Suggestions in a browser: shown where they belong, decided by key and by mouse, talked about."""

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from playwright.sync_api import Page, Route, expect

from tests.web.conftest import Installed, findings, sign_in_as
from tests.web.lake_server import until
from tests.web.test_editor import reader_token
from tests.web.wiki_server import SPACE, WikiServer, open_editor, serve_wiki

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

TEXT = """---
title: Packs
---

# Packs

## Storage

- Store packs at 40 to 60 % charge.
- Check the charge every month. 🐝

## Quarantine

A pack stays for 24 hours.
"""


@pytest.fixture(scope="module")
def server(installed: Installed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WikiServer]:
    with serve_wiki(tmp_path_factory.mktemp("suggested"), installed) as it:
        yield it


@pytest.fixture
def doc(server: WikiServer) -> str:
    name = f"packs-{uuid4().hex[:6]}"
    server.write(f"{name}.md", TEXT)
    return name


def suggest(server: WikiServer, doc: str, find: str, replace: str, why: str = "") -> str:
    """As an agent does."""
    more: dict[str, Any] = {"summary": why} if why else {}
    asked = {"docName": doc, "find": find, "replace": replace, "suggest": True}
    return str(server.agent("edit_document", **asked, **more)["suggestion"])


def open_document(page: Page, server: WikiServer, doc: str) -> None:
    page.goto(f"{server.url}/console/#/read?source=wiki%3A{SPACE}&key={doc}.md")
    expect(page.get_by_role("heading", name="Quarantine")).to_be_visible()


def test_a_suggestion_of_an_agent_is_accepted_by_key_and_the_text_changes(
    server: WikiServer, doc: str, page: Page
) -> None:
    suggest(server, doc, "24 hours", "72 hours", "The manual says so")
    open_document(page, server, doc)
    card = page.get_by_role("article", name="Suggestion of")
    expect(card).to_contain_text("The manual says so")
    expect(card.locator("del")).to_contain_text("24")
    expect(card.locator("ins")).to_contain_text("72")
    # It stands below the paragraph that it changes.
    expect(page.locator("p.suggested")).to_have_text("A pack stays for 24 hours.")
    page.keyboard.press("s")
    expect(card).to_be_focused()
    page.keyboard.press("a")
    expect(card).to_have_count(0)
    expect(page.get_by_text("A pack stays for 72 hours.")).to_be_visible()
    assert server.read(f"{doc}.md") == TEXT.replace("24", "72")


def test_pieces_are_decided_one_by_one_in_the_editor_and_a_reason_is_kept(
    server: WikiServer, doc: str, page: Page
) -> None:
    changed = TEXT.replace("every month", "every week").replace("24 hours", "72 hours")
    asked = {"docName": doc, "markdown": changed, "position": "replace", "suggest": True}
    found = server.agent("write_document", **asked)
    here = open_editor(page, server, doc)
    expect(here.source.locator(".cm-suggested-gone")).to_have_count(2)
    expect(here.source.locator(".cm-suggested-text")).to_have_count(2)
    here.source.focus()
    page.keyboard.press("ControlOrMeta+Home")
    page.keyboard.press("ControlOrMeta+.")
    cards = page.get_by_role("article", name="Suggestion of")
    expect(cards.first).to_be_focused()
    page.keyboard.press("r")
    page.keyboard.type("Once is enough.")
    page.keyboard.press("Enter")
    expect(cards).to_have_count(1)
    expect(cards.first).to_be_focused()
    page.keyboard.press("a")
    expect(cards).to_have_count(0)
    expect(here.source).to_contain_text("for 72 hours")
    expect(here.source).to_contain_text("every month")
    until(lambda: True if server.read(f"{doc}.md") == TEXT.replace("24", "72") else None)
    kept = server.agent("read_suggestion", suggestion=found["suggestion"])
    assert [it["text"] for it in kept["comments"]] == ["Once is enough."]
    assert [it["state"] for it in kept["pieces"]] == ["rejected", "accepted"]


def test_typing_moves_what_is_suggested_with_its_text(
    server: WikiServer, doc: str, page: Page
) -> None:
    suggest(server, doc, "24 hours", "72 hours")
    here = open_editor(page, server, doc)
    gone = here.source.locator(".cm-suggested-gone")
    expect(gone).to_have_text("24")
    here.source.focus()
    page.keyboard.press("ControlOrMeta+Home")
    for _ in range(3):
        page.keyboard.press("ArrowDown")
    page.keyboard.type("New line. 🐝\n")
    expect(gone).to_have_text("24")
    here.expect_stored()
    page.get_by_role("button", name="1 suggestion").click()
    page.get_by_role("article").get_by_role("button", name="Accept").click()
    expect(here.source).to_contain_text("for 72 hours")
    expect(here.source).to_contain_text("New line.")
    expect(gone).to_have_count(0)


def test_a_thread_is_read_and_written_and_hostile_words_stay_words(
    server: WikiServer, doc: str, page: Page
) -> None:
    hostile = "<img src=x onerror=alert(1)>"
    it = suggest(server, doc, "24 hours", f"{hostile} hours", hostile)
    server.agent("comment_suggestion", suggestion=it, text=f"See page 6 {hostile}")
    open_document(page, server, doc)
    card = page.get_by_role("article", name="Suggestion of")
    card.get_by_role("button", name="1 comment").click()
    expect(card).to_contain_text(f"See page 6 {hostile}")
    card.get_by_role("textbox", name="Comment").fill("Which edition?")
    card.get_by_role("button", name="Send").click()
    expect(card.get_by_text("Which edition?")).to_be_visible()
    expect(card.get_by_role("textbox", name="Comment")).to_have_value("")
    assert page.locator(".suggestion img").count() == 0
    said = server.agent("read_suggestion", suggestion=it)["comments"]
    assert [one["text"] for one in said] == [f"See page 6 {hostile}", "Which edition?"]
    assert findings(page) == []


def test_home_counts_what_is_suggested_and_leads_there(
    server: WikiServer, doc: str, page: Page
) -> None:
    suggest(server, doc, "24 hours", "72 hours", "By the manual")
    suggest(server, doc, "40 to 60", "50 to 60")
    page.goto(f"{server.url}/console/")
    # It is named by its title, which all documents of these tests share.
    page.locator(f'a[href*="{doc}"]', has_text="2 suggestions for").click()
    expect(page.get_by_role("article", name="Suggestion of")).to_have_count(2)


def test_one_whose_text_changed_says_so_and_cannot_be_accepted(
    server: WikiServer, doc: str, page: Page
) -> None:
    suggest(server, doc, "A pack stays for 24 hours.", "A pack stays for 72 hours outside.")
    server.write(f"{doc}.md", TEXT.replace("A pack stays for 24 hours.", "Gone."))
    rows = "list_suggestions"
    until(lambda: server.agent(rows, docName=doc)["suggestions"][0]["changed"] or None)
    open_document(page, server, doc)
    card = page.get_by_role("article", name="Suggestion of").first
    expect(card).to_contain_text("The text it was about has changed since.")
    expect(card.get_by_role("button", name="Accept")).to_be_disabled()


def test_who_may_only_read_sees_suggestions_and_decides_nothing(
    server: WikiServer, doc: str, page: Page
) -> None:
    suggest(server, doc, "24 hours", "72 hours")
    sign_in_as(page, server.url, reader_token(server))
    open_document(page, server, doc)
    card = page.get_by_role("article", name="Suggestion of")
    expect(card).to_be_visible()
    expect(card.get_by_role("button", name="Accept")).to_have_count(0)


def test_rejecting_everything_asks_first_and_its_reason_is_kept(
    server: WikiServer, doc: str, page: Page
) -> None:
    name = suggest(server, doc, "every month", "every week")
    open_document(page, server, doc)
    text = server.read(f"{doc}.md").replace("40 to 60", "50 to 60").replace("24 hours", "72 hours")
    more = server.agent(
        "write_document", docName=doc, markdown=text, position="replace", suggest=True
    )["suggestion"]
    page.reload()
    card = page.get_by_role("article").filter(has=page.get_by_role("button", name="Reject all"))
    card.get_by_role("button", name="Reject all").click()
    why = card.get_by_label("Why not?")
    expect(why).to_be_focused()
    assert {it["open"] for it in listed(server, doc) if it["suggestion"] == more} == {2}
    why.fill("The maker says otherwise.")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Reject all")).to_have_count(0)
    assert [it["suggestion"] for it in listed(server, doc)] == [name]
    found = server.agent("read_suggestion", suggestion=more)
    assert [it["text"] for it in found["comments"]] == ["The maker says otherwise."]


def listed(server: WikiServer, doc: str) -> list[dict[str, Any]]:
    return server.agent("list_suggestions", docName=doc)["suggestions"]


def test_nobody_is_told_that_nothing_is_suggested_before_it_is_known(
    server: WikiServer, doc: str, page: Page
) -> None:
    suggest(server, doc, "every month", "every week")
    waiting: list[Route] = []
    page.route("**/api/v1/wiki/list_suggestions", lambda it: waiting.append(it))
    page.goto(f"{server.url}/console/#/edit?space={SPACE}&doc={doc}&suggestions=1")
    expect(page.get_by_role("textbox", name=f"Source of {doc}")).to_be_visible()
    expect(page.get_by_role("button", name="Suggestions")).to_be_visible()
    expect(page.get_by_text("Nothing is suggested")).to_have_count(0)
    for it in waiting:
        it.continue_()
    expect(page.get_by_role("button", name="1 suggestion")).to_be_visible()
