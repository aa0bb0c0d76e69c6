"""Results, resources and prompts as MCP writes them. Pure."""

from base64 import b64encode
from typing import Any

import orjson

from pecia.interfaces.mcp.plain_text import to_plain_text
from pecia.kernel.errors import Json
from pecia.kernel.tool.model import (
    Content,
    EmbeddedResource,
    ForeignContent,
    MediaContent,
    ResourceLink,
    TextContent,
    ToolResult,
)

COMPLETE_RESULT = {"resultType": "complete"}
"""Required on every modern result; the SDK removes it for legacy clients."""

MAX_TEXT_COPY_BYTES = 400_000


def tool_result(result: ToolResult, *, modern: bool, for_agents: bool = False) -> dict[str, Any]:
    """A tool's result. Structured content is repeated as text for clients that do not read it: as
    JSON, as references promise it, or compactly for agents."""
    content = [content_block(it) for it in result.content]
    # Before 2026-07-28 structured content is an object or nothing.
    is_sent = isinstance(result.structured, dict) or (modern and result.structured is not None)
    is_told = any(it["type"] == "text" for it in content)
    # Upstream content is passed through once; only what cannot be sent as it is becomes text.
    if result.structured is not None and not is_told and not (result.is_foreign and is_sent):
        text = _text_copy(result.structured, is_sent=is_sent, for_agents=for_agents)
        content.insert(0, {"type": "text", "text": text})
    wire: dict[str, Any] = {**COMPLETE_RESULT, "content": content}
    if is_sent:
        wire["structuredContent"] = result.structured
    if result.is_error:
        wire["isError"] = True
    if result.meta:
        wire["_meta"] = dict(result.meta)
    return wire


def _text_copy(structured: Json, *, is_sent: bool, for_agents: bool) -> str:
    """Structured content repeated as text, unless that would double a large result."""
    written = orjson.dumps(structured)
    copy = to_plain_text(structured) if for_agents else written.decode()
    # As sent: quotes and backslashes are escaped again.
    if not is_sent or len(written) <= MAX_TEXT_COPY_BYTES >= len(orjson.dumps(copy)):
        return copy
    return f"The result is {len(written)} bytes of JSON, in structuredContent."


def content_block(it: Content) -> dict[str, Any]:
    """One block of content."""
    match it:
        case ForeignContent(foreign):
            return dict(foreign)
        case TextContent(text):
            return {"type": "text", "text": text}
        case ResourceLink():
            return {"type": "resource_link", **resource_link(it)}
        case EmbeddedResource():
            return {"type": "resource", "resource": resource_contents(it)}
        case MediaContent(body, mime_type):
            kind = "audio" if mime_type.startswith("audio/") else "image"
            return {"type": kind, "data": b64encode(body).decode(), "mimeType": mime_type}


def resource_contents(it: EmbeddedResource) -> dict[str, Any]:
    """The contents of a resource."""
    body = {"text": it.body} if isinstance(it.body, str) else {"blob": b64encode(it.body).decode()}
    return drop_none({"uri": it.uri, "mimeType": it.mime_type, **body})


def resource_link(it: ResourceLink) -> dict[str, Any]:
    return drop_none(
        {
            "uri": it.uri,
            "name": it.name,
            "title": it.title,
            "description": it.description,
            "mimeType": it.mime_type,
        }
    )


def drop_none(fields: dict[str, Any]) -> dict[str, Any]:
    """The mapping without None values."""
    return {name: value for name, value in fields.items() if value is not None}
