"""The default toolset: a few common tools, two that reach all the others, and a reader.

It has no tool of its own beside those three, and widens nobody's rights.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, cast

from pydantic import Field, ValidationError

from pecia.features.discovery.rank import ToolFinder
from pecia.features.discovery.tools.resource import READ, build_read
from pecia.kernel.corpus.vectors.embedder import Embedder
from pecia.kernel.errors import InvalidEnum, Json, Unprocessable
from pecia.kernel.identity.caller import Scope
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import (
    AnyTool,
    CitedOutput,
    Input,
    Output,
    Resource,
    TextContent,
    Tool,
    ToolResult,
)
from pecia.kernel.tool.validate import input_schema
from pecia.kernel.tool.view import ToolView, may_call

FEATURE = "desk"
FIND_TOOLS = "find_tools"
CALL_TOOL = "call_tool"

# The default list. Tools of features that are off are left out.
DEFAULT_TOOLS = (
    "search_content",
    READ,
    "list_sources",
    "list_files",
    "ask",
    "read_document",
    "edit_document",
    "write_document",
    "cipher_memory_search",
    "cipher_extract_and_operate_memory",
    "ckf.compile",
)


class FindTools(Input):
    query: str = Field(min_length=1, max_length=500, description="What you want to do.")
    limit: int = Field(default=5, ge=1, le=20)


class FoundToolOut(Output):
    name: str
    description: str
    arguments: dict[str, Any] = Field(description="The JSON Schema of the arguments.")
    read_only: bool


class FindToolsOut(Output):
    tools: list[FoundToolOut]
    total: int


class CallTool(Input):
    name: str = Field(min_length=1, max_length=200, description="As find_tools gave it.")
    arguments: dict[str, Any] = Field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class ToolCallTarget:
    """The tool that a `call_tool` call names."""

    name: str
    arguments: Mapping[str, Json]


def resolve_target(arguments: Mapping[str, Json]) -> ToolCallTarget | None:
    """The tool to call; None where the arguments are invalid, so that validation reports it."""
    try:
        asked = CallTool.model_validate(arguments, strict=True)
    except ValidationError:
        return None
    return ToolCallTarget(asked.name, asked.arguments)


def build_discovery_view(
    reach: ToolView,
    lean: Sequence[str] = (),
    resources: Sequence[Resource] = (),
    embedder: Embedder | None = None,
) -> ToolView:
    """The default tools and those of this feature; every reachable tool can be called by name."""
    own: dict[str, AnyTool] = {READ: build_read(resources)} if resources else {}
    listed = {
        name: own.get(name) or reach.find(name)
        for name in (lean or DEFAULT_TOOLS)
        if lean or name in own or _has(reach, name)
    }
    tools: dict[str, AnyTool] = {
        FIND_TOOLS: build_find_tools(ToolFinder(reach, embedder)),
        CALL_TOOL: build_call_tool(),
    }
    names = {**own, **reach.tools, **reach.aliases}
    return ToolView(
        MappingProxyType({**tools, **listed}), MappingProxyType(names), withheld=reach.withheld
    )


def require_known_tools(everything: ToolView, lean: Sequence[str]) -> None:
    """Refuse a setting that names an unknown tool."""
    for name in lean:
        if name != READ and not _has(everything, name):
            raise InvalidEnum(
                f"the setting desk.tools names {name!r}, which is not a tool",
                field="desk.tools",
                got=name,
                allowed=[*everything.tools],
            )


def build_find_tools(finder: ToolFinder) -> AnyTool:
    """The tool that searches the tools of a view."""

    async def run(call: Call, ask: FindTools) -> CitedOutput[FindToolsOut]:
        """Find tools by what you want to do. Then use call_tool with a name and arguments."""
        mine = [it for it in await finder.find(ask.query) if may_call(call.caller, it[1])]
        found = [_format_tool(name, tool) for name, tool in mine[: ask.limit]]
        lines = [_describe(name, tool) for name, tool in mine[: ask.limit]]
        text = "\n".join(lines) or "No tool matches: say it in other words."
        return CitedOutput(FindToolsOut(tools=found, total=len(mine)), (TextContent(text),))

    return Tool(FEATURE, FIND_TOOLS, Scope.SEARCH, FindTools, FindToolsOut, run, public=True)


def build_call_tool() -> AnyTool:
    """A stand-in for any tool. The interface substitutes the target before the call."""

    async def run(call: Call, ask: CallTool) -> ToolResult:
        """Call any tool by its name, as find_tools gave it."""
        raise Unprocessable(
            f"call_tool is not available here: call {ask.name} directly", tool=ask.name
        )

    # The hints of the target apply; find_tools reports them to the client.
    return cast(
        AnyTool,
        Tool(
            FEATURE,
            CALL_TOOL,
            Scope.SEARCH,
            CallTool,
            Output,
            run,
            read_only=False,
            destructive=True,
            open_world=True,
            public=True,
        ),
    )


def _has(view: ToolView, name: str) -> bool:
    return name in view.tools or name in view.aliases


def _describe(name: str, tool: AnyTool) -> str:
    """A tool on a line: what it does, and its arguments with the values that they take."""
    schema = input_schema(tool)
    required = schema.get("required", ())
    arguments = [
        f"{key}{'' if key in required else '?'}{_choices(it)}"
        for key, it in schema.get("properties", {}).items()
    ]
    return f"- {name}({', '.join(arguments)}): {tool.description}"


def _choices(schema: Mapping[str, Any]) -> str:
    options = schema.get("enum") or next(
        (it["enum"] for it in schema.get("anyOf", ()) if "enum" in it), ()
    )
    return f"={'|'.join(map(str, options))}" if options else ""


def _format_tool(name: str, tool: AnyTool) -> FoundToolOut:
    return FoundToolOut(
        name=name,
        description=tool.description,
        arguments=dict(input_schema(tool)),
        read_only=tool.read_only,
    )
