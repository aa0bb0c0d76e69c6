"""The headers by which a client filters the tools of an endpoint. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from pecia.kernel.errors import InvalidFormat

TOOLSETS = "x-mcp-toolsets"
TOOLS = "x-mcp-tools"
EXCLUDED_TOOLS = "x-mcp-exclude-tools"
READ_ONLY = "x-mcp-readonly"

_BOOLEANS = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}


@dataclass(frozen=True, slots=True)
class ToolFilter:
    """What is filtered out. The empty one filters nothing."""

    features: tuple[str, ...] | None = None
    tools: tuple[str, ...] | None = None
    exclude: tuple[str, ...] = ()
    read_only: bool = False


NO_FILTER = ToolFilter()


def parse_filter(headers: Mapping[str, str]) -> ToolFilter:
    """The filter in the headers of a request. Unknown names are refused by the view."""
    if not any(name in headers for name in (TOOLSETS, TOOLS, EXCLUDED_TOOLS, READ_ONLY)):
        return NO_FILTER
    return ToolFilter(
        features=_parse_names(headers.get(TOOLSETS)),
        tools=_parse_names(headers.get(TOOLS)),
        exclude=_parse_names(headers.get(EXCLUDED_TOOLS)) or (),
        read_only=_parse_boolean(headers.get(READ_ONLY, "false")),
    )


def _parse_names(given: str | None) -> tuple[str, ...] | None:
    if given is None:
        return None
    return tuple(sorted({name for it in given.split(",") if (name := it.strip())}))


def _parse_boolean(given: str) -> bool:
    value = _BOOLEANS.get(given.strip().lower())
    if value is None:
        raise InvalidFormat(
            f"{READ_ONLY} must be true or false; got {given[:100]!r}",
            field=READ_ONLY,
            expected="true or false",
            got=given[:100],
        )
    return value
