"""What every request passes, and what none gets past."""

import json
from dataclasses import replace
from ipaddress import ip_network
from typing import Any

import pytest

from pecia.interfaces.http.middleware.edge import (
    BodyLimits,
    EdgeMiddleware,
    EdgeRules,
    TrustedHosts,
)
from pecia.interfaces.http.request_info import RequestInfo, get_request_info
from pecia.kernel.errors import NotFound
from pecia.kernel.settings.kernel import KernelSettings
from tests.unit.interfaces.http.asgi import HOST, Answer, Inner, ask

pytestmark = pytest.mark.anyio

SETTINGS = KernelSettings(public_url=None, allowed_origins=("https://app.example",))
RULES = EdgeRules(
    hosts=TrustedHosts.from_settings(SETTINGS),
    trusted=(ip_network("10.0.0.0/8"),),
    body=BodyLimits(max_bytes=100, idle_s=5, total_s=5),
    public_url=None,
)


def with_header(name: str, value: str) -> list[tuple[bytes, bytes]]:
    return [HOST, (name.encode(), value.encode("latin-1"))]


def code_of(answer: Answer) -> str:
    return json.loads(answer.body)["error"]["code"]


async def arrived(**asked: Any) -> RequestInfo:
    inner = Inner()
    answer = await ask(EdgeMiddleware(inner, RULES), **asked)
    assert answer.status == 200, answer.body
    return get_request_info(inner.scopes[0])


async def test_an_id_is_made_and_told() -> None:
    answer = await ask(EdgeMiddleware(Inner(), RULES))
    told = answer.header("x-request-id")
    assert told is not None
    assert len(told) == 32


async def test_a_sane_id_is_kept() -> None:
    answer = await ask(
        EdgeMiddleware(Inner(), RULES), headers=with_header("x-request-id", "abc-1.2:3_4")
    )
    assert answer.header("x-request-id") == "abc-1.2:3_4"


@pytest.mark.parametrize("odd", ["", "a b", "x" * 129, "a\u00e9", '"', "a\tb", "<script>"])
async def test_an_odd_id_is_replaced(odd: str) -> None:
    answer = await ask(EdgeMiddleware(Inner(), RULES), headers=with_header("x-request-id", odd))
    assert answer.header("x-request-id") != odd


async def test_blanks_around_a_header_are_no_part_of_it() -> None:
    inner = Inner()
    await ask(EdgeMiddleware(inner, RULES), headers=with_header("x-thing", " \tvalue \t"))
    assert (b"x-thing", b"value") in inner.scopes[0]["headers"]


async def test_every_answer_is_closed_by_default() -> None:
    for answer in (
        await ask(EdgeMiddleware(Inner(), RULES)),
        await ask(EdgeMiddleware(Inner(failure=NotFound("no")), RULES)),
        await ask(EdgeMiddleware(Inner(failure=RuntimeError("bug")), RULES)),
        await ask(EdgeMiddleware(Inner(), RULES), headers=[(b"host", b"evil")]),
    ):
        policy = answer.header("content-security-policy")
        assert policy == "default-src 'none'; frame-ancestors 'none'"
        assert answer.header("x-content-type-options") == "nosniff"
        assert answer.header("x-frame-options") == "DENY"
        assert answer.header("referrer-policy") == "no-referrer"
        assert answer.header("cross-origin-opener-policy") == "same-origin"
        assert answer.header("cross-origin-resource-policy") == "same-origin"
        assert answer.header("cache-control") == "no-store"


async def test_a_page_may_open_itself_further() -> None:
    own = ((b"content-security-policy", b"default-src 'self'"),)
    answer = await ask(EdgeMiddleware(Inner(headers=own), RULES))
    assert answer.header("content-security-policy") == "default-src 'self'"


