"""What an attacker, a broken client or a bad proxy would send."""

import asyncio
import gc
import logging
import socket
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path

import anyio
import anyio.lowlevel
import anyio.to_thread
import psutil
import pytest

from pecia.interfaces.http.protocol import GuardedProtocol
from pecia.kernel.errors import NotFound
from pecia.kernel.store.cluster import DatabaseLogins
from tests.interfaces.probe_feature import Probe, fails_with
from tests.interfaces.raw_http import request, requests, tell
from tests.interfaces.tenant_server import Pecia, bearing, open_pecia

pytestmark = pytest.mark.anyio

WHOAMI = "/api/v1/admin/whoami"
JSON = "Content-Type: application/json"


def auth(pecia: Pecia) -> str:
    return f"Authorization: {pecia.ana['authorization']}"


@pytest.fixture
def pecia(shared: Pecia) -> Pecia:
    """Tests that must be the first at a server ask for one `alone`."""
    return shared


async def test_a_head_that_two_readers_could_read_in_two_ways_is_refused(pecia: Pecia) -> None:
    for headers in (
        ("Content-Length: 2", "Transfer-Encoding: chunked"),
        ("Transfer-Encoding: chunked", "Content-Length: 2"),
        ("Content-Length: 2", "Content-Length: 3"),
        ("Content-Length: 2", "Content-Length: 2"),
        ("Content-Length: 2, 2",),
        ("Content-Length: +2",),
        ("Content-Length : 2",),
        ("Transfer-Encoding: xchunked",),
        ("Transfer-Encoding: chunked, identity",),
        ("Transfer-Encoding\t: chunked",),
        ("X-Folded: a\r\n b",),
        ("X-Null: a\x00b",),
        ("X-Bare: a\nContent-Length: 2",),
        ("Bad Name: x",),
        (": empty",),
        ("Host: 127.0.0.1",),
    ):
        data = request(pecia, WHOAMI, JSON, auth(pecia), *headers, method="POST", body=b"{}")
        heard = await tell(pecia, data)
        assert heard.statuses == [400], headers
        assert b"INVALID_REQUEST" in heard.data, headers


async def test_a_trailer_is_no_header(pecia: Pecia) -> None:
    body = b"2\r\n{}\r\n0\r\n" + auth(pecia).encode() + b"\r\n\r\n"
    data = request(pecia, WHOAMI, JSON, "Transfer-Encoding: chunked", method="POST", body=body)
    assert (await tell(pecia, data)).statuses == [401]


async def test_a_trailer_does_not_make_a_second_of_a_header(pecia: Pecia) -> None:
    body = b"2\r\n{}\r\n0\r\nContent-Type: text/plain\r\n\r\n"
    chunked = "Transfer-Encoding: chunked"
    data = request(pecia, WHOAMI, JSON, auth(pecia), chunked, method="POST", body=body)
    assert (await tell(pecia, data)).statuses == [200]


async def test_a_request_inside_a_body_is_only_a_body(pecia: Pecia) -> None:
    inner = request(pecia, "/healthz")
    length = f"Content-Length: {len(inner)}"
    data = request(pecia, WHOAMI, JSON, auth(pecia), length, method="POST", body=inner)
    assert (await tell(pecia, data)).statuses == [400]


async def test_requests_in_one_breath_are_answered_one_by_one_in_order(pecia: Pecia) -> None:
    first = request(pecia, "/nowhere").replace(b"Connection: close\r\n", b"")
    assert (await tell(pecia, first + first + request(pecia, "/healthz"))).statuses == [
        404,
        404,
        200,
    ]


async def test_another_host_is_misdirected(pecia: Pecia) -> None:
    for host in ("evil.example", "", "127.0.0.1.evil.example", "localhost@evil"):
        assert (await tell(pecia, request(pecia, host=host))).statuses == [421], host


async def test_a_refusal_before_any_endpoint_hints_at_http_and_not_at_json_rpc(
    pecia: Pecia,
) -> None:
    for path, headers in (
        ("/healthz", {"host": "evil.example"}),
        ("/healthz?" + "&".join(f"p{number}=1" for number in range(2000)), {}),
    ):
        refused = await pecia.http.get(path, headers=headers)
        error = refused.json()["error"]
        assert (refused.status_code >= 400, error["code"]) == (True, "INVALID_REQUEST")
        assert "JSON-RPC" not in error["hint"]
    hint = (await pecia.http.get("/healthz", headers={"host": "evil.example"})).json()["error"]
    assert "allowed_hosts" in hint["hint"]


