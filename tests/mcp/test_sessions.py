"""Sessions and streams are capped for each owner: nobody's handshakes keep others out."""

from contextlib import AsyncExitStack

import httpx
import pytest

from tests.mcp.conftest import Serve, Served
from tests.mcp.raw_mcp import BOTH, RawMcp
from tests.mcp.test_stdio import HELLO

pytestmark = pytest.mark.anyio

PATH = "/mcp/all"


async def begun(served: Served, token: str, path: str = PATH) -> tuple[httpx.Response, RawMcp]:
    """An answer to `initialize`, and the client in the session that it began."""
    talk = served.other(token)
    response = await talk.post(path, {**HELLO, "id": "hello"}, accept=BOTH)
    talk.session = response.headers.get("mcp-session-id")
    talk.version = "2025-11-25"
    return response, talk


async def is_alive(talk: RawMcp, path: str = PATH) -> bool:
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    response = await talk.post(path, ping, accept=BOTH)
    assert response.status_code in (200, 404)
    return response.status_code == 200


def require_refused(response: httpx.Response) -> None:
    """Refused for now, under the id that the client waits for."""
    assert response.status_code == 429
    assert int(response.headers["retry-after"]) >= 1
    error = response.json()
    assert error["id"] == "hello"
    assert error["error"]["data"]["code"] == "RATE_LIMITED"


async def test_past_the_cap_the_longest_idle_session_of_the_same_owner_ends(serve: Serve) -> None:
    async with serve(mcp_sessions_per_user="3") as served:
        ana, bo = await served.token("ana"), await served.token("bo")
        _, others = await begun(served, ana)
        talks = [(await begun(served, bo))[1] for _ in range(3)]
        # The first is used again, so that the second is idle longest.
        assert await is_alive(talks[0])
        response, newest = await begun(served, bo)
        assert response.status_code == 200
        assert [await is_alive(it) for it in (*talks, newest)] == [True, False, True, True]
        assert await is_alive(others)


async def test_the_cap_holds_over_all_endpoints_together(serve: Serve) -> None:
    async with serve(mcp_sessions_per_user="2") as served:
        bo = await served.token("bo")
        _, first = await begun(served, bo, "/mcp/all")
        await begun(served, bo, "/mcp/wiki")
        await begun(served, bo, "/mcp")
        assert not await is_alive(first)


async def test_one_owner_who_shakes_hands_without_end_keeps_nobody_out(serve: Serve) -> None:
    """More handshakes than the whole process has room for, and everybody else is served."""
    limits = {"mcp_sessions_per_user": "5", "mcp_sessions_max": "10"}
    async with serve(mcp_sessions_per_minute="1000", **limits) as served:
        ana, bo, cy = [await served.token(it) for it in ("ana", "bo", "cy")]
        _, quiet = await begun(served, ana)
        for _ in range(30):
            response, _ = await begun(served, bo)
            assert response.status_code == 200
        assert await is_alive(quiet)
        late = [await begun(served, cy) for _ in range(6)]
        assert [it.status_code for it, _ in late] == [200] * 6
        assert await is_alive(late[-1][1])
        assert await is_alive(quiet)


async def test_where_every_session_is_busy_another_is_refused_for_now(serve: Serve) -> None:
    async with serve(mcp_sessions_per_user="2") as served:
        bo = await served.token("bo")
        async with AsyncExitStack() as stack:
            for _ in range(2):
                _, talk = await begun(served, bo)
                stream = await stack.enter_async_context(talk.stream(PATH))
                assert stream.status_code == 200
            response, _ = await begun(served, bo)
            require_refused(response)
            older = await served.other(bo).http.get(
                "/sse", headers={"authorization": f"Bearer {bo}"}
            )
            assert older.status_code == 429
            response, _ = await begun(served, await served.token("ana"))
            assert response.status_code == 200


async def test_handshakes_are_limited_by_the_minute(serve: Serve) -> None:
    async with serve(mcp_sessions_per_minute="3") as served:
        ana, bo = await served.token("ana"), await served.token("bo")
        for _ in range(3):
            response, _ = await begun(served, bo)
            assert response.status_code == 200
        response, _ = await begun(served, bo)
        require_refused(response)
        response, _ = await begun(served, ana)
        assert response.status_code == 200


async def test_who_has_no_token_is_counted_by_address(serve: Serve) -> None:
    async with serve(local_tenant="north"):
        pass
    public = {"public_toolsets": "ckf", "public_tenant": "north", "trusted_proxies": "127.0.0.0/8"}
    async with (
        serve(mode="server", mcp_sessions_per_user="1", **public) as served,
        AsyncExitStack() as stack,
    ):
        talks: list[RawMcp] = []
        for address in ("203.0.113.1", "203.0.113.1", "203.0.113.2"):
            headers = {"x-forwarded-for": address}
            http = httpx.AsyncClient(base_url=served.url, timeout=20, headers=headers)
            talks.append(RawMcp(await stack.enter_async_context(http)))
            await talks[-1].begin("/mcp")
        alive = [await is_alive(it, "/mcp") for it in talks]
    assert alive == [False, True, True]
