"""How long a call may take: in silence, and in all."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import anyio
import anyio.lowlevel
import pytest

from pecia.app.dispatch import ANONYMOUS_CALLER
from pecia.features.hub.call_timeout import CallTimeout
from pecia.features.hub.model import ServerOptions
from pecia.features.hub.ports import UpstreamProgress
from pecia.kernel.store.audit.record import AuditRecord
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.null_channel import NULL_CHANNEL

pytestmark = pytest.mark.anyio


@dataclass(slots=True)
class Line:
    """A server that makes one step, and notes until when it may go on."""

    over: anyio.Event = field(default_factory=anyio.Event)
    about: Mapping[str, Any] = field(default_factory=dict[str, Any])
    deadlines: list[float] = field(default_factory=list[float])

    async def tools(self) -> list[dict[str, Any]]:
        return []

    async def call(
        self, tool: str, arguments: Mapping[str, Any], progress: UpstreamProgress | None = None
    ) -> dict[str, Any]:
        assert progress is not None
        self.deadlines.append(anyio.current_effective_deadline())
        # A clock that has not moved would show nothing.
        before = anyio.current_time()
        while anyio.current_time() == before:
            await anyio.lowlevel.checkpoint()
        await progress(1, None, None)
        self.deadlines.append(anyio.current_effective_deadline())
        return {}


def call() -> Call:
    return Call(
        ANONYMOUS_CALLER,
        NULL_CHANNEL,
        AuditRecord(uuid4(), "t", "test"),
        anyio.current_time() + 1_000,
    )


async def deadlines(options: ServerOptions) -> tuple[float, float]:
    """Seconds from the beginning until the end, before and after a step."""
    line, begun = Line(), anyio.current_time()
    await CallTimeout(call(), options, 60).call(line, "t", {})
    before, after = line.deadlines
    return before - begun, after - begun


@pytest.mark.requirement("hub.timeout.reset_on_progress")
async def test_progress_starts_the_time_anew_where_that_is_wished() -> None:
    before, after = await deadlines(ServerOptions(timeout_s=30, resets_on_progress=True))
    assert after > before >= 30


async def test_progress_alone_gives_no_more_time() -> None:
    before, after = await deadlines(ServerOptions(timeout_s=30))
    assert after == before


async def test_no_progress_goes_beyond_the_time_in_all() -> None:
    options = ServerOptions(timeout_s=120, resets_on_progress=True, most_s=120)
    before, after = await deadlines(options)
    assert after == before


@pytest.mark.requirement("hub.timeout.example")
async def test_with_30_s_anew_and_120_in_all_steady_progress_ends_at_120(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun = anyio.current_time()
    now = [begun]
    monkeypatch.setattr(anyio, "current_time", lambda: now[0])
    ends: list[float] = []

    class Steady(Line):
        """Makes a step every 20 seconds of a clock that only this test has."""

        async def call(
            self, tool: str, arguments: Mapping[str, Any], progress: UpstreamProgress | None = None
        ) -> dict[str, Any]:
            assert progress is not None
            for step in range(6):
                now[0] = begun + 20 * step
                await progress(step, None, None)
                ends.append(anyio.current_effective_deadline() - begun)
            return {}

    options = ServerOptions(timeout_s=30, resets_on_progress=True, most_s=120)
    await CallTimeout(call(), options, 60).call(Steady(), "t", {})
    assert [round(it) for it in ends] == [30, 50, 70, 90, 110, 120]


async def test_what_a_server_does_not_say_the_settings_do() -> None:
    before, _ = await deadlines(ServerOptions())
    assert 60 <= before < 70
