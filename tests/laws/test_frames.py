"""Whatever frame comes over HTTP, SSE or stdio: a valid envelope, no crash, no hang.

In a soak there are a million of them, most in this process, some over sockets and stdio.
"""

import logging
import time
from collections import Counter
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Protocol

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pecia.app.app import SETTINGS, App, open_app
from pecia.interfaces.cli.main import unwrap_group
from pecia.interfaces.http.server import serve_http
from pecia.interfaces.mcp.mount import mount_mcp
from pecia.kernel.identity import owner_token
from pecia.kernel.settings.load import load_settings
from pecia.kernel.store.cluster import DatabaseLogins
from tests.conftest import house_flags, no_fetch
from tests.laws.frame_transports import (
    HttpTransport,
    SocketTransport,
    SseTransport,
    Unsound,
    in_process,
    shim,
    show_owner,
)
from tests.laws.frames import KINDS, complaint, envelope_complaint, frame
from tests.soak import FIRST, FRAMES, SOAK, record

LIMIT = pytest.mark.timeout(0 if SOAK else 120)
# The SDK leaves the streams of a session that is cut off to the garbage collector.
UNCLOSED = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

SHARES = {"http": 0.86, "sse": 0.1, "socket": 0.02, "stdio": 0.02}
"""Of all frames. The dear ones are fewer."""
AT_ONCE = {"socket": 32}
"""A refused upload is heard out for a second, so that others need not wait for it."""
ROUND = 500
"""After so many frames the server is asked whether it is still there, and the audit emptied."""


class FrameTransport(Protocol):
    statuses: Counter[int]

    async def throw(self, chance: Random) -> None: ...

    async def ping(self) -> None: ...


@pytest.fixture(autouse=True)
def quiet() -> Generator[None]:
    """A million refusals are a million lines, and the tests would keep them all."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@asynccontextmanager
async def opened(database: DatabaseLogins, home: Path) -> AsyncGenerator[App]:
    loose = {"address_rate_per_s": "100000", "address_burst": "100000"}
    flags = {**house_flags(database, home), **loose, "desk.conformance": "true"}
    found = load_settings(SETTINGS, flags=flags, environ={}, project_file=None, user_file=None)
    async with open_app(found, fetch=no_fetch, report=lambda _: None) as app:
        token = owner_token.read(home)
        assert token is not None
        show_owner(token)
        yield app


async def thrown(target: FrameTransport, app: App, transport: str) -> dict[str, object]:
    """So many frames as this transport has to take, and how they were answered."""
    count, began = max(1, round(FRAMES * SHARES[transport])), time.monotonic()
    seeds = iter(range(FIRST, FIRST + count))

    async def throw() -> None:
        for seed in seeds:
            await _one(target, transport, seed)
            if seed % ROUND == 0:
                await target.ping()
                await app.audit_log.drain()

    async with anyio.create_task_group() as tasks:
        for _ in range(AT_ONCE.get(transport, 1)):
            tasks.start_soon(throw)
    await target.ping()
    took_s = round(time.monotonic() - began)
    return {"frames": count, "seconds": took_s, "statuses": dict(sorted(target.statuses.items()))}


async def _one(target: FrameTransport, transport: str, seed: int) -> None:
    try:
        await target.throw(Random(f"{transport} {seed}"))
    except (Unsound, TimeoutError) as error:
        error.add_note(f"the frame of seed {transport!r} {seed}")
        raise


@LIMIT
@UNCLOSED
@pytest.mark.anyio
async def test_every_frame_is_answered_with_an_envelope(
    database: DatabaseLogins, tmp_path: Path
) -> None:
    try:
        figures = await thrown_at_all(database, tmp_path)
    except BaseExceptionGroup as group:
        # Every transport is a nested task group: the frame that broke the law is deep inside.
        raise unwrap_group(group) from None
    record("frames", {"first_seed": FIRST, "frames": FRAMES, "transports": figures})


async def thrown_at_all(database: DatabaseLogins, tmp_path: Path) -> dict[str, object]:
    figures: dict[str, object] = {}
    async with opened(database, tmp_path / "home") as app:
        async with in_process(app) as asgi, anyio.create_task_group() as tasks:
            figures["http"] = await thrown(HttpTransport(asgi), app, "http")
            figures["sse"] = await thrown(SseTransport(asgi, tasks), app, "sse")
            tasks.cancel_scope.cancel()
        async with serve_http(app, port=0, mounts=[mount_mcp], instance="t") as where:
            figures["socket"] = await thrown(SocketTransport(where.port), app, "socket")
            async with shim(where.port, tmp_path) as target:
                figures["stdio"] = await thrown(target, app, "stdio")
    return figures


@LIMIT
@UNCLOSED
@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(chance=st.randoms(use_true_random=False))
def test_frames_never_seen_before_are_answered_too(
    database: DatabaseLogins, tmp_path: Path, chance: Random
) -> None:
    async def tried() -> None:
        async with opened(database, tmp_path / "home") as app, in_process(app) as asgi:
            target = HttpTransport(asgi)
            for _ in range(20):
                await target.throw(chance)
            await target.ping()

    anyio.run(tried)


def test_every_kind_of_frame_is_thrown() -> None:
    kinds = {frame(Random(seed)).kind for seed in range(500)}
    assert kinds == {name for name, _ in KINDS}


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (500, b'{"jsonrpc":"2.0","id":1,"result":{}}'),
        (200, b"<html>"),
        (200, b'{"jsonrpc":"2.0","id":1}'),
        (200, b'{"jsonrpc":"2.0","id":1,"result":{},"error":{}}'),
        (400, b'{"jsonrpc":"2.0","id":1,"error":{"code":"X","message":"y"}}'),
        (200, b'{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"y"}}'),
        (400, b'{"error":"no"}'),
        (200, b'[{"jsonrpc":"1.0","id":1,"result":{}}]'),
    ],
)
def test_what_is_no_envelope_is_noticed(status: int, body: bytes) -> None:
    assert complaint(status, {"content-type": "application/json"}, body)


def test_what_is_one_is_not_complained_about() -> None:
    for body in (
        b'{"jsonrpc":"2.0","id":1,"result":{}}',
        b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"y"}}',
        b'[{"jsonrpc":"2.0","id":1,"result":{}}]',
    ):
        assert complaint(200, {"content-type": "application/json"}, body) is None
    assert envelope_complaint({"jsonrpc": "2.0", "method": "notifications/x"}) is None
