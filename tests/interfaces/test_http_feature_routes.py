"""What features have beside tools: pages and sockets, served by the HTTP interface."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import httpx
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.typing import Subprotocol

from pecia.kernel.errors import NotFound
from pecia.kernel.feature import (
    Feature,
    FeaturePage,
    FeatureRequest,
    FeatureRoute,
    FeatureSocket,
    MessageStream,
)
from pecia.kernel.store.cluster import DatabaseLogins
from tests.interfaces.tenant_server import Pecia, bearing, open_pecia

pytestmark = pytest.mark.anyio


async def show(ask: FeatureRequest) -> FeaturePage:
    said = f"{ask.caller.user} {ask.path['name']} {ask.query.get('q', '-')} {ask.body.decode()}"
    return FeaturePage(said.encode(), "text/plain; charset=utf-8", 200, (("x-room", "yes"),))


async def missing(ask: FeatureRequest) -> FeaturePage:
    raise NotFound("no such page here")


async def broken(ask: FeatureRequest) -> FeaturePage:
    raise RuntimeError("a detail nobody outside may read")


class SlowSearch:
    """A look for a document that takes as long as a test wants."""

    def __init__(self) -> None:
        self.begun, self.over = anyio.Event(), anyio.Event()


SEARCHES = list[SlowSearch]()


async def echo(ask: FeatureRequest, duplex: MessageStream) -> None:
    """Gives back what comes, until it is told to stop."""
    if ask.path["doc"] == "slowly":
        SEARCHES[-1].begun.set()
        await SEARCHES[-1].over.wait()
        raise NotFound("no such document")
    if ask.path["doc"] == "nowhere":
        raise NotFound("no such document")
    while (message := await duplex.receive()) != b"stop":
        if message == b"missing":
            raise NotFound("no such document")
        if message == b"broken":
            raise RuntimeError("a detail nobody outside may read")
        await duplex.send(ask.caller.user.encode() + b" " + message)


FEATURE = Feature(
    "fake",
    routes=(
        FeatureRoute("GET", "/fake/{name}", "fake/show", show),
        FeatureRoute("POST", "/fake/{name}", "fake/save", show),
        FeatureRoute("GET", "/fake/public/{name}", "fake/public", show, public=True),
        FeatureRoute("GET", "/fake/missing/now", "fake/missing", missing),
        FeatureRoute("GET", "/fake/broken/now", "fake/broken", broken),
    ),
    sockets=(FeatureSocket("/fake/socket/{doc:path}", "fake/socket", echo),),
)


@pytest.fixture
async def alone(database: DatabaseLogins, tmp_path: Path) -> AsyncGenerator[Pecia]:
    async with open_pecia(database, tmp_path / "home", features=[FEATURE]) as served:
        yield served


@pytest.fixture(scope="module")
async def shared(
    module_database: DatabaseLogins, tmp_path_factory: pytest.TempPathFactory
) -> AsyncGenerator[Pecia]:
    home = tmp_path_factory.mktemp("home")
    async with open_pecia(module_database, home, features=[FEATURE]) as served:
        yield served


@pytest.fixture
def pecia(shared: Pecia) -> Pecia:
    """Tests that must be the first at a server ask for one `alone`."""
    return shared


def dial(pecia: Pecia, doc: str = "a/b", **options: Any) -> Any:
    url = pecia.url.replace("http", "ws")
    return connect(f"{url}/fake/socket/{doc}", proxy=None, **options)


async def test_a_caller_who_leaves_before_the_refusal_is_no_error_of_the_server(
    pecia: Pecia, caplog: pytest.LogCaptureFixture
) -> None:
    SEARCHES.append(search := SlowSearch())
    host, port = pecia.url.removeprefix("http://").split(":")
    asked = (
        f"GET /fake/socket/slowly HTTP/1.1\r\nHost: {host}:{port}\r\n"
        f"Authorization: {pecia.ana['authorization']}\r\n"
        "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
    async with await anyio.connect_tcp(host, int(port)) as stream:
        await stream.send(asked.encode())
        await search.begun.wait()
    # An answer to somebody else: by then the server has heard that the first one left.
    await pecia.http.get("/fake/thing", headers=pecia.bo)
    search.over.set()
    await pecia.http.get("/fake/thing", headers=pecia.bo)
    assert [it.getMessage() for it in caplog.records if it.levelname == "ERROR"] == []


async def test_a_page_of_a_room_is_served_to_its_caller(pecia: Pecia) -> None:
    response = await pecia.http.get("/fake/thing?q=1", headers=pecia.bo)
    assert response.status_code == 200
    assert response.text == "bo thing 1 "
    assert response.headers["x-room"] == "yes"
    assert response.headers["content-type"] == "text/plain; charset=utf-8"
    assert response.headers["x-content-type-options"] == "nosniff"


async def test_a_body_is_handed_to_the_room(pecia: Pecia) -> None:
    response = await pecia.http.post("/fake/thing", content=b"words", headers=pecia.ana)
    assert response.text == "ana thing - words"


async def test_a_page_has_the_methods_that_its_routes_name(pecia: Pecia) -> None:
    response = await pecia.http.delete("/fake/thing", headers=pecia.ana)
    assert response.status_code == 405
    assert response.headers["allow"] == "GET, HEAD, OPTIONS, POST"


async def test_a_page_that_is_not_public_wants_a_token(pecia: Pecia) -> None:
    response = await pecia.http.get("/fake/thing")
    assert response.status_code == 401
    assert 'scope="pecia.read"' in response.headers["www-authenticate"]


async def test_a_token_without_the_read_scope_is_not_enough(pecia: Pecia) -> None:
    weak = bearing(await pecia.token("north", "bo", ["pecia.search"]))
    assert (await pecia.http.get("/fake/thing", headers=weak)).status_code == 403


async def test_an_operator_is_in_no_room(pecia: Pecia) -> None:
    response = await pecia.http.get("/fake/thing", headers=bearing(pecia.operator))
    assert response.status_code == 403


async def test_a_public_page_is_shown_to_nobody_in_particular(pecia: Pecia) -> None:
    response = await pecia.http.get("/fake/public/thing")
    assert response.text == "nobody thing - "


async def test_a_public_page_knows_who_brings_a_token(pecia: Pecia) -> None:
    response = await pecia.http.get("/fake/public/thing", headers=pecia.bo)
    assert response.text == "bo thing - "


async def test_a_bad_token_is_refused_even_on_a_public_page(pecia: Pecia) -> None:
    response = await pecia.http.get("/fake/public/thing", headers=bearing("peciapat_x"))
    assert response.status_code == 401


async def test_a_pages_failure_is_rendered_like_any_other(pecia: Pecia) -> None:
    response = await pecia.http.get("/fake/missing/now", headers=pecia.ana)
    assert response.status_code == 404
    assert response.json()["error"]["message"] == "no such page here"


async def test_a_broken_page_tells_nothing_of_its_inside(pecia: Pecia) -> None:
    response = await pecia.http.get("/fake/broken/now", headers=pecia.ana)
    assert response.status_code == 500
    assert "detail" not in response.text


async def test_every_page_leaves_one_audit_row_without_its_query(alone: Pecia) -> None:
    await alone.http.get("/fake/thing?q=a-signed-secret", headers=alone.bo)
    await alone.http.get("/fake/missing/now", headers=alone.bo)
    await alone.http.get("/fake/public/thing")
    [shown] = await alone.audit(tool="fake/show")
    assert (shown["status"], shown["arguments"]) == ("ok", {"name": "thing"})
    assert shown["user_id"] is not None
    [absent] = await alone.audit(tool="fake/missing")
    assert (absent["status"], absent["code"]) == ("error", "NOT_FOUND")
    [public] = await alone.audit(tool="fake/public")
    assert (public["status"], public["tenant_id"], public["user_id"]) == ("ok", None, None)


async def test_a_parameter_of_a_page_may_not_come_twice(pecia: Pecia) -> None:
    response = await pecia.http.get("/fake/thing?q=1&q=2", headers=pecia.ana)
    assert response.status_code == 400
    assert response.json()["error"]["field"] == "q"


async def test_a_socket_speaks_with_its_caller(pecia: Pecia) -> None:
    async with dial(pecia, additional_headers=pecia.bo) as socket:
        await socket.send(b"hello")
        assert await socket.recv() == b"bo hello"


async def test_a_browser_may_bring_its_token_as_a_subprotocol(pecia: Pecia) -> None:
    offered = [Subprotocol("pecia"), Subprotocol(f"bearer.{pecia.tokens['north', 'ana']}")]
    async with dial(pecia, subprotocols=offered) as socket:
        assert socket.subprotocol == "pecia"
        await socket.send(b"hello")
        assert await socket.recv() == b"ana hello"


async def refusal(pecia: Pecia, **options: Any) -> httpx.Response | Any:
    with pytest.raises(InvalidStatus) as refused:
        async with dial(pecia, **options):
            pass
    return refused.value.response


async def test_a_socket_without_a_token_is_refused_before_it_opens(pecia: Pecia) -> None:
    response = await refusal(pecia)
    assert response.status_code == 401
    assert response.headers["www-authenticate"].startswith("Bearer resource_metadata=")


async def test_a_socket_with_a_bad_token_is_told_so(pecia: Pecia) -> None:
    for options in (
        {"additional_headers": bearing("peciapat_x")},
        {"subprotocols": [Subprotocol("bearer.peciapat_x")]},
    ):
        response = await refusal(pecia, **options)
        assert response.status_code == 401
        assert 'error="invalid_token"' in response.headers["www-authenticate"]


async def test_a_page_of_another_origin_opens_no_socket(pecia: Pecia) -> None:
    response = await refusal(pecia, additional_headers=pecia.ana, origin="http://evil.example")
    assert response.status_code == 403


async def test_a_socket_that_is_not_there_is_not_found(pecia: Pecia) -> None:
    url = pecia.url.replace("http", "ws")
    with pytest.raises(InvalidStatus) as refused:
        async with connect(f"{url}/nowhere", proxy=None, additional_headers=pecia.ana):
            pass
    assert refused.value.response.status_code == 404


async def closed(socket: ClientConnection) -> tuple[int, str]:
    with pytest.raises(ConnectionClosed), anyio.fail_after(5):
        await socket.recv()
    return socket.close_code or 0, socket.close_reason or ""


async def test_a_failure_on_an_open_socket_closes_it_with_its_code(pecia: Pecia) -> None:
    async with dial(pecia, additional_headers=pecia.ana) as socket:
        await socket.send(b"missing")
        assert await closed(socket) == (4404, "NOT_FOUND")


async def test_a_socket_is_refused_before_it_opens_where_the_room_says_so(pecia: Pecia) -> None:
    with pytest.raises(InvalidStatus) as refused:
        await dial(pecia, "nowhere", additional_headers=pecia.ana)
    assert refused.value.response.status_code == 404


async def test_a_broken_socket_tells_nothing_of_its_inside(pecia: Pecia) -> None:
    async with dial(pecia, additional_headers=pecia.ana) as socket:
        await socket.send(b"broken")
        assert await closed(socket) == (4500, "INTERNAL_ERROR")


async def test_text_is_no_message_here(pecia: Pecia) -> None:
    async with dial(pecia, additional_headers=pecia.ana) as socket:
        await socket.send("words")
        assert (await closed(socket))[0] == 1003


async def test_a_socket_leaves_one_audit_row_when_it_ends(alone: Pecia) -> None:
    async with dial(alone, additional_headers=alone.bo) as socket:
        await socket.send(b"stop")
        assert (await closed(socket))[0] == 1000
    async with dial(alone, "other", additional_headers=alone.bo):
        pass
    with anyio.fail_after(5):
        while len(rows := await alone.audit(tool="fake/socket")) < 2:
            await anyio.lowlevel.checkpoint()
    assert [it["status"] for it in rows] == ["ok", "ok"]
    assert [it["arguments"] for it in rows] == [{"doc": "a/b"}, {"doc": "other"}]


async def test_an_open_socket_does_not_hold_the_server_up(
    database: DatabaseLogins, tmp_path: Path
) -> None:
    async with open_pecia(database, tmp_path / "home", features=[FEATURE]) as pecia:
        socket = await dial(pecia, additional_headers=pecia.ana)
    assert (await closed(socket))[0] == 1012
