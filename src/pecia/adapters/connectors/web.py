"""The web connector: crawls one site by links and sitemaps.

It stays on its origin, obeys robots.txt, and requests one page at a time. Responses are bounded and
not trusted: a page that never ends, lies or loops costs itself alone.
"""

import zlib
from base64 import b64encode
from collections import deque
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit, urlunsplit
from urllib.robotparser import RobotFileParser

import anyio
from anyio.to_thread import run_sync
from pydantic import Field

from pecia.adapters.connectors.access import file_selection, open_fetcher, require_reachable
from pecia.adapters.connectors.filesystem.scan import FileSelection
from pecia.adapters.connectors.filesystem.temp_file import temp_file
from pecia.adapters.http.egress_rules import validate_url
from pecia.adapters.http.html_links import parse_links, parse_sitemap
from pecia.adapters.http.response import FetchResponse, HttpFetchLimits
from pecia.adapters.http.url import require_no_key, split_url, without_login
from pecia.kernel.corpus.connector import (
    ListedFile,
    ListingEntry,
    OriginalFile,
    SkippedFile,
    is_storable_key,
)
from pecia.kernel.corpus.connector_kind import (
    ConnectorContext,
    ConnectorKind,
    CredentialFormat,
    OriginOptions,
    SourceLogin,
    SourceOrigin,
)
from pecia.kernel.errors import InvalidFormat, NotFound, PeciaError, Timeout, UpstreamError
from pecia.kernel.redaction.url import drop_secret_parameters

if TYPE_CHECKING:
    from pecia.adapters.http.fetch import Fetcher

USER_AGENT = "pecia"
MAX_SITEMAPS = 50
MAX_SITEMAP_BYTES = 10_000_000


@dataclass(frozen=True, slots=True)
class CrawlLimits:
    """`pause_s` is between two requests; robots.txt can make it longer, up to `longest_pause_s`."""

    pages: int = 10_000
    depth: int = 20
    page_bytes: int = 20_000_000
    page_s: float = 30
    pause_s: float = 0.1
    max_pause_s: float = 10


