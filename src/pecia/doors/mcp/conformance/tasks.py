"""Fixtures of the tasks extension: calls that let go of their request, and ask on the way."""

from collections.abc import Mapping

import anyio

from pecia.doors.mcp.conformance.fixture import fixture, form, text
from pecia.doors.mcp.tasks import no_tasks
from pecia.kernel.errors import InternalError, Json
from pecia.kernel.tool.call import Call, Question
from pecia.kernel.tool.model import AnyTool, Result

STRING: Json = {"type": "string"}
FLAG: Json = {"type": "boolean"}


def task_tools() -> tuple[AnyTool, ...]:
    """Every fixture of the extension."""
    return (
        fixture("greet", _greet),
        fixture("slow_compute", _slow),
        fixture("failing_job", _failing),
        fixture("protocol_error_job", _broken),
        fixture("confirm_delete", _confirm),
        fixture("multi_input", _several),
        fixture("test_tool_with_task", _after_a_question),
    )


async def _greet(call: Call, arguments: Mapping[str, Json]) -> Result:
    return text(f"Hello, {arguments.get('name')}!")


async def _slow(call: Call, arguments: Mapping[str, Json]) -> Result:
    await call.detach()
    seconds = arguments.get("seconds", 1)
    await anyio.sleep(float(seconds) if isinstance(seconds, int | float) else 1)
    return text(f"Computed {arguments.get('label', '')}")


async def _failing(call: Call, arguments: Mapping[str, Json]) -> Result:
    if not await call.detach():
        raise no_tasks()
    await anyio.sleep(0.3)
    return text("This job intentionally fails", is_error=True)


async def _broken(call: Call, arguments: Mapping[str, Json]) -> Result:
    await call.detach()
    raise InternalError("Protocol-level failure")


async def _confirm(call: Call, arguments: Mapping[str, Json]) -> Result:
    await call.detach()
    name = arguments.get("filename")
    told = await call.ask("confirm", f"Confirm deletion of {name}?", form(confirm=FLAG))
    return text(f"Deleted {name}: {told.action}")


async def _several(call: Call, arguments: Mapping[str, Json]) -> Result:
    await call.detach()
    asked = {key: Question(f"{key}?", form(confirm=FLAG)) for key in ("first", "second")}
    told = await call.inquire(asked)
    return text(f"Answers {sorted(told)}")


async def _after_a_question(call: Call, arguments: Mapping[str, Json]) -> Result:
    told = await call.ask("user_name", "What is your name?", form(name=STRING))
    if not await call.detach():
        raise no_tasks()
    return text(f"Task completed for {told.content.get('name')}")
