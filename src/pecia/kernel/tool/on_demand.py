"""Tools that are imported with their first call or description.

What a server must know of every tool when it starts stands in `recorded.json` of its feature, which
`make docs` writes from the code: names, scopes, annotations, secret arguments. Their models and
handlers are most of what a feature imports.
"""

import json
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import MISSING, Field, fields, replace
from functools import cache
from importlib.resources import files
from typing import Any, TypeAlias

from pecia.kernel.identity.caller import Scope
from pecia.kernel.on_demand import OnDemand
from pecia.kernel.tool.model import AnyTool, DeferredTool, Tool, ToolGroup
from pecia.kernel.tool.validate import cached_per_tool, secret_fields

FILE = "recorded.json"

Row: TypeAlias = dict[str, Any]
Recording: TypeAlias = dict[str, Any]
"""By the name of what builds them, as `package.module:function`: what was built."""

_recording: ContextVar[Recording | None] = ContextVar("pecia_recording", default=None)


def deferred_tools(build: str, *given: object) -> tuple[AnyTool, ...]:
    """The tools that `package.module:function` makes of what is given, without importing it."""
    source: OnDemand[tuple[Tool[Any, Any], ...]] = OnDemand(build, *given)
    recording = current_recording()
    if recording is not None:
        recording[build] = [tool_row(it) for it in source.get()]
        return source.get()
    rows = read_recorded(".".join(build.split(".")[:3])).get(build)
    if rows is None:
        # New: `make docs` was not run since.
        return source.get()
    group = ToolGroup(source, iter)
    return tuple(tool_of_row(group, row) for row in rows)


async def load_tools(tools: Iterable[AnyTool]) -> None:
    """Import what these tools need, in a thread, so that using them does not block the loop."""
    groups = {it.group for it in tools if isinstance(it, DeferredTool)}
    for group in groups:
        if group.tools is None:
            await group.source.load()
            group.load()


@cached_per_tool
def implementation(tool: DeferredTool) -> Tool[Any, Any]:
    """What runs for it: a view may have given it another timeout than it was made with."""
    own: Row = {it.name: getattr(tool, it.name) for it in _shared_fields()}
    return replace(tool.loaded, **own)


@contextmanager
def record() -> Generator[Recording]:
    """What is built meanwhile is imported at once, and recorded."""
    found: Recording = {}
    before = _recording.set(found)
    try:
        yield found
    finally:
        _recording.reset(before)


def current_recording() -> Recording | None:
    return _recording.get()


@cache
def read_recorded(package: str) -> Mapping[str, Any]:
    """The record of a feature; empty where there is none."""
    file = files(package).joinpath(FILE)
    return json.loads(file.read_bytes()) if file.is_file() else {}


def tool_of_row(group: ToolGroup, row: Row, *, is_lean: bool = False) -> DeferredTool:
    """A tool as it was recorded."""
    lean = row.get("lean")
    known: Row = {
        **row,
        "scope": Scope(row["scope"]),
        "secret_fields": frozenset(row.get("secret_fields", ())),
        "lean": tool_of_row(group, lean, is_lean=True) if lean else None,
        "is_lean": is_lean,
    }
    return DeferredTool(group, **known)


def tool_row(tool: Tool[Any, Any]) -> Row:
    """What is recorded of a tool: all that differs from the defaults."""
    found = {
        it.name: getattr(tool, it.name)
        for it in _shared_fields()
        if not _is_default(it, getattr(tool, it.name))
    }
    if secret := sorted(secret_fields(tool)):
        found["secret_fields"] = secret
    return {**found, "lean": tool_row(tool.lean)} if tool.lean else found


@cache
def _shared_fields() -> tuple["Field[Any]", ...]:
    """What a tool has before and after it is loaded, but for its lean form."""
    own = {it.name for it in fields(Tool)} - {"lean"}
    return tuple(it for it in fields(DeferredTool) if it.name in own)


def _is_default(it: "Field[Any]", value: object) -> bool:
    return it.default is not MISSING and value == it.default
