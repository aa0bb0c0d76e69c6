"""A bucket of a server that speaks S3 as a place that files come from.

Two requests are all it makes, to list and to get, over the one guarded way out. What the server
says is bounded and doubted: a list that never ends, or leads round, ends here.
"""

import re
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from mimetypes import guess_type
from urllib.parse import quote, unquote, urlencode, urlsplit
from xml.etree import ElementTree

from anyio.to_thread import run_sync

from pecia.adapters.connect.scratch import scratch
from pecia.adapters.connect.sign import Ask, Keys, quoted, signed
from pecia.adapters.http.fetch import Fetcher, Incoming, Limits
from pecia.adapters.scan import Selection
from pecia.kernel.corpus.connector import Listed, Original, Passed, Seen, is_keepable
from pecia.kernel.errors import NotFound, UpstreamError

MOST_OBJECTS = 10_000_000
PAGE_BYTES = 20_000_000
PAGE = 1000
# Of a whole object: a large one over a slow line takes its time, a drip does not go on for ever.
OBJECT_S = 600.0
NAMESPACE = "{http://s3.amazonaws.com/doc/2006-03-01/}"


@dataclass(frozen=True, slots=True)
class Address:
    """Where a bucket is. With `path_style` its name stands in the path, else before the host."""

    endpoint: str
    bucket: str
    prefix: str = ""
    region: str = "us-east-1"
    path_style: bool = True

    @property
    def host(self) -> str:
        host = urlsplit(self.endpoint).netloc
        return host if self.path_style else f"{self.bucket}.{host}"

    @property
    def folder(self) -> str:
        return f"{self.prefix.strip('/')}/" if self.prefix.strip("/") else ""

    def path(self, key: str = "") -> str:
        """The quoted path of an object, or of the bucket itself."""
        return quoted(f"/{self.bucket}/{key}" if self.path_style else f"/{key}")


@dataclass(frozen=True, slots=True)
class Bucket:
    """The objects below one prefix. Keys are counted from there. Without keys nothing is signed."""

    address: Address
    fetcher: Fetcher
    selection: Selection
    keys: Keys | None = field(default=None, repr=False)
    most_objects: int = MOST_OBJECTS

    async def listing(self) -> AsyncGenerator[Listed]:
        after, count = "", 0
        while True:
            page = await self._page(after)
            count += len(page.objects)
            if count > self.most_objects:
                raise UpstreamError(f"the bucket lists more than {self.most_objects} objects")
            for it in page.objects:
                if (listed := self._listed(it)) is not None:
                    yield listed
            if not page.following:
                return
            if page.following == after or not page.objects:
                raise UpstreamError("the bucket's list leads round in a circle")
            after = page.following

    @asynccontextmanager
    async def opening(self, key: str, most_bytes: int) -> AsyncGenerator[Original]:
        limits = Limits(max_bytes=most_bytes, timeout_s=OBJECT_S)
        async with scratch() as path:
            async with self._asked(self.address.folder + key, "", limits) as incoming:
                with path.open("wb") as file:
                    async for chunk in incoming.chunks():
                        await run_sync(file.write, chunk)
            yield Original(path, guess_type(key)[0])

    def _listed(self, it: "_Object") -> Listed | None:
        key = it.key.removeprefix(self.address.folder)
        if not it.key.startswith(self.address.folder) or not key or it.key.endswith("/"):
            # An object that stands for a folder holds nothing.
            return None
        if not self.selection.admits(key):
            return None
        if not is_keepable(key):
            return Passed(key[:200], "the key is too long")
        if not key.isprintable() or not {"", ".", ".."}.isdisjoint(key.split("/")):
            return Passed(ascii(key)[1:-1], "the key is no plain path")
        return Seen(
            key,
            stamp=it.stamp,
            size_bytes=it.size,
            modified_at=it.modified_at,
            content_type=guess_type(key)[0],
            storage_class=it.storage_class,
        )

    async def _page(self, after: str) -> "_Page":
        asked = {"encoding-type": "url", "list-type": "2", "max-keys": str(PAGE)}
        if self.address.folder:
            asked["prefix"] = self.address.folder
        if after:
            asked["continuation-token"] = after
        limits = Limits(max_bytes=PAGE_BYTES, timeout_s=60)
        query = urlencode(asked, quote_via=quote, safe="-._~")
        async with self._asked("", query, limits) as incoming:
            body = b"".join([chunk async for chunk in incoming.chunks()])
        return await run_sync(_page, body)

    @asynccontextmanager
    async def _asked(self, key: str, query: str, limits: Limits) -> AsyncGenerator[Incoming]:
        path = self.address.path(key)
        scheme = urlsplit(self.address.endpoint).scheme
        url = f"{scheme}://{self.address.host}{path}" + (f"?{query}" if query else "")
        headers = {"accept-encoding": "identity"}
        if self.keys is not None:
            ask = Ask("GET", self.address.host, path, query)
            headers |= signed(ask, self.keys, self.address.region, datetime.now(UTC))
        async with self.fetcher.open(url, headers=headers, limits=limits) as incoming:
            if incoming.status != 200:
                raise await _refusal(incoming)
            yield incoming


