"""Parses a server's tool list as untrusted input: bounded, cleaned, or refused. Pure."""

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

import orjson

from pecia.features.hub.core.schema_sanitizer import UnusableSchema, sanitize_schema
from pecia.features.hub.model import OfferedTool

MAX_TOOLS = 1_000
DESCRIPTION_CHARS = 4_000
TITLE_CHARS = 200
SCHEMA_BYTES = 100_000
NAME_CHARS = 128

_NAME_CHARS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-")


@dataclass(frozen=True, slots=True)
class UpstreamCatalog:
    """The usable tools, in order, and by name why others are refused."""

    tools: tuple[OfferedTool, ...]
    refused: Mapping[str, str]


def parse_catalog(listed: Iterable[object]) -> UpstreamCatalog:
    """Parse a server's list of tools."""
    tools: dict[str, OfferedTool] = {}
    refused: dict[str, str] = {}
    for at, it in enumerate(listed):
        name = _name(it) or f"tool {at + 1}"
        if len(tools) >= MAX_TOOLS:
            refused[name] = f"over the limit of {MAX_TOOLS} tools per server"
        elif name in tools:
            refused[name] = "the server lists it twice"
        else:
            try:
                tools[name] = parse_tool(it)
            except UnusableSchema as why:
                refused[name] = str(why)
    return UpstreamCatalog(tuple(sorted(tools.values(), key=lambda it: it.name)), refused)


def parse_tool(listed: object) -> OfferedTool:
    """One tool, or UnusableSchema."""
    listed_tool = _mapping(listed)
    name = listed_tool.get("name")
    if not isinstance(name, str) or not 0 < len(name) <= NAME_CHARS or not {*name} <= _NAME_CHARS:
        raise UnusableSchema("its name is not 1 to 128 letters, digits, `_`, `.` or `-`")
    given = listed_tool.get("inputSchema", {"type": "object"})
    schema, left_out = sanitize_schema(_require_small(given, "its schema"))
    result, result_note = _result_schema(listed_tool.get("outputSchema"))
    hints = _mapping(listed_tool.get("annotations"))
    read_only = hints.get("readOnlyHint") is True
    description, cut = _bounded_text(listed_tool.get("description"), DESCRIPTION_CHARS)
    title, _ = _bounded_text(listed_tool.get("title") or hints.get("title"), TITLE_CHARS)
    return OfferedTool(
        name=name,
        description=description,
        input_schema=schema,
        title=title,
        output_schema=result,
        read_only=read_only,
        destructive=not read_only and hints.get("destructiveHint") is not False,
        idempotent=hints.get("idempotentHint") is True,
        open_world=hints.get("openWorldHint") is not False,
        notes=(*left_out, *result_note, *cut),
    )


def strip_invisible(text: str) -> str:
    """Text without invisible characters: controls, and those that hide words from the reader."""
    shown = (" " if it in "\t\r\n" else it for it in text)
    return " ".join("".join(it for it in shown if unicodedata.category(it)[0] != "C").split())


def _bounded_text(value: object, limit: int) -> tuple[str, tuple[str, ...]]:
    text = strip_invisible(value) if isinstance(value, str) else ""
    if len(text) <= limit:
        return text, ()
    return f"{text[:limit]}…", (
        f"its description has {len(text)} characters, the limit is {limit}",
    )


def _result_schema(given: object) -> tuple[Mapping[str, Any] | None, tuple[str, ...]]:
    """The result schema is only displayed: an invalid one is dropped, the tool stays."""
    if given is None:
        return None, ()
    try:
        return sanitize_schema(_require_small(given, "the schema of its results"))[0], ()
    except UnusableSchema as why:
        return None, (f"the schema of its results was left out: {why}",)


def _require_small(value: object, what: str) -> object:
    try:
        size = len(orjson.dumps(value))
    except TypeError:
        raise UnusableSchema(f"{what} is not JSON") from None
    if size > SCHEMA_BYTES:
        raise UnusableSchema(f"{what} has {size} bytes, the limit is {SCHEMA_BYTES}")
    return value


def _name(listed: object) -> str:
    name = _mapping(listed).get("name")
    return strip_invisible(name)[:NAME_CHARS] if isinstance(name, str) else ""


def _mapping(value: object) -> Mapping[str, Any]:
    return cast(Mapping[str, Any], value) if isinstance(value, dict) else {}
