"""`tool_introspect`: lists tools by category, by source or by a word."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field

from pecia.features.memory.core.format import format_now
from pecia.features.memory.tools.search import FEATURE
from pecia.kernel.errors import MissingField
from pecia.kernel.identity.caller import Scope
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, Input, Output, Tool
from pecia.kernel.tool.validate import input_schema
from pecia.kernel.tool.view import may_call

VERSION = "1.0.0"
IntrospectAction = Literal[
    "full", "by_category", "by_source", "agent_accessible", "search", "categories_summary"
]

_CATEGORIES = tuple(
    (name, re.compile(pattern, re.IGNORECASE))
    for name, pattern in (
        ("logging", r"\b(?:log|logs|logging|audit)\b"),
        ("memory", r"memor|remember|reasoning|ask_cipher|workspace"),
        ("knowledge", r"knowledge|graph|_node|_edge|entit"),
        ("search", r"search|find|query"),
        ("file", r"\b(?:files?|folders?|documents?)\b"),
        ("version-control", r"\b(?:git|commits?|branch(?:es)?)\b"),
        ("project-management", r"\b(?:tasks?|projects?|issues?)\b"),
        ("system", r"\b(?:system|process|bash|shell)\b"),
        ("tool", r"tool"),
    )
)


class IntrospectInput(Input):
    action: IntrospectAction
    category: str | None = Field(default=None, max_length=100, description="With by_category.")
    source: Literal["internal", "mcp"] | None = Field(default=None, description="With by_source.")
    query: str | None = Field(default=None, max_length=500, description="With search.")


class ToolDescription(Output):
    name: str
    description: str
    parameters: dict[str, Any]
    source: str
    category: str
    version: str = VERSION


class IntrospectOut(Output):
    tools: list[ToolDescription]
    totalCount: int
    timestamp: str
    source: str
    categories: dict[str, int] = Field(
        default_factory=dict[str, int], description="With categories_summary: how many of each."
    )


@dataclass(frozen=True, slots=True)
class IntrospectTool:
    """The handler. It lists only tools that the caller may call."""

    tools: Callable[[], Sequence[AnyTool]]

    async def tool_introspect(self, call: Call, ask: IntrospectInput) -> IntrospectOut:
        """List tools: all, those of a category or source, those that match a word, or the number
        per category."""
        mine = [
            _describe_tool(it) for it in self.tools() if not it.hidden and may_call(call.caller, it)
        ]
        chosen = _filter_tools(mine, ask)
        if ask.action == "categories_summary":
            counts = Counter(it.category for it in chosen)
            return _build_output([], len(chosen), dict(sorted(counts.items())))
        return _build_output(chosen, len(chosen), {})


def introspect_tools(tools: Callable[[], Sequence[AnyTool]]) -> tuple[AnyTool, ...]:
    it = IntrospectTool(tools)
    return (
        Tool(
            FEATURE,
            "tool_introspect",
            Scope.SEARCH,
            IntrospectInput,
            IntrospectOut,
            it.tool_introspect,
        ),
    )


def categorize_tool(name: str, description: str) -> str:
    """The first category whose keywords are in the name; else in the description."""
    for text in (name.replace("_", " ") + " " + name, description):
        for category, pattern in _CATEGORIES:
            if pattern.search(text):
                return category
    return "general"


def _filter_tools(tools: list[ToolDescription], ask: IntrospectInput) -> list[ToolDescription]:
    match ask.action:
        case "by_category":
            return [
                it for it in tools if it.category == _require_argument("category", ask.category)
            ]
        case "by_source":
            return [it for it in tools if it.source == _require_argument("source", ask.source)]
        case "search":
            word = _require_argument("query", ask.query).casefold()
            return [it for it in tools if word in f"{it.name} {it.description}".casefold()]
        case "full" | "agent_accessible" | "categories_summary":
            return tools


def _require_argument(field: str, value: str | None) -> str:
    if not value:
        raise MissingField(f'Field "{field}" is required with this action', field=field)
    return value


def _describe_tool(tool: AnyTool) -> ToolDescription:
    return ToolDescription(
        name=tool.name,
        description=tool.description,
        parameters=dict(input_schema(tool)),
        source="internal",
        category=categorize_tool(tool.name, tool.description),
    )


def _build_output(
    tools: list[ToolDescription], count: int, categories: dict[str, int]
) -> IntrospectOut:
    return IntrospectOut(
        tools=tools, totalCount=count, timestamp=format_now(), source="all", categories=categories
    )