@dataclass(frozen=True, slots=True)
class WebConnector:
    """One site. A key is a page's path and query, from the slash on."""

    start: str
    fetcher: "Fetcher"
    selection: FileSelection
    limits: CrawlLimits = field(default_factory=CrawlLimits)
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """Sent with every request, to this site alone."""
    pacer: "_RequestPacer" = field(default_factory=lambda: _RequestPacer())

    async def listing(self) -> AsyncGenerator[ListingEntry]:
        """Every page within the limits, once. Reaching the limits is reported too."""
        rules = await self._fetch_robots()
        walk = _Frontier(_normalize_url(self.start))
        mapped, unread = await self._read_sitemaps(rules)
        for it in unread:
            yield it
        for url in mapped:
            walk.add(url, 1)
        self.pacer.pause_s = min(float(rules.crawl_delay(USER_AGENT) or 0), self.limits.max_pause_s)
        seen = 0
        while walk.queue:
            url, depth = walk.queue.popleft()
            if seen >= self.limits.pages:
                yield SkippedFile(_key(url), f"{self.limits.pages} pages are read at most")
                return
            if not rules.can_fetch(USER_AGENT, url):
                found, links = SkippedFile(_key(url), "robots.txt forbids it"), list[str]()
            else:
                found, links = await self._page(url)
            if depth == 0 and isinstance(found, SkippedFile) and not links:
                # Without its first page a site is out of reach, not empty.
                raise UpstreamError(f"the page it begins with cannot be read: {found.reason}")
            if isinstance(found, SkippedFile) or self._is_selected(found.key):
                seen += isinstance(found, ListedFile)
                yield found
            if depth < self.limits.depth:
                for link in links:
                    walk.add(link, depth + 1)

    @asynccontextmanager
    async def opening(self, key: str, most_bytes: int) -> AsyncGenerator[OriginalFile]:
        async with temp_file() as path:
            content_type = await self._download(urljoin(self.start, key), path, most_bytes)
            yield OriginalFile(path, content_type)

    def _is_selected(self, key: str) -> bool:
        return self.selection.admits(key.partition("?")[0].strip("/") or "index")

    async def _page(self, url: str) -> tuple[ListingEntry, list[str]]:
        key = _key(url)
        if not is_storable_key(key):
            return SkippedFile(key[:200], "the address is too long", is_failure=True), []
        try:
            page = await self._fetch(url)
        except (Timeout, UpstreamError) as error:
            return SkippedFile(key, str(error), unsure=True), []
        except PeciaError as error:
            return SkippedFile(key, str(error)), []
        # A redirect that leaves the site leads out of the source; one that stays is another page.
        if _origin(page.url) != _origin(self.start):
            return SkippedFile(key, "it redirects to another site"), []
        if page.status != 200:
            unsure = page.status == 429 or page.status >= 500
            return SkippedFile(key, f"the server answers {page.status}", unsure=unsure), []
        if page.hops:
            return SkippedFile(key, f"it redirects to {_key(_normalize_url(page.url))}"), [
                _normalize_url(page.url)
            ]
        links = await run_sync(_links, page) if _is_html(page) else []
        return _to_entry(key, page), [it for it in links if _origin(it) == _origin(self.start)]

    async def _fetch(self, url: str, most_bytes: int | None = None) -> FetchResponse:
        limits = HttpFetchLimits(
            max_bytes=most_bytes or self.limits.page_bytes, timeout_s=self.limits.page_s
        )
        async with self.pacer.wait_turn(self.limits.pause_s):
            return await self.fetcher.fetch(url, headers=self.headers, limits=limits)

    async def _fetch_robots(self) -> RobotFileParser:
        rules = RobotFileParser()
        try:
            found = await self._fetch(urljoin(self.start, "/robots.txt"))
        except UpstreamError:
            found = None
        if found is None or found.status >= 500:
            # A site that cannot say what it allows is not to be crawled now.
            raise UpstreamError("robots.txt cannot be read just now")
        text = found.body.decode("utf-8", "replace") if found.status == 200 else ""
        rules.parse(text.splitlines()[:10_000])
        return rules

    async def _read_sitemaps(self, rules: RobotFileParser) -> tuple[list[str], list[SkippedFile]]:
        """What the sitemaps name, on this site; and which of them could not be read."""
        waiting = deque(rules.site_maps() or [urljoin(self.start, "/sitemap.xml")])
        done: set[str] = set()
        found: dict[str, None] = {}
        unread: list[SkippedFile] = []
        while waiting and len(done) < MAX_SITEMAPS and len(found) < self.limits.pages:
            url = waiting.popleft()
            if url in done or _origin(url) != _origin(self.start):
                continue
            done.add(url)
            try:
                text = await self._fetch_sitemap(url)
            except PeciaError as error:
                unread.append(SkippedFile(_key(url), f"the sitemap cannot be read: {error}"))
                continue
            named = await run_sync(parse_sitemap, text)
            urls = [it for link in named for it in _resolve_link(url, link)]
            if "<sitemapindex" in text:
                waiting.extend(urls)
            else:
                found |= dict.fromkeys(it for it in urls if _origin(it) == _origin(self.start))
        return [*found], unread

    async def _fetch_sitemap(self, url: str) -> str:
        page = await self._fetch(url, MAX_SITEMAP_BYTES)
        return await run_sync(_gunzip, page.body) if page.status == 200 else ""

    async def _download(self, url: str, to: Path, most_bytes: int) -> str | None:
        limits = HttpFetchLimits(max_bytes=most_bytes, timeout_s=self.limits.page_s)
        async with (
            self.pacer.wait_turn(self.limits.pause_s),
            self.fetcher.open(url, headers=self.headers, limits=limits) as incoming,
        ):
            if incoming.status in (404, 410) or _origin(incoming.url) != _origin(self.start):
                raise NotFound("the page is gone")
            if incoming.status != 200:
                raise UpstreamError(f"the server answers {incoming.status}")
            with to.open("wb") as file:
                async for chunk in incoming.chunks():
                    file.write(chunk)
        # The whole header: it may be the only place that names the charset.
        return incoming.headers.get("content-type", "").strip() or None


@dataclass(slots=True)
class _RequestPacer:
    """One request at a time, with a delay after each, longer if robots.txt says so."""

    pause_s: float = 0
    lock: anyio.Lock = field(default_factory=anyio.Lock)

    @asynccontextmanager
    async def wait_turn(self, least_s: float) -> AsyncGenerator[None]:
        async with self.lock:
            try:
                yield
            finally:
                await anyio.sleep(max(self.pause_s, least_s))


@dataclass(slots=True)
class _Frontier:
    """The crawl frontier: each page once, breadth first."""

    start: str
    queue: deque[tuple[str, int]] = field(default_factory=deque[tuple[str, int]])
    visited: set[bytes] = field(default_factory=set[bytes])

    def __post_init__(self) -> None:
        self.add(self.start, 0)

    def add(self, url: str, depth: int) -> None:
        mark = sha256(url.encode("utf-8", "replace")).digest()[:8]
        if mark not in self.visited:
            self.visited.add(mark)
            self.queue.append((url, depth))


