"""Help texts: the list of tools, and the arguments of one, from its schema. Pure."""

from collections.abc import Sequence

from pecia.interfaces.cli.tools.arguments import ToolInputSchema, argument_lines
from pecia.interfaces.cli.tools.backend import ToolInfo
from pecia.kernel.errors import Json


def tool_help(tool: ToolInfo, command: str, positional: Sequence[str] = ()) -> str:
    """The text of `--help` for a tool."""
    shape = ToolInputSchema(tool.schema)
    words = " ".join(name.upper() for name in positional)
    lines = [f"Usage: {command} {words}".rstrip() + " [ARGUMENTS]", "", f"  {tool.description}", ""]
    lines += (
        ["Arguments:", *argument_lines(shape)] if shape.properties else ["It takes no arguments."]
    )
    lines += ["", "  --args JSON|-     All of them as one JSON object; - reads it from stdin."]
    return "\n".join(lines)


def tool_document(tool: ToolInfo) -> dict[str, Json]:
    """The same for a program."""
    return {
        "name": tool.full_name,
        "toolset": tool.feature,
        "scope": tool.scope,
        "description": tool.description,
        "input_schema": dict(tool.schema),
    }
