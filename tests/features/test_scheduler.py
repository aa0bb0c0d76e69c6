"""Turns, deadlines and back-pressure, seen from the end that calls."""

import threading
from dataclasses import replace
from typing import Any

import anyio
import anyio.to_thread
import pytest

from pecia.app.dispatch import Dispatcher, RequestContext
from pecia.app.scheduler import Scheduler, SlotLimits
from pecia.kernel.errors import Json, RateLimited, Timeout, Unavailable
from pecia.kernel.identity.caller import Scope
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import Input, Output, Tool
from pecia.kernel.tool.view import ToolView, combine_tools
from tests.conftest import CONTEXT, House

pytestmark = pytest.mark.anyio


NONE: dict[str, Json] = {}


class Nothing(Input):
    pass


class Done(Output):
    done: bool = True


def view(**runs: Any) -> ToolView:
    """Tools of these names. Each gets a docstring, which every tool needs."""
    for run in runs.values():
        run.__doc__ = "A probe."
    return combine_tools(
        [Tool("probe", name, Scope.READ, Nothing, Done, it) for name, it in runs.items()]
    )


def dispatcher(house: House, wait_s: float = 30.0, **limits: int) -> Dispatcher:
    """The one of the house, with slots of our choice."""
    return replace(house.app.dispatcher, scheduler=Scheduler(SlotLimits(**limits), wait_s=wait_s))


async def test_a_thread_that_cannot_be_stopped_is_answered_for_at_the_deadline(
    house: House,
) -> None:
    may_end = threading.Event()

    async def stubborn(call: Call, ask: Nothing) -> Done:
        await anyio.to_thread.run_sync(may_end.wait)
        return Done()

    it = dispatcher(house, running=1, tenant_running=1, principal_running=1)
    hurried = RequestContext("test", timeout_s=0.05)
    with anyio.fail_after(30):
        with pytest.raises(Timeout):
            await it.call(house.bo, view(run=stubborn), "run", {}, hurried)
        assert it.scheduler.queue.running == 1
        may_end.set()
        # What could not be stopped kept its slot until it ended.
        await it.call(house.bo, view(run=quick), "run", {}, CONTEXT)
    assert it.scheduler.queue.is_idle()


async def quick(call: Call, ask: Nothing) -> Done:
    return Done()


async def test_a_polite_caller_runs_before_the_rest_of_a_crowd(house: House) -> None:
    order: list[str] = []
    release = anyio.Event()

    async def run(call: Call, ask: Nothing) -> Done:
        await release.wait()
        order.append(call.caller.user)
        return Done()

    it = dispatcher(house, running=2, tenant_running=2, principal_running=2)
    tools = view(run=run)
    async with anyio.create_task_group() as tasks:
        for _ in range(50):
            tasks.start_soon(it.call, house.ana, tools, "run", NONE, CONTEXT)
        await anyio.wait_all_tasks_blocked()
        tasks.start_soon(it.call, house.bo, tools, "run", NONE, CONTEXT)
        await anyio.wait_all_tasks_blocked()
        release.set()
    # Two were running, and at most one more of the crowd came before.
    assert order.index(house.bo.user) <= 3
    assert len(order) == 51
    assert it.scheduler.queue.is_idle()


async def test_more_than_may_wait_is_refused_with_the_time_to_wait(house: House) -> None:
    it = dispatcher(house, running=1, tenant_running=1, principal_running=1, principal_waiting=2)

    async def wait(call: Call, ask: Nothing) -> Done:
        await anyio.sleep_forever()
        return Done()

    tools = view(wait=wait)
    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(it.call, house.bo, tools, "wait", NONE, CONTEXT)
        await anyio.wait_all_tasks_blocked()
        with pytest.raises(RateLimited) as refused:
            await it.call(house.bo, tools, "wait", NONE, CONTEXT)
        assert int(str(refused.value.payload()["retry_after_seconds"])) >= 1
        tasks.cancel_scope.cancel()
    assert it.scheduler.queue.is_idle()


@pytest.mark.parametrize(("wait_s", "timeout_s"), [(0.05, 20.0), (20.0, 0.05)])
async def test_a_call_that_never_got_its_turn_is_told_to_come_back(
    house: House, wait_s: float, timeout_s: float
) -> None:
    it = dispatcher(house, wait_s, running=1, tenant_running=1, principal_running=1)

    async def wait(call: Call, ask: Nothing) -> Done:
        await anyio.sleep_forever()
        return Done()

    tools = view(wait=wait)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(it.call, house.bo, tools, "wait", NONE, CONTEXT)
        await anyio.wait_all_tasks_blocked()
        with pytest.raises(Unavailable, match="not started") as refused:
            await it.call(house.ana, tools, "wait", {}, RequestContext("test", timeout_s=timeout_s))
        assert "retry_after_seconds" in refused.value.payload()
        tasks.cancel_scope.cancel()
    assert it.scheduler.queue.is_idle()


async def test_a_call_that_waits_for_a_person_holds_no_slot(house: House) -> None:
    it = dispatcher(house, running=1, tenant_running=1, principal_running=1)
    asked, answered = anyio.Event(), anyio.Event()

    async def ask_person(call: Call, ask: Nothing) -> Done:
        async with call.idle():
            asked.set()
            await answered.wait()
        return Done()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(it.call, house.bo, view(ask=ask_person), "ask", NONE, CONTEXT)
        await asked.wait()
        with anyio.fail_after(30):
            await it.call(house.ana, view(run=quick), "run", {}, CONTEXT)
        answered.set()
    assert it.scheduler.queue.is_idle()
