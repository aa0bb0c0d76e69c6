"""Fixtures of the tasks extension: calls that detach from their request, and ask questions."""

from collections.abc import Mapping

import anyio

from pecia.interfaces.mcp.conformance.fixture import fixture, form_schema, text_result
from pecia.interfaces.mcp.methods.tasks import tasks_unsupported
from pecia.kernel.errors import InternalError, Json
from pecia.kernel.tool.call import Call, Elicitation
from pecia.kernel.tool.model import AnyTool, ToolResult

STRING: Json = {"type": "string"}
FLAG: Json = {"type": "boolean"}


def task_tools() -> tuple[AnyTool, ...]:
    """Every fixture of the extension."""
    return (
        fixture("greet", _greet),
        fixture("slow_compute", _slow),
        fixture("failing_job", _fail),
        fixture("protocol_error_job", _break),
        fixture("confirm_delete", _confirm),
        fixture("multi_input", _ask_several),
        fixture("test_tool_with_task", _after_a_question),
    )


async def _greet(call: Call, arguments: Mapping[str, Json]) -> ToolResult:
    return text_result(f"Hello, {arguments.get('name')}!")


async def _slow(call: Call, arguments: Mapping[str, Json]) -> ToolResult:
    await call.detach()
    seconds = arguments.get("seconds", 1)
    await anyio.sleep(float(seconds) if isinstance(seconds, int | float) else 1)
    return text_result(f"Computed {arguments.get('label', '')}")


async def _fail(call: Call, arguments: Mapping[str, Json]) -> ToolResult:
    if not await call.detach():
        raise tasks_unsupported()
    await anyio.sleep(0.3)
    return text_result("This job intentionally fails", is_error=True)


async def _break(call: Call, arguments: Mapping[str, Json]) -> ToolResult:
    await call.detach()
    raise InternalError("Protocol-level failure")


async def _confirm(call: Call, arguments: Mapping[str, Json]) -> ToolResult:
    await call.detach()
    name = arguments.get("filename")
    told = await call.elicit("confirm", f"Confirm deletion of {name}?", form_schema(confirm=FLAG))
    return text_result(f"Deleted {name}: {told.action}")


async def _ask_several(call: Call, arguments: Mapping[str, Json]) -> ToolResult:
    await call.detach()
    asked = {key: Elicitation(f"{key}?", form_schema(confirm=FLAG)) for key in ("first", "second")}
    told = await call.inquire(asked)
    return text_result(f"Answers {sorted(told)}")


async def _after_a_question(call: Call, arguments: Mapping[str, Json]) -> ToolResult:
    told = await call.elicit("user_name", "What is your name?", form_schema(name=STRING))
    if not await call.detach():
        raise tasks_unsupported()
    return text_result(f"Task completed for {told.content.get('name')}")
