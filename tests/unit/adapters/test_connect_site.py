"""A site as a source: links and sitemaps are followed, robots.txt obeyed, the site never left."""

import pytest
from anyio.abc import ByteStream

from pecia.adapters.connectors.filesystem.scan import FileSelection
from pecia.adapters.connectors.web import CrawlLimits, WebConnector
from pecia.adapters.http.egress_rules import EgressRules
from pecia.adapters.http.fetch import Fetcher
from pecia.adapters.http.guard import EgressGuard
from pecia.kernel.corpus.connector import ListedFile, SkippedFile
from pecia.kernel.errors import NotFound, PayloadTooLarge, UpstreamError
from tests.unit.adapters.loopback import ReceivedRequest, Server, serving

pytestmark = pytest.mark.anyio

HTML = "text/html; charset=iso-8859-2"
PAGES = {
    "/robots.txt": "User-agent: *\nDisallow: /private/\n",
    "/sitemap.xml": "<urlset><url><loc>/mapped</loc></url></urlset>",
    "/": '<a href="/a#part">a</a> <a href="/private/x">x</a> <a href="https://example.org/">o</a>',
    "/a": '<a href="/">home</a> <a href="/a">self</a> <a href="/gone">gone</a>',
    "/mapped": "only the sitemap knows it",
}


async def answer(asked: ReceivedRequest, stream: ByteStream) -> None:
    body = PAGES.get(asked.path)
    status = "200 OK" if body is not None else "404 Not Found"
    content = (body or "nothing").encode()
    head = f"HTTP/1.1 {status}\r\ncontent-type: {HTML}\r\ncontent-length: {len(content)}\r\n\r\n"
    await stream.send(head.encode() + content)


async def broken(asked: ReceivedRequest, stream: ByteStream) -> None:
    await stream.send(b"HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n")


def fetcher(server: Server) -> Fetcher:
    rules = server.trusting_loopback
    ports = rules.ports | {server.port}
    return Fetcher(EgressGuard(EgressRules(rules.schemes, ports, rules.hosts, rules.networks)))


def site(server: Server, fetching: Fetcher, **limits: int) -> WebConnector:
    return WebConnector(
        server.url("/"), fetching, FileSelection(), CrawlLimits(pause_s=0, **limits)
    )


async def test_every_page_of_the_site_is_met_once_and_the_rest_is_passed_with_a_reason() -> None:
    async with serving(answer) as server, fetcher(server) as fetching:
        listed = [it async for it in site(server, fetching).listing()]
    assert sorted(it.key for it in listed if isinstance(it, ListedFile)) == ["/", "/a", "/mapped"]
    passed = {it.key: it.reason for it in listed if isinstance(it, SkippedFile)}
    assert passed == {
        "/private/x": "robots.txt forbids it",
        "/gone": "the server answers 404",
    }


async def test_the_limit_of_pages_is_told() -> None:
    async with serving(answer) as server, fetcher(server) as fetching:
        listed = [it async for it in site(server, fetching, pages=1).listing()]
    assert [type(it) for it in listed] == [ListedFile, SkippedFile]


async def test_a_page_is_opened_and_one_that_went_or_is_too_large_says_so() -> None:
    async with serving(answer) as server, fetcher(server) as fetching:
        place = site(server, fetching)
        async with place.opening("/a", 10_000) as original:
            assert original.path.read_text() == PAGES["/a"]
            # With its charset, which nothing else may tell.
            assert original.content_type == "text/html; charset=iso-8859-2"
        with pytest.raises(NotFound):
            async with place.opening("/gone", 10_000):
                pass
        with pytest.raises(PayloadTooLarge):
            async with place.opening("/a", 10):
                pass


async def test_a_site_that_cannot_say_what_it_allows_is_not_crawled() -> None:
    async with serving(broken) as server, fetcher(server) as fetching:
        with pytest.raises(UpstreamError, match=r"robots\.txt"):
            await anext(site(server, fetching).listing())


async def test_a_site_that_lies_about_times_and_addresses_is_crawled_all_the_same() -> None:
    pages = {
        "/robots.txt": "User-agent: *\n",
        "/sitemap.xml": "<urlset><loc>http://[bad/</loc><loc>/good</loc></urlset>",
        "/": '<base href="http://[bad"><a href="/a">a</a><a href="http://[bad/">b</a>',
        "/a": "plain",
    }

    async def odd(asked: ReceivedRequest, stream: ByteStream) -> None:
        body = pages.get(asked.path, "").encode()
        status = b"200 OK" if body else b"404 Not Found"
        head = b"content-type: text/html\r\nlast-modified: Fri, 31 Dec 9999 23:59:59 -2300\r\n"
        length = b"content-length: %d\r\n\r\n" % len(body)
        await stream.send(b"HTTP/1.1 " + status + b"\r\n" + head + length + body)

    async with serving(odd) as server, fetcher(server) as fetching:
        listed = [it async for it in site(server, fetching).listing()]
    seen = {it.key: it.modified_at for it in listed if isinstance(it, ListedFile)}
    assert seen == {"/": None, "/a": None}