@dataclass(frozen=True, slots=True)
class _Object:
    key: str
    stamp: str
    size: int | None
    modified_at: datetime | None
    storage_class: str | None


@dataclass(frozen=True, slots=True)
class _Page:
    objects: tuple[_Object, ...]
    following: str


def _page(body: bytes) -> _Page:
    if b"<!DOCTYPE" in body[:1000] or b"<!ENTITY" in body:
        raise UpstreamError("the bucket's list is not what these servers send")
    try:
        root = ElementTree.fromstring(body)
    except ElementTree.ParseError:
        raise UpstreamError("the bucket's list cannot be read") from None
    objects = tuple(_objects(root, is_quoted=_text(root, "EncodingType") == "url"))
    more = _text(root, "IsTruncated") == "true"
    return _Page(objects, _text(root, "NextContinuationToken") if more else "")


def _objects(root: ElementTree.Element, *, is_quoted: bool) -> Iterator[_Object]:
    for it in [*root.iter(f"{NAMESPACE}Contents"), *root.iter("Contents")]:
        key, size = _text(it, "Key"), _text(it, "Size")
        etag, modified = _text(it, "ETag").strip('"'), _text(it, "LastModified")
        if key:
            yield _Object(
                unquote(key.replace("+", " ")) if is_quoted else key,
                # Some servers have no etag; then size and time must do.
                stamp=f"{etag or modified}-{size}",
                size=int(size) if size.isdecimal() else None,
                modified_at=_moment(modified),
                storage_class=_text(it, "StorageClass") or None,
            )


def _text(element: ElementTree.Element, name: str) -> str:
    found = element.find(f"{NAMESPACE}{name}")
    found = element.find(name) if found is None else found
    return (found.text or "").strip() if found is not None else ""


def _moment(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


async def _refusal(incoming: Incoming) -> NotFound | UpstreamError:
    """What the server says in its own word for it, which is one of a known few."""
    body = b"".join([chunk async for chunk in incoming.chunks()])[:10_000]
    found = _CODE.search(body.decode("utf-8", "replace"))
    code = found[1] if found else f"status {incoming.status}"
    region = incoming.headers.get("x-amz-bucket-region")
    if code in ("NoSuchKey", "NoSuchVersion") or (incoming.status == 404 and not found):
        return NotFound("the object is gone")
    hint = f"; the bucket is in the region {region[:40]}" if region else ""
    return UpstreamError(f"the bucket's server answers {code}{hint}", reason=code)


_CODE = re.compile(r"<Code>([A-Za-z0-9]{1,60})</Code>")
