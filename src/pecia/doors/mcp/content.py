"""Results, resources and prompts as MCP writes them. Pure."""

from base64 import b64encode
from typing import Any

import orjson

from pecia.kernel.tool.model import Content, Embedded, ForeignContent, Link, Media, Result, Text

COMPLETE = {"resultType": "complete"}
"""What the newer era wants on every result; the SDK takes it off for the older one."""

TEXT_COPY_BYTES = 400_000


def tool_result(result: Result, *, modern: bool) -> dict[str, Any]:
    """A tool's answer. Whoever reads no structured content finds it as text."""
    content = [block(it) for it in result.content]
    # Before 2026-07-28 structured content is an object or nothing.
    is_sent = isinstance(result.structured, dict) or (modern and result.structured is not None)
    is_told = any(it["type"] == "text" for it in content)
    # What another server answers comes once; only what cannot be sent as it is becomes text.
    if result.structured is not None and not is_told and not (result.is_foreign and is_sent):
        written = orjson.dumps(result.structured)
        text = _as_text(written) if is_sent else written.decode()
        content.insert(0, {"type": "text", "text": text})
    wire: dict[str, Any] = {**COMPLETE, "content": content}
    if is_sent:
        wire["structuredContent"] = result.structured
    if result.is_error:
        wire["isError"] = True
    if result.meta:
        wire["_meta"] = dict(result.meta)
    return wire


def _as_text(structured: bytes) -> str:
    """Structured content once more as text, unless that would double a large answer."""
    if len(structured) <= TEXT_COPY_BYTES:
        return structured.decode()
    return f"The result is {len(structured)} bytes of JSON, whole in structuredContent only."


def block(it: Content) -> dict[str, Any]:
    """One block of content."""
    match it:
        case ForeignContent(foreign):
            return dict(foreign)
        case Text(text):
            return {"type": "text", "text": text}
        case Link():
            return {"type": "resource_link", **link(it)}
        case Embedded():
            return {"type": "resource", "resource": resource(it)}
        case Media(body, mime_type):
            kind = "audio" if mime_type.startswith("audio/") else "image"
            return {"type": kind, "data": b64encode(body).decode(), "mimeType": mime_type}


def resource(it: Embedded) -> dict[str, Any]:
    """What a resource holds."""
    body = {"text": it.body} if isinstance(it.body, str) else {"blob": b64encode(it.body).decode()}
    return present({"uri": it.uri, "mimeType": it.mime_type, **body})


def link(it: Link) -> dict[str, Any]:
    return present(
        {
            "uri": it.uri,
            "name": it.name,
            "title": it.title,
            "description": it.description,
            "mimeType": it.mime_type,
        }
    )


def present(fields: dict[str, Any]) -> dict[str, Any]:
    """Without what is not known."""
    return {name: value for name, value in fields.items() if value is not None}
