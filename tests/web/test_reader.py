"""Search and the reader over texts as people write them: properties, callouts, footnotes, HTML."""

import json
import re
from collections.abc import Iterator

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.web.conftest import Installed
from tests.web.lake_server import until
from tests.web.wiki_server import SPACE, WikiServer, serve_wiki

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

SOURCE = f"wiki:{SPACE}"
STOLEN = """---
title: Stolen bike
type: runbook
tags: [theft, tracker]
updated: 2026-04-02
owner: the fleet lead
description: What is done first when a customer calls, and in the first hours after it.
summary: When the police are asked for help.
---

# Stolen bike

## First ten minutes

A stolen bike is set to lost mode at once.
{filler}

## Numbers to know

{filler}
"""
INCIDENT = """# Battery incident

Read this before you need it.

{filler}

## Quarantine

1. Put the pack into the steel box outside.
2. Take a photograph of it.

## Afterwards

A report on the same day.
"""
MARKS = """# Marks

A claim[^1] and another[^why].

> [!important]
> First line.

> [!tip]- Folded name
> Hidden words.

> [!warning] With a name
>
> A paragraph of its own.

[^1]: The first note.
[^why]: Because.
"""
HTML = """<html><head><title>Rebasing</title></head><body><h1>Rebasing</h1>
<h2>Options</h2><p><strong>NOTE</strong> that <a href="other.html">others</a> may follow.</p>
<pre>git rebase</pre></body></html>
"""
LINKED = re.compile("key=other.html")
MEETING = "---\ntitle: {{title}}\nguests: {{guests}}\n---\n\n# {{title}}\n\nBy {{author}}.\n"


@pytest.fixture(scope="module")
def server(installed: Installed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WikiServer]:
    with serve_wiki(tmp_path_factory.mktemp("texts"), installed) as it:
        it.write("stolen.md", STOLEN.format(filler="Nothing else is done. " * 40))
        it.write("incident.md", INCIDENT.format(filler="Nothing happens here.\n\n" * 60))
        it.write("marks.md", MARKS)
        it.write("rebase.html", HTML)
        it.write("arabic.md", "# دليل الصيانة\n\nيجب فحص الفرامل قبل كل رحلة.\n")
        it.write("long-ledger.md", "# The long ledger\n\nEntries.\n")
        it.write("templates/meeting.md", MEETING)
        for word in ("quarantine", "stolen", "entries", "rebase"):
            until(lambda word=word: search(it, word)["hits"] or None)
        yield it


def search(server: WikiServer, query: str) -> dict[str, list[object]]:
    return server.call("lake/search_content", query=query, mode="lexical")


def open_at(page: Page, server: WikiServer, at: str) -> None:
    page.goto(f"{server.url}/console/#/{at}")


def test_properties_are_not_shown_as_a_passage_of_text(server: WikiServer, page: Page) -> None:
    open_at(page, server, "search?q=stolen bike&mode=words")
    hit = page.locator("article.hit").filter(has=page.get_by_role("link", name="Stolen bike"))
    passages = hit.locator(".passage")
    expect(passages.filter(has_text="set to lost mode")).to_have_count(1)
    expect(passages.filter(has_text="---")).to_have_count(0)
    expect(hit.get_by_role("link", name="part 1")).to_have_count(0)
    # Found by a property alone, that is what is shown, and what its link marks.
    open_at(page, server, "search?q=tracker&mode=words")
    passage = hit.locator(".passage").first
    expect(passage).to_contain_text("tags: theft, tracker · updated: 2026-04-02")
    passage.get_by_role("link", name="properties").click()
    expect(page.locator("section.found").locator("mark")).to_have_text("tracker")


def test_a_quotation_of_properties_is_shown_as_text(server: WikiServer, page: Page) -> None:
    quotation = {
        "number": 1,
        "uri": f"pecia://file/wiki%3A{SPACE}/stolen.md",
        "title": "Stolen bike",
        "kind": "original",
        "revision": 1,
        "start": 0,
        "end": 80,
        "text": STOLEN[: STOLEN.index("# Stolen")],
    }
    answer = {
        "outcome": "passages",
        "sentences": [],
        "nearest": [],
        "used_model": False,
        "unsure": True,
        "dropped": 0,
        "reworded": 0,
        "degraded": [],
        "absent": ["zzxxqq"],
        "quotations": [quotation],
    }
    body = f"event: result\ndata: {json.dumps(answer)}\n\n"
    page.route(
        "**/api/v1/desk/ask", lambda it: it.fulfill(body=body, content_type="text/event-stream")
    )
    open_at(page, server, "ask?q=what about zzxxqq bikes")
    shown = page.get_by_role("article", name="Quotation 1")
    expect(shown).to_contain_text("owner: the fleet lead")
    expect(shown).to_contain_text("properties")
    expect(shown.locator("hr, h2")).to_have_count(0)
    expect(page.get_by_text("No text here has: zzxxqq.")).to_be_visible()
    expect(page.get_by_text("These are the nearest passages")).to_be_visible()


