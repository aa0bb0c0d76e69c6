"""The headers by which a client asks for less than an endpoint has. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from pecia.kernel.errors import InvalidFormat

TOOLSETS = "x-mcp-toolsets"
TOOLS = "x-mcp-tools"
EXCLUDED = "x-mcp-exclude-tools"
READ_ONLY = "x-mcp-readonly"

_TRUTH = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}


@dataclass(frozen=True, slots=True)
class Narrowing:
    """What is left out. The empty one leaves out nothing."""

    rooms: tuple[str, ...] | None = None
    tools: tuple[str, ...] | None = None
    exclude: tuple[str, ...] = ()
    read_only: bool = False


EVERYTHING = Narrowing()


def narrowing(headers: Mapping[str, str]) -> Narrowing:
    """What the headers of a request ask for. A name that is not there is refused by the view."""
    if not any(name in headers for name in (TOOLSETS, TOOLS, EXCLUDED, READ_ONLY)):
        return EVERYTHING
    return Narrowing(
        rooms=_names(headers.get(TOOLSETS)),
        tools=_names(headers.get(TOOLS)),
        exclude=_names(headers.get(EXCLUDED)) or (),
        read_only=_truth(headers.get(READ_ONLY, "false")),
    )


def _names(given: str | None) -> tuple[str, ...] | None:
    if given is None:
        return None
    return tuple(sorted({name for it in given.split(",") if (name := it.strip())}))


def _truth(given: str) -> bool:
    value = _TRUTH.get(given.strip().lower())
    if value is None:
        raise InvalidFormat(
            f"{READ_ONLY} is true or false; got {given[:100]!r}",
            field=READ_ONLY,
            expected="true or false",
            got=given[:100],
        )
    return value
