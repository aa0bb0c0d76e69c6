"""Links of pages and sitemaps: what is written there, in time that grows with the page alone."""

import pytest

from pecia.adapters.http.html_links import parse_links, parse_sitemap

MANY = 100_000


def test_links_are_read_however_they_are_written() -> None:
    page = """<base href="/b/"><a href="x&amp;y">1</a><A class=q HREF='z'>2</A><a id=i href=bare/>3
    <a
    href = "two words">4</a><a name="anchor">none</a><abbr href="no">5</abbr>"""
    assert parse_links(page).base == "/b/"
    assert parse_links(page).hrefs == ["x&y", "z", "bare/", "two words"]


def test_what_is_no_link_of_the_page_is_not_followed() -> None:
    page = """<!-- <a href="comment"> --><script>"<a href='script'>"</SCRIPT>
    <style><a href="s"></style>
    <title><a href="title"></title><a rel="ugc nofollow" href="n">x</a><a href="yes">y</a>
    <!-- never closed <a href="lost">"""
    assert parse_links(page).hrefs == ["yes"]


@pytest.mark.parametrize(
    "piece",
    ["<!--", "<a ", '<a href="', "<a b='", "<a x", "<", "<!", "<script>", '<a x=" y=', "&#"],
)
def test_a_page_of_beginnings_without_an_end_is_read_through(piece: str) -> None:
    """A parser that looks for each end anew would take hours."""
    found = parse_links('<a href="/first">' + piece * MANY).hrefs
    assert found[0] == "/first"


def test_locations_of_a_sitemap_are_read_with_and_without_a_prefix_or_a_section() -> None:
    text = "<urlset><loc> /a?b&amp;c\n</loc><sm:loc><![CDATA[http://x/y]]></sm:loc><loc></loc>"
    assert parse_sitemap(text) == ["/a?b&c", "http://x/y"]


@pytest.mark.parametrize("piece", ["<loc>", "<loc> \n", "<loc><![CDATA[", "<x:loc"])
def test_a_sitemap_of_beginnings_without_an_end_is_read_through(piece: str) -> None:
    assert parse_sitemap("<loc>/first</loc>" + piece * MANY)[0] == "/first"