def _links(page: FetchResponse) -> list[str]:
    read = parse_links(page.body.decode("utf-8", "replace"))
    [base] = [*_resolve_link(page.url, read.base)] or [page.url]
    return list(dict.fromkeys(it for link in read.hrefs for it in _resolve_link(base, link)))


def _resolve_link(base: str, link: str) -> Iterator[str]:
    try:
        url = urljoin(base, link.strip())
        if urlsplit(url).scheme in ("http", "https"):
            yield _normalize_url(url)
    except ValueError:
        # An address that is none leads nowhere.
        return


def _normalize_url(url: str) -> str:
    """Without the fragment, and with a path: two spellings of one page are one page. Without keys
    in the query, which would be stored with the page's address."""
    parts = urlsplit(url)
    query = drop_secret_parameters(parts.query)
    return urlunsplit((parts.scheme, parts.netloc.lower(), parts.path or "/", query, ""))


def _key(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"


def _origin(url: str) -> tuple[str, str]:
    try:
        parts = urlsplit(url)
        return parts.scheme, parts.netloc.lower()
    except ValueError:
        return "", url


def _is_html(page: FetchResponse) -> bool:
    kind = page.headers.get("content-type", "text/html").partition(";")[0].strip().lower()
    return kind in ("text/html", "application/xhtml+xml")


def _to_entry(key: str, page: FetchResponse) -> ListedFile:
    digest = sha256(page.body).hexdigest()[:32]
    return ListedFile(
        key,
        stamp=digest,
        size_bytes=len(page.body),
        modified_at=_parse_time(page.headers.get("last-modified")),
        content_type=page.headers.get("content-type", "").partition(";")[0].strip() or None,
    )


def _parse_time(text: str | None) -> datetime | None:
    try:
        found = parsedate_to_datetime(text) if text else None
        return found.astimezone(UTC) if found else None
    except (ValueError, OverflowError):
        # At the edge of time another zone has no name for the moment.
        return None


def _gunzip(body: bytes) -> str:
    if body.startswith(b"\x1f\x8b"):
        try:
            body = zlib.decompressobj(31).decompress(body, MAX_SITEMAP_BYTES)
        except zlib.error:
            return ""
    return body.decode("utf-8", "replace")


class WebOrigin(SourceOrigin):
    """Pages of one site."""

    url: str
    most_pages: int = Field(default=10_000, ge=1, le=1_000_000)
    depth: int = Field(default=20, ge=0, le=1000)


class WebOptions(OriginOptions):
    web: str | None = Field(default=None, max_length=2000, description="The start page of a site.")

    def build_origin(self, source_id: str) -> WebOrigin:
        url = self.web or ""
        parts = split_url(url)
        is_page = parts.scheme in ("http", "https") and parts.hostname
        if not is_page or parts.username is not None:
            raise InvalidFormat(
                'Field "web" must be the URL of a page, without a user in it',
                field="web",
                got=without_login(url),
                expected="https://HOST/PATH",
                hint="a password is kept sealed: pecia source credential",
            )
        validate_url(url, field="web")
        require_no_key(url, field="web", source_id=source_id)
        return WebOrigin(url=url)


async def check_site(origin: WebOrigin, context: ConnectorContext) -> None:
    require_reachable(context, origin.url, field="web")


@asynccontextmanager
async def open_site(origin: WebOrigin, context: ConnectorContext) -> AsyncGenerator[WebConnector]:
    fetch = context.fetch
    limits = CrawlLimits(
        origin.most_pages, origin.depth, context.most_bytes, fetch.timeout_s, fetch.pause_s
    )
    async with open_fetcher(context) as fetcher:
        yield WebConnector(
            origin.url, fetcher, file_selection(context), limits, _authorization(context.login)
        )


def _authorization(login: SourceLogin | None) -> dict[str, str]:
    if login is None:
        return {}
    secret = login.secret
    if login.user == "Basic":
        secret = b64encode(secret.encode()).decode()
    return {"authorization": f"{login.user} {secret}"}


def parse_authorization(text: str) -> SourceLogin | None:
    scheme, _, rest = text.partition(" ")
    if scheme == "Bearer" or (scheme == "Basic" and ":" in rest):
        return SourceLogin(scheme, rest)
    return None


WEB = ConnectorKind(
    "web",
    "Pages of one site, by links and sitemaps.",
    WebOrigin,
    open_site,
    options=WebOptions,
    credential=CredentialFormat("Bearer TOKEN, or Basic USER:PASSWORD", parse_authorization),
    check=check_site,
    has_absolute_keys=True,
)
