"""Files that are no documents, as the reader shows them: tables, pictures, recordings."""

import base64
import wave
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.web.conftest import Installed
from tests.web.lake_server import until
from tests.web.wiki_server import SPACE, WikiServer, serve_wiki

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

SOURCE = f"wiki:{SPACE}"
PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg"
    "=="
)
NAVIGATED = """<html><head><title>Moorings</title></head><body>
<table><tr><td><a href="ch1.html"><img src="images/prev.png" alt="Back"></a></td>
<td>Moorings of capstan (old)</td>
<td><a href="ch3.html"><img src="images/prev.png" alt="On"></a></td></tr></table>
<h1>Moorings</h1><p>A capstan winds the mooring. See
<a href="https://example.org/wiki/Capstan_(machine)">the capstan article</a>.</p></body></html>
"""
STOCK = "part,shelf,pieces\nFairlead,A 3,12\nCleat <b>brass</b>,B 1,40\n"


@pytest.fixture(scope="module")
def server(installed: Installed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WikiServer]:
    with serve_wiki(tmp_path_factory.mktemp("kinds"), installed) as it:
        it.write("moorings.html", NAVIGATED)
        it.write("stock.csv", STOCK)
        it.write("rope.md", "# Ropes\n\nSee [the stock](stock.csv) and *never* cut one.\n")
        it.write("deck.md", "# Deck\n\nMind [[rope]] and [moorings](moorings.html).\n")
        (it.folder / "photo.png").write_bytes(base64.b64decode(PIXEL))
        write_tone(it.folder / "bell.wav")
        for word in ("capstan", "fairlead"):
            until(lambda word=word: has_hits(it, word) or None)
        for key in ("photo.png", "bell.wav"):
            until(lambda key=key: is_unread(it, key) or None)
        yield it


def open_at(page: Page, server: WikiServer, at: str) -> None:
    page.goto(f"{server.url}/console/#/{at}")


def has_hits(server: WikiServer, query: str) -> bool:
    return bool(server.call("lake/search_content", query=query, mode="lexical")["hits"])


def write_tone(path: Path) -> None:
    """A second of silence."""
    with wave.open(str(path), "wb") as it:
        it.setnchannels(1)
        it.setsampwidth(1)
        it.setframerate(8_000)
        it.writeframes(bytes([128]) * 8_000)


def is_unread(server: WikiServer, key: str) -> bool:
    """Whether it was looked at and has no text."""
    listed = server.call("lake/list_files", source_id=SOURCE, limit=200)["files"]
    if key not in [it["key"] for it in listed]:
        return False
    return server.call("lake/get_file_window", source_id=SOURCE, key=key)["status"] != "ok"


def test_a_table_file_is_read_as_a_table(server: WikiServer, page: Page) -> None:
    open_at(page, server, f"read?source={SOURCE}&key=stock.csv")
    table = page.locator("article .prose table")
    expect(table.get_by_role("cell", name="Fairlead")).to_be_visible()
    expect(table.get_by_role("columnheader", name="pieces")).to_be_visible()
    expect(page.locator("article .prose").last).not_to_contain_text("|")


def test_a_picture_without_text_is_shown(server: WikiServer, page: Page) -> None:
    open_at(page, server, f"read?source={SOURCE}&key=photo.png")
    picture = page.get_by_role("img", name="photo.png")
    expect(picture).to_be_visible()
    expect(picture).to_have_js_property("naturalWidth", 1)


def test_a_recording_without_a_transcript_is_played(server: WikiServer, page: Page) -> None:
    open_at(page, server, f"read?source={SOURCE}&key=bell.wav")
    player = page.locator("audio")
    expect(player).to_be_visible()
    expect(player).to_have_js_property("duration", 1)


def test_a_passage_shows_no_markup_of_its_links(server: WikiServer, page: Page) -> None:
    open_at(page, server, "search?q=capstan")
    hit = page.locator("article.hit").filter(has_text="Moorings").first
    expect(hit.locator(".passage").first).to_be_visible()
    for it in hit.locator(".passage").all_inner_texts():
        assert "](" not in it, it


def test_a_picture_that_is_missing_is_asked_for_once(server: WikiServer, page: Page) -> None:
    asked: list[str] = []
    page.on("request", lambda it: asked.append(it.url) if "/wiki/asset" in it.url else None)
    server.sign_in(page)
    open_at(page, server, f"read?source={SOURCE}&key=moorings.html")
    expect(page.get_by_role("link", name="[On]")).to_be_visible()
    expect(page.get_by_role("link", name="[Back]")).to_be_visible()
    assert len(asked) == 1


def test_a_preview_shows_words_of_documents_and_of_other_files(
    server: WikiServer, page: Page
) -> None:
    open_at(page, server, f"read?source={SOURCE}&key=deck.md")
    text = page.locator("article .prose").last
    text.get_by_role("link", name="Ropes").hover()
    expect(page.get_by_role("tooltip")).to_contain_text("See the stock and never cut one.")
    text.get_by_role("link", name="moorings").hover()
    expect(page.get_by_role("tooltip")).to_contain_text("A capstan winds the mooring.")
