"""What a feature of a plugin may be: its own names, its own paths, nothing of others."""

from collections.abc import Iterable, Iterator

from pecia.app.plugins import PluginError, refuse_clash
from pecia.kernel.feature import Feature
from pecia.kernel.tool.view import combine_tools, full_name


def require_own_names(feature: Feature, name: str) -> None:
    """Refuse a feature that speaks for another one."""
    if wrong := next(_strays(feature, name), None):
        raise PluginError(wrong)


def require_distinct(feature: Feature, others: Iterable[Feature]) -> None:
    """Refuse a feature that shares a tool or a URI scheme with a plugin before it."""
    for other in others:
        if shared := sorted(_exposed_names(feature) & _exposed_names(other)):
            raise PluginError(f"plugin {other.name!r} has the {shared[0]} too")


def require_free(plugin: Feature, built_in: Iterable[Feature]) -> None:
    """Conflict where a plugin would take a tool or a URI scheme of ours."""
    ours = tuple(built_in)
    view = combine_tools(tool for feature in ours for tool in feature.tools)
    names = (it for tool in plugin.tools for it in (tool.name, full_name(tool).replace(".", "_")))
    if taken := next((it for it in names if view.has(it)), None):
        raise refuse_clash(plugin.name, f"Pecia has a tool {taken!r}")
    schemes = {it.scheme for feature in ours for it in feature.resources}
    if shared := sorted(schemes & {it.scheme for it in plugin.resources}):
        raise refuse_clash(plugin.name, f"Pecia has the URI scheme {shared[0]!r}")


def _strays(feature: Feature, name: str) -> Iterator[str]:
    if feature.name != name:
        yield f"it builds the feature {feature.name!r}"
    owned = (feature.tools, feature.resources, feature.templates, feature.prompts, feature.jobs)
    for it in (part for parts in owned for part in parts):
        if it.feature != name:
            yield f"a part of it says that it is of the feature {it.feature!r}"
    for it in (*feature.routes, *feature.sockets):
        if not it.path.startswith(f"/plugins/{name}/"):
            yield f"its path {it.path} is not below /plugins/{name}/"
        if not it.name.startswith(f"{name}."):
            yield f"its page is audited as {it.name!r}, not as {name}.SOMETHING"
    if feature.dynamic_tools is not None:
        yield "dynamic tools are the hub's"


def _exposed_names(feature: Feature) -> set[str]:
    tools = {f"tool {it.name!r}" for it in feature.tools}
    return tools | {f"URI scheme {it.scheme!r}" for it in feature.resources}