@pytest.mark.parametrize("headers", [[], [(b"host", b"evil.example")], [(b"host", b"")]])
async def test_a_host_that_is_not_ours_is_misdirected(headers: list[tuple[bytes, bytes]]) -> None:
    inner = Inner()
    answer = await ask(EdgeMiddleware(inner, RULES), headers=headers)
    assert (answer.status, code_of(answer)) == (421, "INVALID_REQUEST")
    assert not inner.scopes


@pytest.mark.parametrize("origin", ["null", "http://evil.example", "http://localhost:3000"])
async def test_a_page_of_another_origin_is_forbidden(origin: str) -> None:
    inner = Inner()
    answer = await ask(EdgeMiddleware(inner, RULES), headers=with_header("origin", origin))
    assert (answer.status, code_of(answer)) == (403, "FORBIDDEN")
    assert answer.header("access-control-allow-origin") is None
    assert not inner.scopes


async def test_our_own_page_is_let_in_and_needs_no_cors() -> None:
    answer = await ask(
        EdgeMiddleware(Inner(), RULES), headers=with_header("origin", "http://localhost:7324")
    )
    assert answer.status == 200
    assert answer.header("access-control-allow-origin") is None


async def test_a_named_origin_may_read_the_answer() -> None:
    answer = await ask(
        EdgeMiddleware(Inner(), RULES), headers=with_header("origin", "https://app.example")
    )
    assert answer.status == 200
    assert answer.header("access-control-allow-origin") == "https://app.example"
    assert answer.header("access-control-allow-credentials") is None
    assert answer.header("vary") == "Origin"


async def test_a_preflight_of_a_named_origin_is_answered_at_the_front() -> None:
    inner = Inner()
    headers = [
        *with_header("origin", "https://app.example"),
        (b"access-control-request-method", b"POST"),
        (b"access-control-request-headers", b"authorization, x-pecia-timeout"),
    ]
    answer = await ask(EdgeMiddleware(inner, RULES), method="OPTIONS", headers=headers)
    assert answer.status == 200
    assert answer.header("access-control-allow-headers") == "authorization, x-pecia-timeout"
    assert "POST" in (answer.header("access-control-allow-methods") or "")
    assert not inner.scopes


async def test_a_preflight_is_logged_and_closed_as_every_answer_is() -> None:
    headers = [
        *with_header("origin", "https://app.example"),
        (b"access-control-request-method", b"POST"),
        (b"access-control-request-private-network", b"true"),
    ]
    answer = await ask(EdgeMiddleware(Inner(), RULES), method="OPTIONS", headers=headers)
    assert (answer.status, answer.header("x-content-type-options")) == (200, "nosniff")
    assert answer.header("x-request-id") is not None
    assert answer.header("access-control-allow-origin") == "https://app.example"
    assert answer.header("access-control-allow-private-network") == "true"


@pytest.mark.parametrize(
    ("failure", "length", "status"),
    [(NotFound("no"), "0", 404), (RuntimeError("bug"), "0", 500), (None, "101", 413)],
)
async def test_a_named_origin_may_read_errors_too(
    failure: Exception | None, length: str, status: int
) -> None:
    headers = [
        *with_header("origin", "https://app.example"),
        (b"content-length", length.encode()),
    ]
    answer = await ask(
        EdgeMiddleware(Inner(failure=failure), RULES), method="POST", headers=headers
    )
    assert answer.status == status
    assert answer.header("access-control-allow-origin") == "https://app.example"
    assert "WWW-Authenticate" in (answer.header("access-control-expose-headers") or "")


async def test_a_star_among_the_origins_opens_nothing() -> None:
    star = KernelSettings(public_url=None, allowed_origins=("*",))
    rules = replace(RULES, hosts=TrustedHosts.from_settings(star))
    for origin in ("https://evil.example", "null"):
        answer = await ask(EdgeMiddleware(Inner(), rules), headers=with_header("origin", origin))
        assert answer.status == 403
        assert answer.header("access-control-allow-origin") is None


