"""Fetching from real servers on loopback, hostile ones included."""

import gzip
import zlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from anyio.abc import ByteStream

from pecia.adapters.http.egress_rules import EgressRules
from pecia.adapters.http.fetch import Fetcher, HttpFetchLimits
from pecia.adapters.http.guard import EgressGuard
from pecia.kernel.errors import Forbidden, PayloadTooLarge, Timeout, UpstreamError
from tests.unit.adapters.loopback import (
    Answer,
    Authority,
    Names,
    ReceivedRequest,
    Server,
    guard,
    page,
    redirect,
    serving,
)

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def fetching(answer: Answer) -> AsyncGenerator[tuple[Fetcher, Server]]:
    async with serving(answer) as server, Fetcher(EgressGuard(server.trusting_loopback)) as web:
        yield web, server


async def test_a_page_comes_back_whole() -> None:
    async with fetching(page(b"hello", "ETag: x")) as (web, server):
        found = await web.fetch(server.url("/a?b=c"), headers={"If-None-Match": "y"})
    assert (found.status, found.body, found.headers["etag"]) == (200, b"hello", "x")
    assert server.asked[0].line == "GET /a?b=c HTTP/1.1"
    assert server.asked[0].headers["if-none-match"] == "y"


async def test_an_error_status_is_an_answer() -> None:
    async with fetching(page(b"gone", status="404 Not Found")) as (web, server):
        assert (await web.fetch(server.url())).status == 404


async def test_loopback_is_refused_before_anything_is_sent() -> None:
    async with (
        serving(page(b"secret")) as server,
        Fetcher(EgressGuard(EgressRules(ports=frozenset({server.port})))) as web,
    ):
        with pytest.raises(Forbidden) as caught:
            await web.fetch(server.url())
    assert caught.value.fields["rule"] == "loopback"
    assert server.asked == []


async def test_a_name_that_resolves_to_loopback_is_refused_before_anything_is_sent() -> None:
    async with serving(page(b"secret")) as server:
        rules = EgressRules(ports=frozenset({server.port}))
        async with Fetcher(guard(rules, evil=[["127.0.0.1"]])) as web:
            with pytest.raises(Forbidden) as caught:
                await web.fetch(server.url(host="evil.test"))
    assert caught.value.fields["rule"] == "loopback"
    assert server.asked == []


async def test_the_address_that_was_checked_is_the_one_connected_to() -> None:
    names = Names({"turncoat.test": [["127.0.0.1"], ["10.0.0.1"]]})
    async with (
        serving(page(b"checked")) as server,
        Fetcher(EgressGuard(EgressRules.from_trusted_hosts(["127.0.0.1"]), names)) as web,
    ):
        assert (await web.fetch(server.url(host="turncoat.test"))).body == b"checked"
        assert names.asked == ["turncoat.test"]
        with pytest.raises(Forbidden):
            await web.fetch(server.url(host="turncoat.test"))


async def test_the_real_resolver_finds_localhost_and_the_rules_refuse_it() -> None:
    async with (
        serving(page(b"secret")) as server,
        Fetcher(EgressGuard(EgressRules(ports=frozenset({server.port})))) as web,
    ):
        with pytest.raises(Forbidden):
            await web.fetch(server.url(host="localhost"))
        async with Fetcher(EgressGuard(server.trusting_loopback)) as web:
            assert (await web.fetch(server.url(host="localhost"))).body == b"secret"


async def test_the_second_address_is_tried_when_the_first_does_not_answer() -> None:
    async with serving(page(b"second")) as server:
        both = guard(server.trusting_loopback, two=[["::1", "127.0.0.1"]])
        async with Fetcher(both) as web:
            assert (await web.fetch(server.url(host="two.test"))).body == b"second"


async def test_a_name_without_an_address_is_an_upstream_error() -> None:
    async with Fetcher(guard(EgressRules())) as web:
        with pytest.raises(UpstreamError):
            await web.fetch("http://nowhere.test/")


async def test_a_redirect_to_a_forbidden_address_is_refused() -> None:
    async with serving(page(b"secret")) as inside, serving(redirect(inside.url())) as outside:
        names = guard(
            EgressRules.from_trusted_hosts([f"open.test:{outside.port}"]), open=[["127.0.0.1"]]
        )
        async with Fetcher(names) as web:
            with pytest.raises(Forbidden):
                await web.fetch(outside.url(host="open.test"))
    assert len(outside.asked) == 1
    assert inside.asked == []


async def test_redirects_are_followed_and_listed() -> None:
    async def answer(asked: ReceivedRequest, stream: ByteStream) -> None:
        step = redirect("/second") if asked.path == "/first" else page(b"arrived")
        await step(asked, stream)

    async with serving(answer) as server, Fetcher(EgressGuard(server.trusting_loopback)) as web:
        found = await web.fetch(server.url("/first"))
    assert (found.url, found.body) == (server.url("/second"), b"arrived")
    assert found.hops == (server.url("/first"),)


async def test_a_redirect_without_end_ends() -> None:
    async with fetching(redirect("/again")) as (web, server):
        with pytest.raises(UpstreamError) as caught:
            await web.fetch(server.url(), limits=HttpFetchLimits(hops=3))
    assert caught.value.fields["rule"] == "redirects"
    assert len(server.asked) == 4


async def test_a_token_does_not_follow_a_redirect_to_another_origin() -> None:
    async with (
        serving(page(b"")) as other,
        serving(redirect(other.url())) as asked,
        Fetcher(EgressGuard(asked.trusting_loopback)) as web,
    ):
        await web.fetch(asked.url(), headers={"Authorization": "Bearer mine"})
    assert asked.asked[0].headers["authorization"] == "Bearer mine"
    assert "authorization" not in other.asked[0].headers


