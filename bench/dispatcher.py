"""What the dispatcher costs: CPU of Pecia's process per call, without the tool's own transaction.

Authenticate, view, rate limit, validate, audit and the drain of the audit into the database, over
the same handler called bare.
"""

import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio

from bench import result
from pecia.app.app import SETTINGS, App, open_app
from pecia.app.dispatch import RequestContext
from pecia.kernel.errors import UpstreamError
from pecia.kernel.identity.caller import Scope
from pecia.kernel.settings.load import load_settings
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import Input, Output, Tool
from pecia.kernel.tool.view import ToolView, combine_tools

CALLS = 5000
ROUNDS = 5
CONTEXT = RequestContext("bench", client_ip="127.0.0.1")


class Two(Input):
    a: int
    b: int


class Sum(Output):
    sum: int


async def add(call: Call | None, ask: Two) -> Sum:
    """Add two numbers."""
    return Sum(sum=ask.a + ask.b)


async def no_fetch(url: str) -> bytes:
    raise UpstreamError(url)


async def cpu_us(step: Callable[[], Awaitable[Any]]) -> float:
    """CPU microseconds a step, the best of some rounds: noise only ever adds."""
    best = float("inf")
    for _ in range(ROUNDS):
        started = time.process_time()
        for _ in range(CALLS):
            await step()
        best = min(best, (time.process_time() - started) / CALLS * 1e6)
    return round(best, 1)


async def measure(app: App) -> dict[str, Any]:
    owner = await app.authenticate(None, CONTEXT)
    made = await app.call(owner, "make_token", {"label": "bench"}, CONTEXT)
    assert isinstance(made.structured, dict)
    token = str(made.structured["token"])
    figures: dict[str, Any] = {}

    async def bare() -> None:
        await add(None, Two(a=1, b=2))

    def through(view: ToolView) -> Callable[[], Awaitable[Any]]:
        async def call() -> None:
            who = await app.authenticate(token, CONTEXT)
            await app.call(who, "add", {"a": 1, "b": 2}, CONTEXT, view)

        return call

    figures["bare_us"] = await cpu_us(bare)
    for tools in (1, 60, 1000):
        await app.audit_log.drain()
        figures[f"dispatcher_us_at_{tools}_tools"] = await cpu_us(through(_view(tools)))
    started = time.process_time()
    await app.audit_log.drain()
    drained = (time.process_time() - started) / (CALLS * ROUNDS) * 1e6
    figures["audit_drain_us_per_call"] = round(drained, 1)
    figures["total_us"] = round(figures["dispatcher_us_at_60_tools"] + drained, 1)
    figures["target_us"] = 150
    return figures


def _view(tools: int) -> ToolView:
    others = [Tool("bench", f"add{count}", Scope.READ, Two, Sum, add) for count in range(tools - 1)]
    return combine_tools([Tool("bench", "add", Scope.READ, Two, Sum, add), *others])


async def run(home: Path) -> dict[str, Any]:
    flags = {"home": str(home), "principal_rate_per_s": "1000000", "principal_burst": "1000000"}
    settings = load_settings(SETTINGS, flags=flags, environ={}, project_file=None, user_file=None)
    async with open_app(settings, fetch=no_fetch, report=print) as app:
        return await measure(app)


def main() -> Path:
    with tempfile.TemporaryDirectory() as folder:
        return result.write("dispatcher", anyio.run(run, Path(folder)))
