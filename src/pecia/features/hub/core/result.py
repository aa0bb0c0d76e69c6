"""Converts an upstream result to ours: size-limited, otherwise unchanged. Pure."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

import orjson

from pecia.kernel.errors import Json, UpstreamError
from pecia.kernel.tool.model import Content, ForeignContent, TextContent, ToolResult

PROTOCOL_META_PREFIX = "io.modelcontextprotocol/"


def to_result(answer: Mapping[str, Any], *, server: str, most_bytes: int) -> ToolResult:
    """The whole answer. One over the limit is refused: half of it could mean something else."""
    size = _size(answer)
    if size > most_bytes:
        raise UpstreamError(
            f"{server} answered with {size} bytes, the limit is {most_bytes}",
            server=server,
            max=most_bytes,
            got=size,
            retryable=False,
            hint="Ask that tool for less.",
        )
    blocks = cast(Sequence[Mapping[str, Json]], answer.get("content") or ())
    meta = cast(Mapping[str, Json], answer.get("_meta") or {})
    return ToolResult(
        structured=cast(Json, answer.get("structuredContent")),
        content=tuple(_content(it) for it in blocks),
        is_error=bool(answer.get("isError")),
        # `_meta` of the protocol concerns the connection to that server, and is not passed on.
        meta={name: it for name, it in meta.items() if not name.startswith(PROTOCOL_META_PREFIX)},
        is_foreign=True,
    )


def _content(block: Mapping[str, Json]) -> Content:
    match block:
        case {"type": "text", "text": str(text), **more} if not more:
            return TextContent(text)
        case _:
            return ForeignContent(block)


def _size(answer: Mapping[str, Any]) -> int:
    try:
        return len(orjson.dumps(answer))
    except TypeError:
        # orjson refuses integers beyond 64 bits, which JSON allows.
        return len(json.dumps(answer, ensure_ascii=False, separators=(",", ":")).encode())