async def test_a_cookie_is_not_kept() -> None:
    async with fetching(page(b"", "Set-Cookie: id=1")) as (web, server):
        await web.fetch(server.url())
        await web.fetch(server.url())
    assert "cookie" not in server.asked[1].headers


async def test_a_proxy_of_the_environment_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    async with fetching(page(b"direct")) as (web, server):
        assert (await web.fetch(server.url())).body == b"direct"


async def test_an_answer_larger_than_the_limit_is_refused() -> None:
    async with fetching(page(b"x" * 1001)) as (web, server):
        with pytest.raises(PayloadTooLarge) as caught:
            await web.fetch(server.url(), limits=HttpFetchLimits(max_bytes=1000))
        assert (
            len((await web.fetch(server.url(), limits=HttpFetchLimits(max_bytes=1001))).body)
            == 1001
        )
    assert caught.value.fields["max"] == 1000


async def test_a_small_body_that_opens_to_a_large_one_is_refused() -> None:
    bomb = gzip.compress(bytes(50_000_000))
    async with fetching(page(bomb, "Content-Encoding: gzip")) as (web, server):
        with pytest.raises(PayloadTooLarge):
            await web.fetch(server.url(), limits=HttpFetchLimits(max_bytes=1_000_000))


async def test_a_body_that_never_ends_is_refused_at_the_limit() -> None:
    async def endless(asked: ReceivedRequest, stream: ByteStream) -> None:
        # A finished gzip member opens to nothing more, yet the bytes go on arriving.
        await stream.send(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + gzip.compress(b""))
        while True:
            await stream.send(gzip.compress(b"") * 1000)

    async with serving(endless) as server, Fetcher(EgressGuard(server.trusting_loopback)) as web:
        with pytest.raises(PayloadTooLarge):
            await web.fetch(server.url(), limits=HttpFetchLimits(max_bytes=500_000))


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("gzip", gzip.compress(b"plain ") + gzip.compress(b"words")),
        ("deflate", zlib.compress(b"plain words")),
        ("deflate", zlib.compress(b"plain words", wbits=-15)),
        ("identity", b"plain words"),
    ],
    ids=["two members", "zlib", "bare deflate", "plain"],
)
async def test_a_compressed_body_is_opened(encoding: str, body: bytes) -> None:
    async with fetching(page(body, f"Content-Encoding: {encoding}")) as (web, server):
        assert (await web.fetch(server.url())).body == b"plain words"


@pytest.mark.parametrize(
    ("encoding", "body"),
    [("br", b"x"), ("gzip, gzip", b"x"), ("gzip", b"not"), ("gzip", gzip.compress(b"cut")[:-4])],
    ids=["unasked", "twice", "not gzip", "cut off"],
)
async def test_a_body_that_cannot_be_opened_is_an_upstream_error(
    encoding: str, body: bytes
) -> None:
    async with fetching(page(body, f"Content-Encoding: {encoding}")) as (web, server):
        with pytest.raises(UpstreamError):
            await web.fetch(server.url())


async def test_a_slow_drip_ends_at_the_deadline() -> None:
    async def drip(asked: ReceivedRequest, stream: ByteStream) -> None:
        await stream.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        for _ in range(1000):
            await stream.send(b"x")
            await anyio.sleep(0.02)

    async with serving(drip) as server, Fetcher(EgressGuard(server.trusting_loopback)) as web:
        with pytest.raises(Timeout) as caught:
            await web.fetch(server.url(), limits=HttpFetchLimits(timeout_s=0.3))
    assert caught.value.fields["timeout_s"] == 0.3


async def test_headers_that_never_end_stop_at_the_deadline() -> None:
    async def silent(asked: ReceivedRequest, stream: ByteStream) -> None:
        await anyio.sleep_forever()

    async with serving(silent) as server, Fetcher(EgressGuard(server.trusting_loopback)) as web:
        with pytest.raises(Timeout):
            await web.fetch(server.url(), limits=HttpFetchLimits(timeout_s=0.2))


async def test_who_reads_slowly_is_not_cut_off_by_the_deadline() -> None:
    async with (
        fetching(page(b"x" * 10)) as (web, server),
        web.open(server.url(), limits=HttpFetchLimits(timeout_s=0.2)) as incoming,
    ):
        chunks = [chunk async for chunk in incoming.chunks()]
        await anyio.sleep(0.3)
    assert b"".join(chunks) == b"x" * 10


async def test_a_connection_cut_in_the_middle_is_an_upstream_error() -> None:
    async def cut(asked: ReceivedRequest, stream: ByteStream) -> None:
        await stream.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")

    async with serving(cut) as server, Fetcher(EgressGuard(server.trusting_loopback)) as web:
        with pytest.raises(UpstreamError):
            await web.fetch(server.url())


async def test_tls_is_verified_against_the_name_though_an_address_is_dialled(
    tmp_path: Path,
) -> None:
    authority = Authority.new()
    async with serving(page(b"safe"), tls=authority.server(tmp_path, "good.test")) as server:
        names = guard(server.trusting_loopback, good=[["127.0.0.1"]], other=[["127.0.0.1"]])
        async with Fetcher(names, tls=authority.trusted(tmp_path)) as web:
            good = server.url(host="good.test", scheme="https")
            assert (await web.fetch(good)).body == b"safe"
            with pytest.raises(UpstreamError):
                await web.fetch(server.url(host="other.test", scheme="https"))
        async with Fetcher(names) as distrustful:
            with pytest.raises(UpstreamError):
                await distrustful.fetch(good)