def test_a_hit_whose_heading_alone_has_the_word_opens_at_its_place(
    server: WikiServer, page: Page
) -> None:
    open_at(page, server, "search?q=battery quarantine&mode=words")
    page.locator("[data-hit]").filter(has_text="Battery incident").click()
    found = page.locator(".prose .found")
    expect(found.first).to_be_in_viewport()
    expect(found.filter(has_text="steel box")).to_have_count(1)
    expect(page.locator("mark").first).to_have_text("Quarantine")


def test_words_that_nothing_has_are_named(server: WikiServer, page: Page) -> None:
    open_at(page, server, "search?q=stolen bike zzxxqq")
    expect(page.get_by_text("No text here has: zzxxqq.")).to_be_visible()


def test_callouts_and_footnotes_are_drawn(server: WikiServer, page: Page) -> None:
    open_at(page, server, f"read?source={SOURCE}&key=marks.md")
    important = page.locator(".callout.warn").first
    expect(important.locator(".callout-name")).to_have_text("Important")
    expect(important.locator("p").last).to_have_text("First line.")
    folded = page.locator("details.callout")
    expect(folded.get_by_text("Hidden words.")).not_to_be_visible()
    folded.locator("summary", has_text="Folded name").click()
    expect(folded.get_by_text("Hidden words.")).to_be_visible()
    expect(page.locator(".footnote").first).to_contain_text("1 The first note.")
    page.locator("sup a").last.click()
    expect(page.locator("#fn-2")).to_contain_text("Because.")
    assert "at=fn-2" in page.url
    # The page without scripts has the same.
    plain = httpx.get(f"{server.url}/read/{SOURCE}/marks.md", trust_env=False).text
    for part in (
        '<p class="callout-name">Important</p>\n<p>First line.</p>',
        '<details class="callout good">\n<summary class="callout-name">Folded name</summary>',
        '<sup id="fnref-1"><a href="#fn-1">1</a></sup>',
        '<p class="footnote" id="fn-2"><sup>2</sup> Because. <a href="#fnref-2"',
    ):
        assert part in plain, plain


def test_an_html_file_is_read_rendered(server: WikiServer, page: Page) -> None:
    open_at(page, server, f"read?source={SOURCE}&key=rebase.html")
    text = page.locator("article .prose").last
    expect(text.get_by_role("heading", name="Options")).to_be_visible()
    expect(text.locator("strong")).to_have_text("NOTE")
    expect(text.locator("pre")).to_contain_text("git rebase")
    expect(text).not_to_contain_text("**")
    expect(text.get_by_role("link", name="others")).to_have_attribute("href", LINKED)


def test_right_to_left_text_begins_at_the_right(server: WikiServer, page: Page) -> None:
    open_at(page, server, f"read?source={SOURCE}&key=arabic.md")
    text = page.locator("article .prose p").last
    expect(text).to_be_visible()
    direction = text.evaluate("it => getComputedStyle(it.closest('.prose')).direction")
    assert direction == "rtl"


def test_documents_are_named_as_the_reader_names_them(server: WikiServer, page: Page) -> None:
    open_at(page, server, f"read?source={SOURCE}&key=long-ledger.md")
    expect(page.get_by_role("heading", name="The long ledger")).to_be_visible()
    open_at(page, server, "")
    recent = page.get_by_role("table")
    expect(recent.get_by_role("link", name="The long ledger")).to_be_visible()
    expect(recent).not_to_contain_text("templates/")
    opened = page.get_by_role("region", name="You opened")
    expect(opened.get_by_role("link", name="The long ledger")).to_be_visible()


def test_a_template_is_filled_by_the_server(server: WikiServer, page: Page) -> None:
    open_at(page, server, f"new?space={SPACE}")
    page.get_by_label("Title").fill("Kick-off: “Größe”")
    page.get_by_label("Template").select_option("meeting")
    page.get_by_label("Guests").fill("two")
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_role("textbox", name="Source of")).to_be_visible()
    (made,) = (it for it in server.folder.glob("kick-off*.md"))
    text = made.read_text()
    assert '"Kick-off: “Größe”"' in text or "'Kick-off: “Größe”'" in text, text
    assert "{{" not in text


def test_keys_work_after_a_click_on_a_filter(server: WikiServer, page: Page) -> None:
    open_at(page, server, "search?q=stolen bike")
    expect(page.locator("[data-hit]").first).to_be_visible()
    page.get_by_role("radio", name="Past month").check()
    expect(page.locator("[data-hit]").first).to_be_visible()
    page.keyboard.press("j")
    expect(page.locator("[data-hit]").first).to_be_focused()
    page.get_by_role("radio", name="Any time").check()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()


def test_a_dialog_begins_at_its_first_field(server: WikiServer, page: Page) -> None:
    server.sign_in(page)
    open_at(page, server, "tokens")
    page.get_by_role("button", name="Make a token").first.click()
    page.keyboard.type("two words")
    dialog = page.get_by_role("dialog", name="Make a token")
    expect(dialog.get_by_role("textbox").first).to_have_value("two words")


def test_health_does_not_say_that_everything_works_without_a_server(
    server: WikiServer, page: Page
) -> None:
    page.clock.install()
    open_at(page, server, "health")
    verdict = page.locator(".page-head [role=status]")
    expect(verdict).to_contain_text("Everything works")
    page.route("**/readyz", lambda it: it.abort())
    page.clock.run_for(11_000)
    expect(verdict).to_have_text("The server does not answer")
