"""The S3 connector: one bucket of any server that speaks S3.

It makes two requests, list and get, behind the egress guard. Responses are bounded and not trusted:
a list that never ends, or loops, ends here.
"""

import re
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from mimetypes import guess_type
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote, urlencode, urlsplit
from xml.etree import ElementTree

from anyio.to_thread import run_sync
from pydantic import Field

from pecia.adapters.connectors.access import file_selection, open_fetcher, require_reachable
from pecia.adapters.connectors.filesystem.scan import FileSelection
from pecia.adapters.connectors.filesystem.temp_file import temp_file
from pecia.adapters.http.egress_rules import validate_url
from pecia.adapters.http.response import HttpFetchLimits
from pecia.adapters.http.sigv4 import AwsKeys, UnsignedRequest, quote_key, sign_request
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
from pecia.kernel.errors import InvalidFormat, NotFound, UpstreamError

if TYPE_CHECKING:
    from pecia.adapters.http.fetch import Fetcher, StreamedResponse

MAX_OBJECTS = 10_000_000
MAX_PAGE_BYTES = 20_000_000
PAGE_SIZE = 1000
# Of a whole object: a large one over a slow line takes its time, a drip does not go on for ever.
OBJECT_TIMEOUT_S = 600.0
NAMESPACE = "{http://s3.amazonaws.com/doc/2006-03-01/}"


@dataclass(frozen=True, slots=True)
class BucketAddress:
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
        return quote_key(f"/{self.bucket}/{key}" if self.path_style else f"/{key}")


@dataclass(frozen=True, slots=True)
class S3Connector:
    """The objects below one prefix. Keys are counted from there. Without keys nothing is signed."""

    address: BucketAddress
    fetcher: "Fetcher"
    selection: FileSelection
    keys: AwsKeys | None = field(default=None, repr=False)
    max_objects: int = MAX_OBJECTS

    async def listing(self) -> AsyncGenerator[ListingEntry]:
        after, count = "", 0
        while True:
            page = await self._page(after)
            count += len(page.objects)
            if count > self.max_objects:
                raise UpstreamError(f"the bucket lists more than {self.max_objects} objects")
            for it in page.objects:
                if (listed := self._to_entry(it)) is not None:
                    yield listed
            if not page.continuation_token:
                return
            if page.continuation_token == after or not page.objects:
                raise UpstreamError("the bucket's list does not end: a page repeats or is empty")
            after = page.continuation_token

    @asynccontextmanager
    async def opening(self, key: str, most_bytes: int) -> AsyncGenerator[OriginalFile]:
        limits = HttpFetchLimits(max_bytes=most_bytes, timeout_s=OBJECT_TIMEOUT_S)
        async with temp_file() as path:
            async with self._request(self.address.folder + key, "", limits) as incoming:
                with path.open("wb") as file:
                    async for chunk in incoming.chunks():
                        await run_sync(file.write, chunk)
            yield OriginalFile(path, guess_type(key)[0])

    def _to_entry(self, it: "_Object") -> ListingEntry | None:
        key = it.key.removeprefix(self.address.folder)
        if not it.key.startswith(self.address.folder) or not key or it.key.endswith("/"):
            # An object that stands for a folder holds nothing.
            return None
        if not self.selection.admits(key):
            return None
        if not is_storable_key(key):
            return SkippedFile(key[:200], "the key is too long", is_failure=True)
        if not key.isprintable() or not {"", ".", ".."}.isdisjoint(key.split("/")):
            return SkippedFile(ascii(key)[1:-1], "the key is no plain path", is_failure=True)
        return ListedFile(
            key,
            stamp=it.stamp,
            size_bytes=it.size,
            modified_at=it.modified_at,
            content_type=guess_type(key)[0],
            storage_class=it.storage_class,
        )

    async def _page(self, after: str) -> "_Page":
        asked = {"encoding-type": "url", "list-type": "2", "max-keys": str(PAGE_SIZE)}
        if self.address.folder:
            asked["prefix"] = self.address.folder
        if after:
            asked["continuation-token"] = after
        limits = HttpFetchLimits(max_bytes=MAX_PAGE_BYTES, timeout_s=60)
        query = urlencode(asked, quote_via=quote, safe="-._~")
        async with self._request("", query, limits) as incoming:
            body = b"".join([chunk async for chunk in incoming.chunks()])
        return await run_sync(_parse_page, body)

    @asynccontextmanager
    async def _request(
        self, key: str, query: str, limits: HttpFetchLimits
    ) -> "AsyncGenerator[StreamedResponse]":
        path = self.address.path(key)
        scheme = urlsplit(self.address.endpoint).scheme
        url = f"{scheme}://{self.address.host}{path}" + (f"?{query}" if query else "")
        headers = {"accept-encoding": "identity"}
        if self.keys is not None:
            ask = UnsignedRequest("GET", self.address.host, path, query)
            headers |= sign_request(ask, self.keys, self.address.region, datetime.now(UTC))
        async with self.fetcher.open(url, headers=headers, limits=limits) as incoming:
            if incoming.status != 200:
                raise await _read_error(incoming)
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
    continuation_token: str


def _parse_page(body: bytes) -> _Page:
    if b"<!DOCTYPE" in body[:1000] or b"<!ENTITY" in body:
        raise UpstreamError("the bucket's list is not what these servers send")
    try:
        root = ElementTree.fromstring(body)
    except ElementTree.ParseError:
        raise UpstreamError("the bucket's list cannot be read") from None
    objects = tuple(_parse_objects(root, is_quoted=_text(root, "EncodingType") == "url"))
    more = _text(root, "IsTruncated") == "true"
    return _Page(objects, _text(root, "NextContinuationToken") if more else "")