async def test_a_preflight_of_another_origin_is_refused() -> None:
    headers = [
        *with_header("origin", "https://evil.example"),
        (b"access-control-request-method", b"POST"),
    ]
    assert (
        await ask(EdgeMiddleware(Inner(), RULES), method="OPTIONS", headers=headers)
    ).status == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
async def test_an_image_of_another_site_is_refused_although_it_has_no_origin(site: str) -> None:
    headers = [*with_header("sec-fetch-site", site), (b"sec-fetch-mode", b"no-cors")]
    assert (await ask(EdgeMiddleware(Inner(), RULES), headers=headers)).status == 403


@pytest.mark.parametrize(
    ("site", "mode"), [("cross-site", "navigate"), ("same-origin", "cors"), ("none", "navigate")]
)
async def test_a_link_from_another_site_may_be_followed(site: str, mode: str) -> None:
    headers = [*with_header("sec-fetch-site", site), (b"sec-fetch-mode", mode.encode())]
    assert (await ask(EdgeMiddleware(Inner(), RULES), headers=headers)).status == 200


@pytest.mark.parametrize(
    "name", [b"host", b"authorization", b"content-length", b"content-type", b"origin"]
)
async def test_a_header_that_counts_may_not_come_twice(name: bytes) -> None:
    inner = Inner()
    value = b"localhost" if name == b"host" else b"1"
    headers = [*(() if name == b"host" else (HOST,)), (name, value), (name, value)]
    answer = await ask(EdgeMiddleware(inner, RULES), headers=headers)
    assert answer.status in (400, 421, 403)
    assert not inner.scopes


@pytest.mark.parametrize(
    "path", ["/a/../b", "/..", "/a/./b", "/a\x00b", "/a\\b", "/a\r\nb", "/a/..", "/a\x7f"]
)
async def test_a_path_with_tricks_in_it_is_refused(path: str) -> None:
    inner = Inner()
    answer = await ask(EdgeMiddleware(inner, RULES), path)
    assert (answer.status, code_of(answer)) == (400, "INVALID_REQUEST")
    assert not inner.scopes


@pytest.mark.parametrize("path", ["/a..b", "/...", "/.well-known/x", "//", "/a/"])
async def test_dots_in_a_name_are_no_trick(path: str) -> None:
    assert (await ask(EdgeMiddleware(Inner(), RULES), path)).status == 200


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("access_token=abc", "access_token"),
        ("ACCESS_TOKEN=abc", "ACCESS_TOKEN"),
        ("a=1&%61ccess_token=x", "access_token"),
        ("authorization=Bearer+x", "authorization"),
        ("q=peciapat_abc", "q"),
        ("q=%70eciapat_abc", "q"),
    ],
)
async def test_a_token_in_the_query_is_refused_and_not_repeated(query: str, field: str) -> None:
    inner = Inner()
    answer = await ask(EdgeMiddleware(inner, RULES), query=query)
    assert answer.status == 400
    assert json.loads(answer.body)["error"]["field"] == field
    assert b"peciapat_a" not in answer.body
    assert not inner.scopes


async def test_a_query_of_very_many_parameters_is_refused() -> None:
    assert (await ask(EdgeMiddleware(Inner(), RULES), query="a=1&" * 2000)).status == 400


async def test_a_body_within_the_limit_arrives_whole() -> None:
    inner = Inner()
    await ask(EdgeMiddleware(inner, RULES), method="POST", pieces=[b"x" * 50, b"y" * 50])
    assert inner.bodies == [b"x" * 50 + b"y" * 50]


async def test_a_body_over_the_limit_is_refused_whatever_its_headers_claim() -> None:
    inner = Inner()
    for headers in ([HOST], with_header("content-length", "3")):
        pieces = [b"x" * 60, b"y" * 60]
        answer = await ask(
            EdgeMiddleware(inner, RULES), method="POST", headers=headers, pieces=pieces
        )
        assert (answer.status, code_of(answer)) == (413, "PAYLOAD_TOO_LARGE")
        assert answer.header("connection") == "close"
    assert not inner.bodies


