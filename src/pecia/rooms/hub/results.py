"""What an upstream tool gave, as a result of ours: bounded, and as it came. Pure."""

from base64 import b64decode
from collections.abc import Mapping, Sequence
from typing import Any, cast

import orjson

from pecia.kernel.errors import Json, PayloadTooLarge
from pecia.kernel.tool.model import Content, Embedded, Link, Media, Result, Text

OF_PROTOCOL = "io.modelcontextprotocol/"


def result(told: Mapping[str, Any], *, server: str, most_bytes: int) -> Result:
    """The whole answer. One that is too large is refused: half of it could mean something else."""
    size = len(orjson.dumps(told))
    if size > most_bytes:
        raise PayloadTooLarge(
            f"{server} answered with {size} bytes, {most_bytes} are taken",
            field="result",
            max=most_bytes,
            got=size,
        )
    blocks = cast(Sequence[Mapping[str, Any]], told.get("content") or ())
    meta = cast(Mapping[str, Json], told.get("_meta") or {})
    return Result(
        structured=cast(Json, told.get("structuredContent")),
        content=tuple(_content(it) for it in blocks),
        is_error=bool(told.get("isError")),
        meta={name: it for name, it in meta.items() if not name.startswith(OF_PROTOCOL)},
    )


def _content(block: Mapping[str, Any]) -> Content:
    match block:
        case {"type": "text", "text": str(text)}:
            return Text(text)
        case {"type": "image" | "audio", "data": str(data), "mimeType": str(mime_type)}:
            return Media(_bytes(data), mime_type)
        case {"type": "resource_link", "uri": str(uri), "name": str(name)}:
            return Link(
                uri,
                name,
                _text(block.get("title")),
                _text(block.get("description")),
                _text(block.get("mimeType")),
            )
        case {"type": "resource", "resource": {"uri": str(uri), "text": str(text), **rest}}:
            return Embedded(uri, text, _text(rest.get("mimeType")))
        case {"type": "resource", "resource": {"uri": str(uri), "blob": str(blob), **rest}}:
            return Embedded(uri, _bytes(blob), _text(rest.get("mimeType")))
        case _:
            # Nothing is dropped: what we know no shape for is shown as it came.
            return Text(orjson.dumps(block).decode())


def _bytes(data: str) -> bytes:
    try:
        return b64decode(data)
    except ValueError:
        return data.encode()


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
