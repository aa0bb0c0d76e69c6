"""Fixtures that only answer: kinds of content, logs, progress, errors and schemas."""

from collections.abc import Mapping

import anyio

from pecia.interfaces.mcp.conformance.fixture import (
    IMAGE,
    SOUND,
    constant_result,
    fixture,
    text_result,
)
from pecia.interfaces.mcp.methods.subscriptions import (
    PromptsListChanged,
    Subscriptions,
    ToolsListChanged,
)
from pecia.kernel.errors import Json
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, EmbeddedResource, TextContent, ToolResult

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


def plain_tools(changes: Subscriptions) -> tuple[AnyTool, ...]:
    """Every fixture that asks nothing."""
    note = EmbeddedResource(
        "test://embedded-resource", "This is an embedded resource content.", PLAIN
    )
    mixed = EmbeddedResource("test://mixed-content-resource", '{"test":"data","value":123}', JSON)
    return (
        fixture(
            "test_simple_text",
            constant_result(TextContent("This is a simple text response for testing.")),
        ),
        fixture("test_image_content", constant_result(IMAGE)),
        fixture("test_audio_content", constant_result(SOUND)),
        fixture("test_embedded_resource", constant_result(note)),
        fixture(
            "test_multiple_content_types",
            constant_result(TextContent("Multiple content types test:"), IMAGE, mixed),
        ),
        fixture("test_error_handling", _fail),
        fixture("test_tool_with_logging", _log),
        fixture("test_logging_tool", _log),
        fixture("test_tool_with_progress", _progress),
        fixture("json_schema_2020_12_tool", constant_result(TextContent("valid")), DIALECT),
        fixture("test_mirrored_header", constant_result(TextContent("mirrored")), MIRRORED),
        fixture("test_trigger_tool_change", _ChangeTrigger(changes).tools),
        fixture("test_trigger_prompt_change", _ChangeTrigger(changes).prompts),
    )


PLAIN, JSON = "text/plain", "application/json"


async def _fail(call: Call, arguments: Mapping[str, Json]) -> ToolResult:
    return text_result("This tool intentionally returns an error for testing", is_error=True)


async def _log(call: Call, arguments: Mapping[str, Json]) -> ToolResult:
    await call.log("info", "Tool execution started")
    await anyio.sleep(PAUSE_S)
    await call.log("info", "Tool processing data")
    await anyio.sleep(PAUSE_S)
    await call.log("info", "Tool execution completed")
    return text_result("logged")


async def _progress(call: Call, arguments: Mapping[str, Json]) -> ToolResult:
    for done in (0, 50, 100):
        await call.progress(done, 100)
        await anyio.sleep(PAUSE_S)
    return text_result("progressed")


class _ChangeTrigger:
    """Notifies of changed lists, though nothing changed."""

    def __init__(self, changes: Subscriptions) -> None:
        self._changes = changes

    async def tools(self, call: Call, arguments: Mapping[str, Json]) -> ToolResult:
        await self._changes.publish(call.caller.tenant_id, ToolsListChanged())
        return text_result("published")

    async def prompts(self, call: Call, arguments: Mapping[str, Json]) -> ToolResult:
        await self._changes.publish(call.caller.tenant_id, PromptsListChanged())
        return text_result("published")
