"""A fixture as a tool: a name, what it does, and a schema as the suite wants it."""

from base64 import b64decode
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

from pecia.kernel.errors import Json
from pecia.kernel.identity.caller import Scope
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import (
    AnyTool,
    Content,
    ForeignTool,
    MediaContent,
    TextContent,
    ToolResult,
)

FEATURE = "conformance"

FixtureHandler: TypeAlias = Callable[[Call, Mapping[str, Json]], Awaitable[ToolResult]]

# One red pixel, and a sound of no length.
PNG = b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
)
WAV = b64decode("UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=")

IMAGE = MediaContent(PNG, "image/png")
SOUND = MediaContent(WAV, "audio/wav")


def fixture(name: str, run: FixtureHandler, schema: Mapping[str, Any] | None = None) -> AnyTool:
    """A tool of this feature. Without a schema it takes anything."""
    described = (run.__doc__ or name).strip()
    return ForeignTool(
        FEATURE, name, Scope.READ, described, schema or {"type": "object"}, run, destructive=False
    )


def constant_result(*content: Content) -> FixtureHandler:
    """A handler that always returns this."""

    async def run(call: Call, arguments: Mapping[str, Json]) -> ToolResult:
        return ToolResult(content=content)

    return run


def text_result(words: str, *, is_error: bool = False) -> ToolResult:
    return ToolResult(content=(TextContent(words),), is_error=is_error)


def form_schema(**properties: Json) -> dict[str, Json]:
    """The schema of a form with these fields, all required."""
    return {"type": "object", "properties": properties, "required": [*properties]}
