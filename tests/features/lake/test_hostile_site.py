"""A site that means harm: every page ends with a reason, and the rest of the crawl goes on."""

import gzip
import time
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import urlsplit

import psutil
import pytest

from pecia.app.app import SETTINGS, App, open_app
from pecia.kernel.identity.caller import Caller
from pecia.kernel.jobs.worker import run_until_idle
from pecia.kernel.settings.load import load_settings
from pecia.kernel.store.cluster import DatabaseLogins
from tests.conftest import CONTEXT, House, house_flags, no_fetch
from tests.features.lake.conftest import Lake
from tests.origin_servers import Answer, served

pytestmark = pytest.mark.anyio

MOST_BYTES = 300_000
HTML = {"Content-Type": "text/html; charset=utf-8"}
GOOD = {f"/good/{it}": f"<title>Good {it}</title><p>The heron number {it}.</p>" for it in range(3)}

Trick: TypeAlias = Callable[[BaseHTTPRequestHandler], Answer | None]


def redirect(where: str) -> Trick:
    return lambda _: Answer(302, b"", {"Location": where})


def raw(*pieces: bytes, endless: bytes = b"", every_s: float = 0.0) -> Trick:
    """These bytes and nothing else; then, if endless, those for as long as anybody listens."""

    def answer(request: BaseHTTPRequestHandler) -> None:
        request.close_connection = True
        for piece in pieces:
            request.wfile.write(piece)
        while endless:
            request.wfile.write(endless)
            request.wfile.flush()
            time.sleep(every_s)

    return answer


def body(content: bytes, **headers: str) -> Trick:
    return lambda _: Answer(
        200, content, {**HTML, **{k.replace("_", "-"): v for k, v in headers.items()}}
    )


OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
BOMB = gzip.compress(bytes(50_000_000))

# Each with a part of the reason that it must end with.
TRICKS: dict[str, tuple[Trick, str]] = {
    "/inward": (redirect("http://169.254.169.254/latest/meta-data/"), "refused"),
    "/inner-port": (redirect("http://127.0.0.1:9/"), "refused"),
    "/elsewhere": (redirect("http://localhost:9/"), "refused"),
    "/file": (redirect("file:///etc/passwd"), "not an absolute URL"),
    "/loop": (redirect("/loop"), "redirects"),
    "/ping": (redirect("/pong"), "redirects"),
    "/pong": (redirect("/ping"), "redirects"),
    "/drip": (raw(OK, b"\r\n", endless=b"x", every_s=0.02), "in time"),
    "/silent": (raw(endless=b"", every_s=0.0), "failed"),
    "/short": (raw(OK, b"Content-Length: 1000\r\n\r\n", b"only this"), "failed"),
    "/cut": (raw(OK, b"Transfer-Encoding: chunked\r\n\r\n", b"ff\r\nabc"), "failed"),
    "/nonsense": (raw(b"this is no HTTP at all\r\n\r\n"), "failed"),
    "/headers": (raw(b"HTTP/1.1 200 OK\r\n", endless=b"X-A: " + b"a" * 5000 + b"\r\n"), "failed"),
    "/endless": (raw(OK, b"\r\n", endless=b"y" * 10_000), "larger than"),
    "/endless.xml": (raw(OK, b"\r\n", endless=b"<url><loc>/a</loc></url>" * 999), "sitemap"),
    "/bomb": (body(BOMB, Content_Encoding="gzip"), "larger than"),
    "/not-gzip": (body(b"plain", Content_Encoding="gzip"), "not gzip"),
    "/strange": (body(b"plain", Content_Encoding="br"), "encoded as"),
    "/gone": (lambda _: Answer(410), "answers 410"),
    "/broken": (lambda _: Answer(500), "answers 500"),
    "/private/secret": (body(b"<p>The heron hides here.</p>"), "robots.txt"),
}

# Odd, but to be read.
ODD: dict[str, tuple[Trick, str]] = {
    "/latin": (body("<p>caf\xe9 otter</p>".encode("latin-1")), "ok"),
    "/utf16": (body("<p>lantern</p>".encode("utf-16")), "ok"),
    "/long": (
        raw(OK, b"Content-Length: 20\r\n\r\n", b"<p>harbour words</p>", b"<p>more</p>"),
        "ok",
    ),
    "/empty": (body(b""), "empty"),
    "/deep": (body(b"<div>" * 20_000 + b"meadow" + b"</div>" * 20_000), "ok"),
    "/noise": (body(bytes(range(256)) * 40, Content_Type="text/html"), "unsupported"),
}


@dataclass
class Villain:
    """Pages, tricks, and lists that lead nowhere."""

    asked: int = 0

    def __call__(self, request: BaseHTTPRequestHandler) -> Answer | None:
        self.asked += 1
        path = request.path
        if path == "/robots.txt":
            rules = b"User-agent: *\nDisallow: /private/\nCrawl-delay: nonsense\n" * 50
            maps = b"Sitemap: %s/sitemap.xml\nSitemap: %s/endless.xml\n"
            here = f"http://{request.headers['host']}".encode()
            return Answer(200, rules + maps % (here, here))
        if path == "/sitemap.xml":
            return Answer(200, b"<urlset>" + b"<url><loc>/mapped</loc></url>" * 20_000)
        if path == "/":
            return Answer(200, self._home().encode(), HTML)
        if path == "/mapped" or path in GOOD:
            return Answer(200, GOOD.get(path, "<p>willow</p>").encode(), HTML)
        trick = TRICKS.get(path) or ODD.get(path)
        return trick[0](request) if trick else Answer(404)

    def _home(self) -> str:
        links = [
            *(it for it in TRICKS if it != "/endless.xml"),
            *GOOD,
            *ODD,
            "javascript:alert(1)",
            "//[bad",
            "http://%%%/",
            "/" + "x" * 3000,
        ]
        return "<title>Home</title>" + "".join(f'<a href="{it}">x</a>' for it in links)