async def test_a_request_without_a_host_is_misdirected(pecia: Pecia) -> None:
    assert (await tell(pecia, b"GET /healthz HTTP/1.0\r\n\r\n")).statuses == [421]


async def test_another_host_in_the_target_changes_nothing(pecia: Pecia) -> None:
    target = f"http://evil.example{WHOAMI}"
    assert (await tell(pecia, request(pecia, target))).statuses == [401]
    assert (await tell(pecia, request(pecia, target, host="evil.example"))).statuses == [421]


async def test_another_origin_is_forbidden_with_and_without_a_token(alone: Pecia) -> None:
    origin = "Origin: http://evil.example"
    assert (await tell(alone, request(alone, WHOAMI, origin))).statuses == [403]
    assert (await tell(alone, request(alone, WHOAMI, origin, auth(alone)))).statuses == [403]
    assert await alone.audit(tool="admin.whoami") == []


async def test_a_path_is_what_it_says_and_nothing_else(pecia: Pecia) -> None:
    for target, status in (
        ("/api/v1/admin/../admin/whoami", 400),
        ("/api/v1/%2e%2e/v1/admin/whoami", 400),
        ("/api/v1/admin/whoami/..", 400),
        ("/api/v1/admin%5cwhoami", 400),
        ("/api/v1/admin/whoami%00", 400),
        ("/api/v1/admin/whoami%0d%0aX: y", 400),
        ("//api/v1/admin/whoami", 404),
        ("/api/v1//admin/whoami", 404),
        ("/API/v1/admin/whoami", 404),
        ("/api/v1/admin/whoami/", 404),
        ("/api/v1/admin/whoami;x=1", 404),
        ("/api/v1/admin/%E0%A4%A", 404),
        ("/metrics/../readyz", 400),
    ):
        heard = await tell(pecia, request(pecia, target, auth(pecia)))
        assert heard.statuses == [status], target


async def test_a_target_that_is_no_path_harms_nobody(pecia: Pecia) -> None:
    for method, target in (
        ("OPTIONS", "*"),
        ("GET", "whoami"),
        ("GET", "http://"),
        ("GET", "/" + "a" * 70_000),
        ("CONNECT", "evil.example:443"),
        ("GET", "/\xe9"),
    ):
        heard = await tell(pecia, request(pecia, target, method=method))
        assert heard.statuses[0] in (400, 404, 431), target
    assert (await pecia.http.get("/healthz")).status_code == 200


async def test_a_head_without_end_is_refused(pecia: Pecia) -> None:
    start = b"GET / HTTP/1.1\r\nX-Long: "
    heard = await tell(pecia, start, *[b"a" * 10_000] * 100)
    assert heard.statuses in ([431], [])
    many = b"".join(b"X-%d: y\r\n" % number for number in range(100_000))
    assert (await tell(pecia, b"GET / HTTP/1.1\r\n", many)).statuses in ([431], [])
    assert (await pecia.http.get("/healthz")).status_code == 200


