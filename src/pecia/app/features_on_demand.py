"""Features that are imported with their first use: of a tool, a resource, a prompt or a page.

As in `kernel/tool/on_demand.py`, what a server must know of them when it starts is recorded. Only
for features that nothing else needs: no job, no lifespan, no service.
"""

from dataclasses import asdict
from typing import Any, cast

from pecia.kernel.feature import Feature, FeatureContext, FeatureRoute
from pecia.kernel.identity.caller import Scope
from pecia.kernel.on_demand import OnDemand
from pecia.kernel.registration import FeatureRegistration
from pecia.kernel.tool.model import (
    Complete,
    Prompt,
    PromptArgument,
    Resource,
    ResourceTemplate,
    Tool,
    ToolGroup,
)
from pecia.kernel.tool.on_demand import (
    Row,
    current_recording,
    read_recorded,
    tool_of_row,
    tool_row,
)

PARTS = {"name", "instructions", "tools", "resources", "templates", "prompts", "routes"}


def build_deferred(registration: FeatureRegistration, context: FeatureContext) -> Feature:
    """The feature, whose modules are not imported yet."""
    assert registration.build is not None
    source: OnDemand[Feature] = OnDemand(registration.build, context)
    recording = current_recording()
    if recording is not None:
        recording[registration.build] = feature_row(source.get())
        return source.get()
    row = read_recorded(f"pecia.features.{registration.name}").get(registration.build)
    # None: new, and `make docs` was not run since.
    return source.get() if row is None else _feature_of_row(row, source)


def feature_row(feature: Feature) -> Row:
    """What is recorded of a feature."""
    other = {name for name in feature.__slots__ if getattr(feature, name)} - PARTS
    if other or any(it.watch or it.read_part for it in feature.resources):
        raise TypeError(f"{feature.name} has more than can be deferred: {sorted(other)}")
    return {
        "name": feature.name,
        "instructions": feature.instructions,
        "tools": [tool_row(cast("Tool[Any, Any]", it)) for it in feature.tools],
        "resources": [
            _plain(it, "feature", "scheme", "scope", "public", "prefix") for it in feature.resources
        ],
        "templates": [
            _plain(it, "feature", "uri_template", "name", "scope", "description", "mime_type")
            | {"completes": it.complete is not None}
            for it in feature.templates
        ],
        "prompts": [
            _plain(it, "feature", "name", "scope", "description", "public")
            | {"arguments": [asdict(argument) for argument in it.arguments]}
            | {"completes": it.complete is not None}
            for it in feature.prompts
        ],
        "routes": [
            _plain(it, "method", "path", "name", "public", "timeout_s") for it in feature.routes
        ],
    }


def _plain(it: object, *names: str) -> Row:
    return {name: getattr(it, name) for name in names}


def _feature_of_row(row: Row, source: OnDemand[Feature]) -> Feature:
    group = ToolGroup(source, lambda it: it.tools)
    return Feature(
        row["name"],
        instructions=row["instructions"],
        tools=tuple(tool_of_row(group, it) for it in row["tools"]),
        resources=tuple(_resource(it, n, source) for n, it in enumerate(row["resources"])),
        templates=tuple(_template(it, n, source) for n, it in enumerate(row["templates"])),
        prompts=tuple(_prompt(it, n, source) for n, it in enumerate(row["prompts"])),
        routes=tuple(_route(it, n, source) for n, it in enumerate(row["routes"])),
    )


def _resource(row: Row, n: int, source: OnDemand[Feature]) -> Resource:
    known: Row = {**row, "scope": Scope(row["scope"])}
    return Resource(
        **known,
        listing=source.handler(lambda it: it.resources[n].listing),
        read=source.handler(lambda it: it.resources[n].read),
    )


def _template(row: Row, n: int, source: OnDemand[Feature]) -> ResourceTemplate:
    known: Row = {name: it for name, it in row.items() if name != "completes"}
    known["scope"] = Scope(row["scope"])
    complete = source.handler(lambda it: _require(it.templates[n].complete))
    return ResourceTemplate(**known, complete=complete if row["completes"] else None)


def _prompt(row: Row, n: int, source: OnDemand[Feature]) -> Prompt:
    complete = source.handler(lambda it: _require(it.prompts[n].complete))
    return Prompt(
        row["feature"],
        row["name"],
        Scope(row["scope"]),
        row["description"],
        tuple(PromptArgument(**it) for it in row["arguments"]),
        source.handler(lambda it: it.prompts[n].render),
        complete if row["completes"] else None,
        row["public"],
    )


def _route(row: Row, n: int, source: OnDemand[Feature]) -> FeatureRoute:
    return FeatureRoute(**row, serve=source.handler(lambda it: it.routes[n].serve))


def _require(complete: Complete | None) -> Complete:
    assert complete is not None
    return complete