@pytest.fixture
async def lake(database: DatabaseLogins, tmp_path: Path) -> AsyncGenerator[Lake]:
    with served(Villain()) as url:
        flags = {
            **house_flags(database, tmp_path / "home"),
            "lake.trusted_hosts": urlsplit(url).netloc,
            "lake.page_timeout_s": "1",
            "lake.page_pause_s": "0.001",
        }
        settings = load_settings(
            SETTINGS, flags=flags, environ={}, project_file=None, user_file=None
        )
        async with open_app(settings, fetch=no_fetch, report=lambda _: None) as app:
            ana = await app.authenticate(None, CONTEXT)
            assert isinstance(ana, Caller)
            lake = Lake(House(app, ana, ana, ""), tmp_path)
            asked = {"source_id": "site", "web": f"{url}/", "most_bytes": MOST_BYTES}
            await lake.house.call(ana, "add_source", trim_mode="open", **asked)
            yield lake


async def test_every_page_ends_in_a_status_with_a_reason_and_the_rest_is_found(lake: Lake) -> None:
    before = psutil.Process().memory_info().rss
    status = await lake.crawl("site")
    assert status["state"] == "done"
    assert psutil.Process().memory_info().rss - before < 150_000_000
    reasons = await passed(lake.house.app)
    for path, (_, reason) in TRICKS.items():
        assert reason in reasons.get(path, "nothing was said"), (path, reasons.get(path))
    assert "too long" in reasons["/" + "x" * 199]
    read = await statuses(lake)
    for path, (_, expected) in ODD.items():
        assert read.get(path) == expected, (path, read.get(path))
    found = await lake.search("heron", mode="lexical", source_id="site", limit=50)
    assert {it["key"] for it in found["hits"]} == {*GOOD}
    for word, key in (("otter", "/latin"), ("lantern", "/utf16"), ("harbour", "/long")):
        found = await lake.search(word, mode="lexical", source_id="site")
        assert [it["key"] for it in found["hits"]] == [key]
    assert {*read} == {"/", "/mapped", *GOOD, *ODD}


async def passed(app: App) -> dict[str, str]:
    async with app.store.system() as tx:
        row = await tx.fetch_one("SELECT passed FROM lake.crawl WHERE source_id = 'site'", "none")
    return {it["key"]: it["reason"] for it in row["passed"]["first"]}


async def statuses(lake: Lake) -> dict[str, Any]:
    async with lake.house.app.store.system() as tx:
        rows = await tx.fetch_all("SELECT key, status, reason FROM kernel.file")
    assert all(it["reason"] for it in rows if it["status"] not in ("ok", "empty"))
    return {it["key"]: it["status"] for it in rows}


async def test_a_page_that_fails_for_the_moment_keeps_its_text(
    database: DatabaseLogins, tmp_path: Path
) -> None:
    pages: dict[str, Answer] = {
        "/": Answer(200, b'<a href="/a">a</a><a href="/b">b</a>', HTML),
        "/a": Answer(200, b'<p>heron</p><a href="/c">c</a>', HTML),
        "/b": Answer(200, b"<p>otter</p>", HTML),
        "/c": Answer(200, b"<p>lantern</p>", HTML),
    }
    with served(lambda request: pages.get(request.path, Answer(404))) as url:
        flags = {
            **house_flags(database, tmp_path / "home"),
            "lake.trusted_hosts": urlsplit(url).netloc,
            "lake.page_pause_s": "0.001",
        }
        settings = load_settings(
            SETTINGS, flags=flags, environ={}, project_file=None, user_file=None
        )
        async with open_app(settings, fetch=no_fetch, report=lambda _: None) as app:
            ana = await app.authenticate(None, CONTEXT)
            assert isinstance(ana, Caller)
            lake = Lake(House(app, ana, ana, ""), tmp_path)
            await lake.house.call(ana, "add_source", source_id="site", web=f"{url}/")
            assert (await lake.crawl("site"))["added"] == 4
            # One fails, what it alone led to is asked for by name, and what is gone is gone.
            pages["/a"] = Answer(503)
            del pages["/b"]
            again = await lake.crawl("site")
            assert (again["state"], again["gone"]) == ("done", 1)
            assert [*await statuses(lake)] == ["/", "/a", "/c"]
            pages["/"] = Answer(503)
            down = await lake.crawl("site")
            assert (down["state"], down["gone"]) == ("failed", 0)
            assert down["problem"].endswith("the server answers 503")
            await run_until_idle(app.store, app.jobs)
            assert [*await statuses(lake)] == ["/", "/a", "/c"]
