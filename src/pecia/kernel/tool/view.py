"""Which tools a client sees, under which names. Immutable and deterministic; built once, cached."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Literal, TypeAlias

from pecia.kernel.errors import (
    Conflict,
    Forbidden,
    InvalidEnum,
    Json,
    PeciaError,
    ToolNotFound,
)
from pecia.kernel.identity.caller import Caller
from pecia.kernel.tool.former_names import current_toolset, former_toolsets
from pecia.kernel.tool.model import AnyTool, ForeignTool, WithheldTool
from pecia.kernel.tool.suggestion import MAX_NAME_CHARS, nearest_names, suggest_name

NamingPolicy: TypeAlias = Literal["prefix", "first-wins", "error"]


@dataclass(frozen=True, slots=True)
class ToolView:
    """Exposed names and their tools, in order. `aliases` are accepted and never listed."""

    tools: Mapping[str, AnyTool]
    aliases: Mapping[str, AnyTool] = field(default_factory=dict[str, AnyTool])
    absent: Callable[[str], ToolNotFound] | None = None
    """Makes the error for an unknown name, where a reference prescribes one."""
    withheld: Mapping[str, WithheldTool] = field(default_factory=dict[str, WithheldTool])
    """By each of its names, a tool that is refused with a reason."""

    def lookup(self, name: str) -> AnyTool | None:
        """The tool of that name or alias; None where there is none."""
        return self.tools.get(name) or self.aliases.get(name)

    def find(self, name: str) -> AnyTool:
        """The same, or ToolNotFound."""
        tool = self.lookup(name)
        if tool is None:
            raise self.not_found(name)
        return tool

    def not_found(
        self, name: str, phrases: Mapping[str, Sequence[str]] | None = None
    ) -> PeciaError:
        """The error for a name that reaches no tool: why it is withheld, or the nearest names.
        `phrases` is what people call a tool, by its full name."""
        if held := self.withheld.get(name):
            return Forbidden(held.reason, tool=held.name, hint=held.hint)
        if self.absent is not None:
            return self.absent(name)
        if meant := self._find_by_phrase(name, phrases or {}):
            near = f"Tool not found: {name}; did you mean {meant[0]}?"
            return ToolNotFound(near, tool=name, available=[*meant])
        available: list[Json] = [*nearest_names(name, self.tools)]
        # A name without dots is accepted, but not suggested.
        known = [it for it, tool in self.aliases.items() if it in _names(tool)]
        near = suggest_name(name, [*self.tools, *known])
        return ToolNotFound(f"Tool not found: {name}{near}", tool=name, available=available)

    def _find_by_phrase(self, name: str, phrases: Mapping[str, Sequence[str]]) -> list[str]:
        """The tools that people call so: `recall`, `save_memory`."""
        spoken = " ".join(re.split(r"[\s_./-]+", name.casefold()[:MAX_NAME_CHARS]))
        return [it for it, tool in self.tools.items() if spoken in phrases.get(full_name(tool), ())]

    def has(self, name: str) -> bool:
        return self.lookup(name) is not None

    def with_dynamic_tools(
        self, dynamic: Sequence[AnyTool], withheld: Mapping[str, WithheldTool] | None = None
    ) -> "ToolView":
        """With these as well, under their own names; none shadows a built-in tool."""
        more = {it.name: it for it in dynamic if not self.has(it.name)}
        names = _stable_aliases([*more.values()])
        also = {
            name: it for it in more.values() if isinstance(it, ForeignTool) for name in it.aliases
        }
        view = _view({**self.tools, **more}, {**also, **names, **self.aliases})
        return replace(view, withheld=withheld or {})

    def for_agents(self) -> "ToolView":
        """The same tools, each in its lean form if it has one."""
        return ToolView(
            MappingProxyType({name: _lean(tool) for name, tool in self.tools.items()}),
            MappingProxyType({name: _lean(tool) for name, tool in self.aliases.items()}),
            self.absent,
            self.withheld,
        )

    def narrow(
        self,
        *,
        toolsets: Sequence[str] | None = None,
        tools: Sequence[str] | None = None,
        exclude: Sequence[str] = (),
        read_only: bool = False,
    ) -> "ToolView":
        """A smaller view. It can only shrink, and a name it does not have is an error."""
        if toolsets is not None:
            toolsets = [current_toolset(it) for it in toolsets]
        known_features = {tool.feature for tool in self.tools.values()}
        _require_known("toolset", toolsets or (), known_features)
        _require_known("tool", [*(tools or ()), *exclude], {*self.tools, *self.aliases})
        keep = {
            name: tool
            for name, tool in self.tools.items()
            if (toolsets is None or tool.feature in toolsets)
            and (tools is None or name in tools or _is_one_of(tool, tools, self.aliases))
            and not (name in exclude or _is_one_of(tool, exclude, self.aliases))
            and (tool.read_only or not read_only)
        }
        return replace(_view(keep, self.aliases), withheld=self.withheld)

    def for_caller(self, caller: Caller) -> "ToolView":
        """The tools within this caller's scopes. Names are the same for every caller."""
        mine = {name: tool for name, tool in self.tools.items() if may_call(caller, tool)}
        return replace(_view(mine, self.aliases), withheld=self.withheld)


