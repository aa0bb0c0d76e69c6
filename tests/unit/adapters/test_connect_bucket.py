"""A bucket as a source: signed as its server wants it, listed page by page, doubted throughout."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import urlsplit

import pytest

from pecia.adapters.connectors.filesystem.scan import FileSelection
from pecia.adapters.connectors.s3 import BucketAddress, S3Connector
from pecia.adapters.http.egress_rules import EgressRules
from pecia.adapters.http.fetch import Fetcher
from pecia.adapters.http.guard import EgressGuard
from pecia.adapters.http.sigv4 import AwsKeys, UnsignedRequest, sign_request
from pecia.kernel.corpus.connector import ListedFile, SkippedFile
from pecia.kernel.errors import Forbidden, NotFound, PayloadTooLarge, UpstreamError
from tests.origin_servers import Answer, Handler, Store, served

pytestmark = pytest.mark.anyio

SECRET = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
OBJECTS = {
    "docs/a.md": b"# A\n",
    "docs/b c+d.txt": b"spaces and a plus",
    "docs/empty/": b"",
    "docs/näh.md": b"umlaut",
    "docs/x/../y.md": b"no plain path",
    "other/z.md": b"elsewhere",
}


def test_requests_are_signed_as_the_published_examples_are() -> None:
    """The examples of Amazon's own documentation of Signature Version 4 for S3."""
    keys = AwsKeys("AKIAIOSFODNN7EXAMPLE", SECRET)
    at = datetime(2013, 5, 24, tzinfo=UTC)
    host = "examplebucket.s3.amazonaws.com"
    for ask, signature in (
        (
            UnsignedRequest("GET", host, "/test.txt", headers={"Range": "bytes=0-9"}),
            "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
        ),
        (
            UnsignedRequest("GET", host, "/", "lifecycle="),
            "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
        ),
        (
            UnsignedRequest("GET", host, "/", "max-keys=2&prefix=J"),
            "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
        ),
    ):
        found = sign_request(ask, keys, "us-east-1", at)["authorization"]
        assert found.endswith(f"Signature={signature}")
    assert SECRET not in repr(keys)


@asynccontextmanager
async def opened(
    handle: Handler, keys: AwsKeys | None = None, **more: Any
) -> AsyncGenerator[S3Connector]:
    with served(handle) as url:
        rules = EgressRules.from_trusted_hosts([urlsplit(url).netloc])
        async with Fetcher(EgressGuard(rules)) as fetcher:
            address = BucketAddress(url, "shelf", more.pop("prefix", "docs"), "eu-test-1")
            yield S3Connector(address, fetcher, FileSelection(), keys, **more)


async def test_objects_below_the_prefix_are_listed_over_pages_and_opened() -> None:
    store = Store({**OBJECTS}, secret=SECRET)
    async with opened(store, AwsKeys(store.key_id, SECRET)) as bucket:
        listed = [it async for it in bucket.listing()]
        seen = {it.key: it for it in listed if isinstance(it, ListedFile)}
        assert [*seen] == ["a.md", "b c+d.txt", "näh.md"]
        assert {it.key for it in listed if isinstance(it, SkippedFile)} == {"x/../y.md"}
        a = seen["a.md"]
        assert (a.size_bytes, a.content_type, a.storage_class) == (4, "text/markdown", "STANDARD")
        for key in seen:
            async with bucket.opening(key, 100) as original:
                assert original.path.read_bytes() == OBJECTS[f"docs/{key}"]
        with pytest.raises(NotFound):
            async with bucket.opening("gone.md", 100):
                pass
        with pytest.raises(PayloadTooLarge):
            async with bucket.opening("a.md", 3):
                pass


async def test_a_changed_object_has_another_stamp_and_an_unchanged_one_the_same() -> None:
    store = Store({"docs/a.md": b"one", "docs/b.md": b"two"})
    async with opened(store) as bucket:
        before = {it.key: it.stamp async for it in bucket.listing() if isinstance(it, ListedFile)}
        store.objects["docs/a.md"] = b"six"
        after = {it.key: it.stamp async for it in bucket.listing() if isinstance(it, ListedFile)}
    assert before["a.md"] != after["a.md"]
    assert before["b.md"] == after["b.md"]


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        (None, "AccessDenied"),
        (AwsKeys("SOMEBODY", SECRET), "AccessDenied"),
        (AwsKeys("AKIDEXAMPLE", "another secret"), "SignatureDoesNotMatch"),
    ],
)
async def test_who_shows_no_key_or_a_wrong_one_is_told_so(keys: AwsKeys | None, says: str) -> None:
    async with opened(Store({**OBJECTS}, secret=SECRET), keys) as bucket:
        with pytest.raises(UpstreamError, match=says) as refused:
            await anext(bucket.listing())
    assert SECRET not in str(refused.value)


async def test_a_server_in_the_own_network_is_not_asked_unless_it_is_trusted() -> None:
    store = Store({**OBJECTS})
    with served(store) as url:
        async with Fetcher(EgressGuard(EgressRules())) as fetcher:
            bucket = S3Connector(BucketAddress(url, "shelf"), fetcher, FileSelection())
            with pytest.raises(Forbidden):
                await anext(bucket.listing())
    assert store.asked == []


def page(inside: str) -> Answer:
    return Answer(200, f"<ListBucketResult>{inside}</ListBucketResult>".encode())


ONE = "<Contents><Key>docs/a</Key><Size>1</Size><ETag>x</ETag></Contents>"
MORE = "<IsTruncated>true</IsTruncated><NextContinuationToken>n</NextContinuationToken>"


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (page(ONE + MORE), "does not end"),
        (page(MORE), "does not end"),
        (Answer(200, b"<html>"), "cannot be read"),
        (Answer(200, b'<!DOCTYPE x [<!ENTITY a "b">]><x>&a;</x>'), "not what these servers send"),
        (Answer(503, b"busy"), "status 503"),
    ],
)
async def test_a_server_that_says_nonsense_fails_the_crawl_with_a_reason(
    answer: Answer, says: str
) -> None:
    def handle(_: BaseHTTPRequestHandler) -> Answer:
        return answer

    async with opened(handle) as bucket:
        with pytest.raises(UpstreamError, match=says):
            _ = [it async for it in bucket.listing()]


async def test_a_list_without_end_ends() -> None:
    count = iter(range(1_000_000))

    def handle(_: BaseHTTPRequestHandler) -> Answer:
        return page(ONE + MORE.replace(">n<", f">{next(count)}<"))

    async with opened(handle, max_objects=20) as bucket:
        with pytest.raises(UpstreamError, match="more than 20 objects"):
            _ = [it async for it in bucket.listing()]