async def test_a_head_that_does_not_come_is_not_waited_for(
    pecia: Pecia, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(GuardedProtocol, "head_s", 0.05)
    assert (await tell(pecia, b"GET / HT")).statuses == [408]
    assert (await tell(pecia, b"")).statuses == [408]


async def test_a_second_head_is_not_waited_for_either(
    pecia: Pecia, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(GuardedProtocol, "head_s", 0.05)
    first = request(pecia).replace(b"Connection: close\r\n", b"")
    assert (await tell(pecia, first + b"GET / HT")).statuses == [200, 408]


async def test_a_slow_second_head_does_not_cut_off_the_first_answer(
    database: DatabaseLogins, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(GuardedProtocol, "head_s", 0.05)
    probe = Probe()
    async with open_pecia(database, tmp_path / "home", features=[probe.feature()]) as pecia:
        # It ends by its own deadline, long after the second head was due.
        first = request(pecia, "/api/v1/probe/wait", auth(pecia), "X-Pecia-Timeout: 0.5")
        first = first.replace(b"Connection: close\r\n", b"")
        assert (await tell(pecia, first + b"GET / HT")).statuses == [504, 408]


async def test_what_is_no_http_is_refused(pecia: Pecia) -> None:
    for data in (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"hello\r\n\r\n", b"\x00" * 100):
        assert (await tell(pecia, data)).statuses == [400]


@pytest.fixture
async def small(database: DatabaseLogins, tmp_path: Path) -> AsyncGenerator[Pecia]:
    """A server that takes little, and waits little for it."""
    async with open_pecia(
        database, tmp_path / "home", body_limit_bytes="100000", request_timeout_s="0.3"
    ) as served:
        yield served


async def test_a_body_over_the_limit_is_refused_by_its_length_alone(small: Pecia) -> None:
    length = "Content-Length: 100001"
    data = request(small, WHOAMI, JSON, auth(small), length, method="POST")
    heard = await tell(small, data)
    assert heard.statuses == [413]
    assert b'"max":100000' in heard.data


async def test_a_client_that_waits_for_leave_is_not_given_it_for_too_much(small: Pecia) -> None:
    headers = (JSON, auth(small), "Content-Length: 100001", "Expect: 100-continue")
    assert (await tell(small, request(small, WHOAMI, *headers, method="POST"))).statuses == [413]


async def test_a_body_in_chunks_is_counted_as_it_comes(small: Pecia) -> None:
    head = request(small, WHOAMI, JSON, auth(small), "Transfer-Encoding: chunked", method="POST")
    chunk = b"2710\r\n" + b" " * 10_000 + b"\r\n"
    assert (await tell(small, head, *[chunk] * 11)).statuses == [413]


async def test_a_refusal_reaches_a_client_that_reads_only_when_it_has_written_all(
    small: Pecia,
) -> None:
    length = 12_000_000
    head = request(small, WHOAMI, JSON, auth(small), f"Content-Length: {length}", method="POST")

    def write_then_read() -> bytes:
        with socket.create_connection(("127.0.0.1", small.port), timeout=10) as connection:
            connection.sendall(head + b" " * length)
            return connection.recv(4096)

    assert b" 413 " in await anyio.to_thread.run_sync(write_then_read)


async def test_a_body_that_stalls_is_not_waited_for(small: Pecia) -> None:
    headers = (JSON, auth(small), "Content-Length: 100")
    heard = await tell(small, request(small, WHOAMI, *headers, method="POST", body=b"{"))
    assert heard.statuses == [408]


async def test_a_client_that_leaves_in_the_middle_of_a_body_is_no_fault_of_ours(
    alone: Pecia, caplog: pytest.LogCaptureFixture
) -> None:
    # A path that no other test of this file goes: another server logs in this process too.
    path = "/api/v1/admin/list_users"
    data = request(alone, path, JSON, auth(alone), "Content-Length: 9", method="POST", body=b"{")
    with caplog.at_level(logging.INFO, logger="pecia.request"):
        async with await anyio.connect_tcp("127.0.0.1", alone.port) as stream:
            await stream.send(data)
        with anyio.fail_after(30):
            while not (lines := requests(caplog, path)):
                await anyio.lowlevel.checkpoint()
    assert [it.__dict__["fields"]["status"] for it in lines] == ["CANCELLED"]
    assert [it.levelno for it in lines] == [logging.INFO]


async def test_a_body_is_not_read_for_somebody_who_may_not_call(small: Pecia) -> None:
    headers = (JSON, "Content-Length: 100")
    assert (await tell(small, request(small, WHOAMI, *headers, method="POST"))).statuses == [401]


async def test_a_packed_body_is_refused_rather_than_unpacked(pecia: Pecia) -> None:
    headers = {**pecia.ana, "content-type": "application/json", "content-encoding": "gzip"}
    response = await pecia.http.post(WHOAMI, content=b"{}", headers=headers)
    assert response.status_code == 415
    assert response.json()["error"]["field"] == "Content-Encoding"


async def test_a_token_in_the_query_is_refused_and_written_nowhere(
    alone: Pecia, caplog: pytest.LogCaptureFixture
) -> None:
    token = alone.tokens["north", "ana"]
    with caplog.at_level(logging.DEBUG):
        for query in (f"access_token={token}", f"anything={token}", "access_token=eyJ.x.y"):
            response = await alone.http.get(f"{WHOAMI}?{query}", headers=alone.ana)
            assert response.status_code == 400
            assert response.json()["error"]["field"] == query.partition("=")[0]
            assert token not in response.text
    written = [str(it.__dict__) for it in caplog.records if it.name.startswith("pecia")]
    assert written
    assert not [it for it in written if token in it]


async def test_an_authorization_that_is_no_bearer_is_refused(pecia: Pecia) -> None:
    for given in ("Basic YTpi", "Bearer", "Bearer ", "bearer a b", "Bearer a,b", "Token x", "é"):
        heard = await tell(pecia, request(pecia, WHOAMI, f"Authorization: {given}"))
        assert heard.statuses == [401], given
        assert b'error="invalid_token"' in heard.data, given


async def test_a_flood_of_refused_requests_leaves_few_audit_rows_and_a_good_call_its_own(
    database: DatabaseLogins, tmp_path: Path
) -> None:
    async with open_pecia(database, tmp_path / "home") as pecia:
        for number in range(60):
            headers = {} if number % 2 else {"authorization": "Bearer guessed"}
            assert (await pecia.http.get(WHOAMI, headers=headers)).status_code == 401
        await pecia.call("admin/whoami")
        rows = await pecia.audit(tool="authenticate")
        # Ten at once, and one more for every six seconds that this took.
        assert 10 <= len(rows) < 30
        assert {it["code"] for it in rows} == {"AUTH_REQUIRED"}
        assert len(await pecia.audit(tool="admin.whoami")) == 1


async def test_strangers_and_guessers_are_slowed_and_good_tokens_are_not(
    database: DatabaseLogins, tmp_path: Path
) -> None:
    async with open_pecia(
        database, tmp_path / "home", address_rate_per_s="0.001", address_burst="5"
    ) as pecia:
        guesses = [bearing("peciapat_" + "x" * 49), {}] * 10
        answers = [await pecia.http.get(WHOAMI, headers=it) for it in guesses]
        assert [it.status_code for it in answers] == [401] * 5 + [429] * 15
        assert int(answers[-1].headers["retry-after"]) > 1
        assert answers[-1].json()["error"]["retryable"] is True
        assert "address_rate_per_s" in answers[-1].json()["error"]["message"]
        assert (await pecia.call("admin/whoami")).status_code == 200
        assert len(await pecia.audit(tool="authenticate")) == 5


async def test_ten_thousand_requests_leave_nothing_behind(
    database: DatabaseLogins, tmp_path: Path
) -> None:
    # An error that is expected, because pytest keeps the tracebacks of the others.
    probe = Probe(failure=fails_with(NotFound))
    async with open_pecia(database, tmp_path / "home", features=[probe.feature()]) as pecia:
        mixed = _mixed(pecia)
        await _flood(pecia, mixed, 10)
        before = _held()
        await _flood(pecia, mixed, 200)
        after = _held()
        assert (await pecia.http.get("/readyz")).status_code == 200
        assert pecia.app.audit_log.backlog_bytes() < 10_000
    assert after.tasks <= before.tasks
    assert after.files <= before.files + 2
    assert after.objects - before.objects < 5_000


@dataclass(frozen=True, slots=True)
class _Held:
    """What a process holds that a leak would make grow."""

    objects: int
    tasks: int
    files: int


def _held() -> _Held:
    gc.collect()
    return _Held(len(gc.get_objects()), len(asyncio.all_tasks()), psutil.Process().num_fds())


def _mixed(pecia: Pecia) -> bytes:
    """Fifty requests, good and bad, to be sent in one breath, and one that ends it."""
    kinds = (
        request(pecia, WHOAMI, auth(pecia)),
        request(pecia, "/healthz"),
        request(pecia, "/nowhere"),
        request(pecia, WHOAMI),
        request(pecia, WHOAMI, "Origin: http://evil.example"),
        request(pecia, "/api/v1/probe/fail", auth(pecia)),
        request(pecia, WHOAMI + "?access_token=x"),
        request(pecia, WHOAMI, JSON, auth(pecia), "Content-Length: 1", method="POST", body=b"{"),
        request(pecia, "/api/v1/probe/echo?text=hello", auth(pecia)),
        request(pecia, "/healthz", method="PUT"),
    )
    fifty = b"".join(kinds * 5).replace(b"Connection: close\r\n", b"")
    return fifty + request(pecia, "/healthz")


async def _flood(pecia: Pecia, mixed: bytes, times: int) -> None:
    for _ in range(times):
        heard = await tell(pecia, mixed, silent_s=30)
        assert len(heard.statuses) == 51
        await pecia.app.audit_log.drain()
