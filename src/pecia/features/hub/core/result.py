"""What an upstream tool gave, as a result of ours: bounded, and as it came. Pure."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

import orjson

from pecia.kernel.errors import Json, UpstreamError
from pecia.kernel.tool.model import Content, ForeignContent, TextContent, ToolResult

PROTOCOL_META_PREFIX = "io.modelcontextprotocol/"


def to_result(told: Mapping[str, Any], *, server: str, most_bytes: int) -> ToolResult:
    """The whole answer. One that is too large is refused: half of it could mean something else."""
    size = _size(told)
    if size > most_bytes:
        raise UpstreamError(
            f"{server} answered with {size} bytes, {most_bytes} are taken",
            server=server,
            max=most_bytes,
            got=size,
            retryable=False,
            hint="Ask that tool for less.",
        )
    blocks = cast(Sequence[Mapping[str, Json]], told.get("content") or ())
    meta = cast(Mapping[str, Json], told.get("_meta") or {})
    return ToolResult(
        structured=cast(Json, told.get("structuredContent")),
        content=tuple(_content(it) for it in blocks),
        is_error=bool(told.get("isError")),
        # What the protocol says of the connection between that server and us is not for others.
        meta={name: it for name, it in meta.items() if not name.startswith(PROTOCOL_META_PREFIX)},
        is_foreign=True,
    )


def _content(block: Mapping[str, Json]) -> Content:
    match block:
        case {"type": "text", "text": str(text), **more} if not more:
            return TextContent(text)
        case _:
            return ForeignContent(block)


def _size(told: Mapping[str, Any]) -> int:
    try:
        return len(orjson.dumps(told))
    except TypeError:
        # It refuses the integers beyond 64 bits that JSON has.
        return len(json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode())