async def test_a_length_over_the_limit_is_refused_before_the_body_comes() -> None:
    inner = Inner()
    answer = await ask(
        EdgeMiddleware(inner, RULES), method="POST", headers=with_header("content-length", "101")
    )
    assert answer.status == 413
    assert not inner.scopes


@pytest.mark.parametrize("length", ["-1", "+5", "1e3", "0x10", "٣", "5, 5", ""])
async def test_a_length_that_is_no_number_is_refused(length: str) -> None:
    headers = [HOST, (b"content-length", length.encode())]
    assert (await ask(EdgeMiddleware(Inner(), RULES), method="POST", headers=headers)).status == 400


async def test_a_body_that_stalls_is_refused() -> None:
    hasty = replace(RULES, body=BodyLimits(max_bytes=100, idle_s=0.01, total_s=5))
    answer = await ask(
        EdgeMiddleware(Inner(), hasty), method="POST", pieces=[b"x"], never_ends=True
    )
    assert (answer.status, code_of(answer)) == (408, "TIMEOUT")
    assert answer.header("connection") == "close"


async def test_a_body_that_drips_for_ever_is_refused() -> None:
    hasty = replace(RULES, body=BodyLimits(max_bytes=100, idle_s=5, total_s=0.01))
    answer = await ask(
        EdgeMiddleware(Inner(), hasty), method="POST", pieces=[b"x"], never_ends=True
    )
    assert answer.status == 408


async def test_a_failure_inside_is_an_answer() -> None:
    answer = await ask(EdgeMiddleware(Inner(failure=NotFound("no such thing")), RULES))
    assert (answer.status, code_of(answer)) == (404, "NOT_FOUND")


async def test_a_bug_inside_is_an_answer_that_tells_nothing() -> None:
    answer = await ask(EdgeMiddleware(Inner(failure=RuntimeError("secret detail")), RULES))
    assert (answer.status, code_of(answer)) == (500, "INTERNAL_ERROR")
    assert b"secret detail" not in answer.body


async def test_a_request_of_this_machine_is_local() -> None:
    for peer in ("127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"):
        assert (await arrived(peer=peer)).is_local


@pytest.mark.parametrize("peer", ["203.0.113.9", "10.0.0.1", None, "fe80::1%eth0"])
async def test_a_request_from_elsewhere_is_not_local(peer: str | None) -> None:
    assert not (await arrived(peer=peer)).is_local


@pytest.mark.parametrize("mark", ["x-forwarded-for", "forwarded", "via", "x-real-ip"])
async def test_a_request_that_a_proxy_passed_on_is_not_local(mark: str) -> None:
    assert not (await arrived(headers=with_header(mark, "127.0.0.1"))).is_local


async def test_a_client_behind_a_trusted_proxy_that_says_loopback_is_not_local() -> None:
    found = await arrived(peer="10.0.0.1", headers=with_header("x-forwarded-for", "127.0.0.1"))
    assert found.client_ip == "127.0.0.1"
    assert not found.is_local


async def test_links_begin_with_the_name_the_client_used() -> None:
    assert (await arrived()).base_url == "http://localhost:7324"


async def test_links_begin_with_the_public_url_where_there_is_one() -> None:
    inner = Inner()
    await ask(EdgeMiddleware(inner, replace(RULES, public_url="https://pecia.example")))
    assert get_request_info(inner.scopes[0]).base_url == "https://pecia.example"


async def test_behind_a_trusted_proxy_the_forwarded_host_is_the_one_checked() -> None:
    headers = [
        (b"host", b"inner"),
        (b"x-forwarded-host", b"localhost"),
        (b"x-forwarded-for", b"1.2.3.4"),
    ]
    assert (
        await ask(EdgeMiddleware(Inner(), RULES), headers=headers, peer="10.0.0.1")
    ).status == 200
    assert (
        await ask(EdgeMiddleware(Inner(), RULES), headers=headers, peer="1.2.3.4")
    ).status == 421