def may_call(caller: Caller, tool: AnyTool) -> bool:
    """Whether the scopes suffice. Rights to rows are checked by the store."""
    if caller.is_anonymous:
        return tool.public
    return tool.scope in caller.scopes


def combine_tools(tools: Iterable[AnyTool], naming: NamingPolicy = "prefix") -> ToolView:
    """One view over everything configured.

    A unique name stays bare. Decided on the full set, so that names never depend on the caller.
    """
    listed = sorted(
        (tool for tool in tools if not tool.hidden), key=lambda it: (it.feature, it.name)
    )
    holders = Counter(tool.name for tool in listed)
    exposed: dict[str, AnyTool] = {}
    for tool in listed:
        name = _exposed_name(tool, holders[tool.name], naming)
        if name not in exposed:
            exposed[name] = tool
    return _view(exposed, _stable_aliases(listed))


def feature_view(tools: Iterable[AnyTool], feature: str) -> ToolView:
    """One feature alone, under the exact names of its reference."""
    mine = sorted(
        (it for it in tools if it.feature == feature and not it.hidden), key=lambda it: it.name
    )
    return _view({tool.name: tool for tool in mine}, _stable_aliases(mine))


def prefixed_name(tool: AnyTool) -> str:
    """The form that always works: `feature__name`."""
    return f"{tool.feature}__{tool.name}"


def full_name(tool: AnyTool) -> str:
    """How people and the audit name a tool: `lake.search_content`, `ckf.compile`."""
    return tool.name if tool.name.startswith(f"{tool.feature}.") else f"{tool.feature}.{tool.name}"


def _exposed_name(tool: AnyTool, holders: int, naming: NamingPolicy) -> str:
    if holders == 1 or naming == "first-wins":
        return tool.name
    if naming == "error":
        raise Conflict(f"Tool name conflict: {tool.name}", tool=tool.name)
    return prefixed_name(tool)


def _stable_aliases(tools: Sequence[AnyTool]) -> dict[str, AnyTool]:
    """The names that reach a tool on any endpoint.

    Some clients refuse dots: `ckf_compile` is `ckf.compile`, unless it is somebody's own name.
    """
    former = {name: tool for tool in tools for name in _former_names(tool)}
    dotless = {full_name(tool).replace(".", "_"): tool for tool in tools}
    own = {name: tool for tool in tools for name in _names(tool)}
    bare = {tool.name: tool for tool in tools if tool.name in dotless or tool.name in former}
    return {**former, **dotless, **own, **bare}


def _former_names(tool: AnyTool) -> Iterator[str]:
    """The names under toolsets that were renamed. Last in precedence."""
    for toolset in former_toolsets(tool.feature):
        yield from (f"{toolset}{it}{tool.name}" for it in ("__", ".", "_"))


def _names(tool: AnyTool) -> tuple[str, str]:
    return prefixed_name(tool), full_name(tool)


def _view(tools: Mapping[str, AnyTool], aliases: Mapping[str, AnyTool]) -> ToolView:
    held = {id(tool) for tool in tools.values()}
    kept = {name: tool for name, tool in aliases.items() if id(tool) in held}
    return ToolView(MappingProxyType(dict(tools)), MappingProxyType(kept))


def _lean(tool: AnyTool) -> AnyTool:
    return tool if isinstance(tool, ForeignTool) else tool.lean or tool


def _is_one_of(tool: AnyTool, names: Sequence[str], aliases: Mapping[str, AnyTool]) -> bool:
    return any(aliases.get(name) is tool for name in names)


def _require_known(what: str, names: Sequence[str], known: set[str]) -> None:
    for name in names:
        if name not in known:
            raise InvalidEnum(
                f"no {what} {name!r} here", field=what, got=name, allowed=[*sorted(known)]
            )
