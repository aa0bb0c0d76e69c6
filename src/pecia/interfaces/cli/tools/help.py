"""Help texts: the list of tools, and the arguments of one, from its schema. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pecia.interfaces.cli.tools.arguments import ToolInputSchema, type_name
from pecia.interfaces.cli.tools.backend import ToolInfo
from pecia.kernel.errors import Json


def tool_help(tool: ToolInfo, command: str, positional: Sequence[str] = ()) -> str:
    """The text of `--help` for a tool."""
    shape = ToolInputSchema(tool.schema)
    words = " ".join(name.upper() for name in positional)
    lines = [f"Usage: {command} {words}".rstrip() + " [ARGUMENTS]", "", f"  {tool.description}", ""]
    lines += (
        ["Arguments:", *_argument_lines(shape)] if shape.properties else ["It takes no arguments."]
    )
    lines += ["", "  --args JSON|-     All of them as one JSON object; - reads it from stdin."]
    return "\n".join(lines)


def tool_document(tool: ToolInfo) -> dict[str, Json]:
    """The same for a program."""
    return {
        "name": tool.full_name,
        "room": tool.feature,
        "scope": tool.scope,
        "description": tool.description,
        "input_schema": dict(tool.schema),
    }


def _argument_lines(shape: ToolInputSchema) -> Iterator[str]:
    required = shape.schema.get("required", ())
    for name, node in shape.properties.items():
        flag = f"--{name.replace('_', '-')}"
        yield f"  {flag} {argument_type(shape, name)}".rstrip() + (
            "  (required)" if name in required else _default_text(node)
        )
        if meaning := node.get("description"):
            yield f"      {meaning}"


def argument_type(shape: ToolInputSchema, name: str) -> str:
    """The placeholder for an argument's type."""
    branches = shape.value_types(name)
    if "array" in branches:
        items = shape.item_types(name)
        return f"{_type_names(items)} …"
    return "" if set(branches) == {"boolean"} else _type_names(branches)


def _type_names(branches: Mapping[str, Mapping[str, Any]]) -> str:
    return "|".join(
        type_name(kind, node).upper() if kind != "enum" else type_name(kind, node)
        for kind, node in branches.items()
        if kind != "null"
    )


def _default_text(node: Mapping[str, Any]) -> str:
    default = node.get("default")
    silent = default is None or default is False or default in ([], "")
    return "" if silent else f"  (default {default})"