def _parse_objects(root: ElementTree.Element, *, is_quoted: bool) -> Iterator[_Object]:
    for it in [*root.iter(f"{NAMESPACE}Contents"), *root.iter("Contents")]:
        key, size = _text(it, "Key"), _text(it, "Size")
        etag, modified = _text(it, "ETag").strip('"'), _text(it, "LastModified")
        if key:
            yield _Object(
                unquote(key.replace("+", " ")) if is_quoted else key,
                # Some servers have no etag; then size and time must do.
                stamp=f"{etag or modified}-{size}",
                size=int(size) if size.isdecimal() else None,
                modified_at=_parse_time(modified),
                storage_class=_text(it, "StorageClass") or None,
            )


def _text(element: ElementTree.Element, name: str) -> str:
    found = element.find(f"{NAMESPACE}{name}")
    found = element.find(name) if found is None else found
    return (found.text or "").strip() if found is not None else ""


def _parse_time(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


async def _read_error(incoming: "StreamedResponse") -> NotFound | UpstreamError:
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


class S3Origin(SourceOrigin):
    """The objects of a bucket below a prefix, at any server that speaks S3."""

    bucket: str
    prefix: str = ""
    endpoint: str
    region: str = "us-east-1"
    path_style: bool = True
    """Path-style addressing: the bucket in the path, not in the host."""


class S3Options(OriginOptions):
    s3: str | None = Field(default=None, max_length=2000, description="s3://BUCKET/PREFIX.")
    endpoint: str | None = Field(
        default=None, max_length=2000, description="With s3: the server's URL; Amazon's if unset."
    )
    region: str | None = Field(default=None, max_length=100, description="With s3.")
    path_style: bool | None = Field(
        default=None, description="With s3: the bucket in the path. On where endpoint is given."
    )

    def build_origin(self, source_id: str) -> S3Origin:
        url = self.s3 or ""
        found = _BUCKET_URL.fullmatch(url)
        if found is None:
            raise InvalidFormat(
                'Field "s3" must be s3://BUCKET or s3://BUCKET/PREFIX', field="s3", got=url[:500]
            )
        if not _BUCKET.fullmatch(found["bucket"]):
            raise InvalidFormat(
                f"{found['bucket'][:100]!r} is not the name of a bucket: it has 3 to 63 lowercase "
                "letters, digits, single dots and hyphens, begins and ends with a letter or digit, "
                "and is not an IP address",
                field="s3",
                got=url[:500],
                expected="s3://BUCKET or s3://BUCKET/PREFIX",
            )
        region = self.region or "us-east-1"
        if not _REGION.fullmatch(region):
            raise InvalidFormat(
                'Field "region" must be a region, such as "eu-central-1"',
                field="region",
                got=region,
            )
        endpoint = self.endpoint or f"https://s3.{region}.amazonaws.com"
        if not _ENDPOINT.fullmatch(endpoint):
            raise InvalidFormat(
                'Field "endpoint" must be a URL without a path, such as '
                '"https://minio.example.org"',
                field="endpoint",
                got=endpoint[:500],
            )
        validate_url(endpoint, field="endpoint")
        path_style = self.endpoint is not None if self.path_style is None else self.path_style
        return S3Origin(
            bucket=found["bucket"],
            prefix=(found["prefix"] or "").strip("/"),
            endpoint=endpoint.rstrip("/"),
            region=region,
            path_style=path_style,
        )


_BUCKET_URL = re.compile(r"s3://(?P<bucket>[^/\0]+)(?:/(?P<prefix>[^\0]*))?")
# As Amazon allows them. Other servers allow no more.
_BUCKET = re.compile(r"(?!.*\.\.)(?!(?:[0-9]+\.){3}[0-9]+$)[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_REGION = re.compile(r"[a-z0-9-]{1,100}")
_ENDPOINT = re.compile(r"https?://[^/?#@\s]+/?")


def bucket_address(origin: S3Origin) -> BucketAddress:
    return BucketAddress(
        origin.endpoint, origin.bucket, origin.prefix, origin.region, origin.path_style
    )


async def check_bucket(origin: S3Origin, context: ConnectorContext) -> None:
    url = f"{urlsplit(origin.endpoint).scheme}://{bucket_address(origin).host}/"
    require_reachable(context, url, field="endpoint")


@asynccontextmanager
async def open_bucket(origin: S3Origin, context: ConnectorContext) -> AsyncGenerator[S3Connector]:
    address = bucket_address(origin)
    login = context.login
    keys = AwsKeys(login.user, login.secret, login.session) if login else None
    async with open_fetcher(context) as fetcher:
        yield S3Connector(address, fetcher, file_selection(context), keys)


def parse_keys(text: str) -> SourceLogin | None:
    parts = text.split(":")
    return SourceLogin(*parts) if len(parts) in (2, 3) else None


S3 = ConnectorKind(
    "s3",
    "The objects of a bucket below a prefix, at any server that speaks S3.",
    S3Origin,
    open_bucket,
    options=S3Options,
    credential=CredentialFormat("KEY_ID:SECRET[:SESSION_TOKEN]", parse_keys),
    check=check_bucket,
)
