"""Fixtures that only answer: kinds of content, logs, progress, errors and schemas."""

from collections.abc import Mapping

import anyio

from pecia.doors.mcp.changes import Changes, PromptsListChanged, ToolsListChanged
from pecia.doors.mcp.conformance.fixture import IMAGE, SOUND, fixture, saying, text
from pecia.kernel.errors import Json
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, Embedded, Result, Text

PAUSE_S = 0.05

DIALECT = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}

MIRRORED = {
    "type": "object",
    "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
}


def plain_tools(changes: Changes) -> tuple[AnyTool, ...]:
    """Every fixture that asks nothing."""
    note = Embedded("test://embedded-resource", "This is an embedded resource content.", PLAIN)
    mixed = Embedded("test://mixed-content-resource", '{"test":"data","value":123}', JSON)
    return (
        fixture("test_simple_text", saying(Text("This is a simple text response for testing."))),
        fixture("test_image_content", saying(IMAGE)),
        fixture("test_audio_content", saying(SOUND)),
        fixture("test_embedded_resource", saying(note)),
        fixture(
            "test_multiple_content_types",
            saying(Text("Multiple content types test:"), IMAGE, mixed),
        ),
        fixture("test_error_handling", _fail),
        fixture("test_tool_with_logging", _log),
        fixture("test_logging_tool", _log),
        fixture("test_tool_with_progress", _progress),
        fixture("json_schema_2020_12_tool", saying(Text("valid")), DIALECT),
        fixture("test_mirrored_header", saying(Text("mirrored")), MIRRORED),
        fixture("test_trigger_tool_change", _Trigger(changes).tools),
        fixture("test_trigger_prompt_change", _Trigger(changes).prompts),
    )


PLAIN, JSON = "text/plain", "application/json"


async def _fail(call: Call, arguments: Mapping[str, Json]) -> Result:
    return text("This tool intentionally returns an error for testing", is_error=True)


async def _log(call: Call, arguments: Mapping[str, Json]) -> Result:
    await call.log("info", "Tool execution started")
    await anyio.sleep(PAUSE_S)
    await call.log("info", "Tool processing data")
    await anyio.sleep(PAUSE_S)
    await call.log("info", "Tool execution completed")
    return text("logged")


async def _progress(call: Call, arguments: Mapping[str, Json]) -> Result:
    for done in (0, 50, 100):
        await call.progress(done, 100)
        await anyio.sleep(PAUSE_S)
    return text("progressed")


class _Trigger:
    """Says that lists changed, though they did not."""

    def __init__(self, changes: Changes) -> None:
        self._changes = changes

    async def tools(self, call: Call, arguments: Mapping[str, Json]) -> Result:
        await self._changes.publish(call.caller.tenant_id, ToolsListChanged())
        return text("published")

    async def prompts(self, call: Call, arguments: Mapping[str, Json]) -> Result:
        await self._changes.publish(call.caller.tenant_id, PromptsListChanged())
        return text("published")
