"""Tools in words: the list of them, and the arguments of one, from its schema. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pecia.doors.cli.arguments import Shape, kind_name
from pecia.doors.cli.reach import ToolFacts
from pecia.kernel.errors import Json


def tool_help(tool: ToolFacts, command: str, positional: Sequence[str] = ()) -> str:
    """What `--help` after a tool's name says."""
    shape = Shape(tool.schema)
    words = " ".join(name.upper() for name in positional)
    lines = [f"Usage: {command} {words}".rstrip() + " [ARGUMENTS]", "", f"  {tool.description}", ""]
    lines += ["Arguments:", *_arguments(shape)] if shape.properties else ["It takes no arguments."]
    lines += ["", "  --args JSON|-     All of them as one JSON object; - reads it from stdin."]
    return "\n".join(lines)


def tool_document(tool: ToolFacts) -> dict[str, Json]:
    """The same for a program."""
    return {
        "name": tool.full_name,
        "room": tool.room,
        "scope": tool.scope,
        "description": tool.description,
        "input_schema": dict(tool.schema),
    }


def _arguments(shape: Shape) -> Iterator[str]:
    required = shape.schema.get("required", ())
    for name, node in shape.properties.items():
        flag = f"--{name.replace('_', '-')}"
        yield f"  {flag} {kind_of(shape, name)}".rstrip() + (
            "  (required)" if name in required else _default(node)
        )
        if meaning := node.get("description"):
            yield f"      {meaning}"


def kind_of(shape: Shape, name: str) -> str:
    """What kind of word an argument takes."""
    branches = shape.branches(name)
    if "array" in branches:
        items = shape.items(name)
        return f"{_kinds(items)} …"
    return "" if set(branches) == {"boolean"} else _kinds(branches)


def _kinds(branches: Mapping[str, Mapping[str, Any]]) -> str:
    return "|".join(
        kind_name(kind, node).upper() if kind != "enum" else kind_name(kind, node)
        for kind, node in branches.items()
        if kind != "null"
    )


def _default(node: Mapping[str, Any]) -> str:
    default = node.get("default")
    silent = default is None or default is False or default in ([], "")
    return "" if silent else f"  (default {default})"
