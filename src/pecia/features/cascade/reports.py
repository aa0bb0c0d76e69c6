"""Maintenance reports of a cascade: conflicts, stale concepts, problems, the diff of a layer.

The same rows for the CLI and the server; served over HTTP, because the MCP tools are exactly those
of the reference.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

import orjson
from anyio.to_thread import run_sync

from pecia.features.cascade.core.diagnostics import compare_views, list_conflicts, list_stale
from pecia.features.cascade.core.view import CascadeView
from pecia.features.cascade.registry import CascadeRegistry
from pecia.kernel.errors import InvalidEnum, InvalidInput, Json, MissingField, NotFound
from pecia.kernel.feature import FeaturePage, FeatureRequest, FeatureRoute

ROUTE_PATH = "/cascades/{report}"


@dataclass(frozen=True, slots=True)
class ReportRequest:
    """Which report; for `diff`, which layer: as added, or moved to a level."""

    report: str
    layer: str | None = None
    level: int | None = None


def build_report(view: CascadeView, wanted: ReportRequest) -> list[dict[str, Json]]:
    """The rows of a report over the whole view. Blocking: it reads every concept."""
    if wanted.report not in REPORTS:
        raise InvalidEnum(f"unknown report {wanted.report!r}", field="report", allowed=[*REPORTS])
    return REPORTS[wanted.report](view, wanted)


def report_route(cascades: CascadeRegistry) -> FeatureRoute:
    """`GET /cascades/conflicts?cascade=kb`, and so on."""

    async def serve(ask: FeatureRequest) -> FeaturePage:
        seen = await cascades.find_visible(ask.caller, ask.query.get("cascade"))
        wanted = ReportRequest(ask.path["report"], ask.query.get("layer"), _parse_level(ask.query))
        rows = await run_sync(build_report, seen.view, wanted)
        found: dict[str, Json] = {"cascade": seen.name, wanted.report: [*rows]}
        if degraded := seen.view.list_degraded():
            found["degraded"] = degraded
        return FeaturePage(orjson.dumps(found), "application/json")

    return FeatureRoute("GET", ROUTE_PATH, "cascade.report", serve)


def _conflict_rows(view: CascadeView, wanted: ReportRequest) -> list[dict[str, Json]]:
    found = [*list_conflicts(view, datetime.now(UTC))]
    return sorted(found, key=lambda it: -int(str(it["days"] or 0)))


def _stale_rows(view: CascadeView, wanted: ReportRequest) -> list[dict[str, Json]]:
    return [*list_stale(view, datetime.now(UTC))]


def _problem_rows(view: CascadeView, wanted: ReportRequest) -> list[dict[str, Json]]:
    layers: list[dict[str, Json]] = [
        {"layer": it["layer"], "path": "", "code": "degraded", "message": it["reason"]}
        for it in view.list_degraded()
        if isinstance(it, dict)
    ]
    files: list[dict[str, Json]] = [
        {"layer": it.layer, "path": it.path, "code": it.code, "message": it.message}
        for it in view.problems()
    ]
    return [*layers, *files]


def _diff_rows(view: CascadeView, wanted: ReportRequest) -> list[dict[str, Json]]:
    layer, known = wanted.layer, sorted(view.layers)
    if layer is None:
        raise MissingField("layer is required", field="layer", available=[*known])
    if layer not in known:
        raise NotFound(f"Unknown layer: {layer}", layer=layer, known=[*known])
    if wanted.level is None:
        before, after = view.without_layer(layer), view
    else:
        before, after = view, view.with_layer_level(layer, wanted.level)
    return [it.to_json() for it in compare_views(before, after)]


REPORTS: Mapping[str, Callable[[CascadeView, ReportRequest], list[dict[str, Json]]]] = {
    "conflicts": _conflict_rows,
    "stale": _stale_rows,
    "problems": _problem_rows,
    "diff": _diff_rows,
}


def _parse_level(query: Mapping[str, str]) -> int | None:
    written = query.get("level")
    try:
        return int(written) if written is not None else None
    except ValueError:
        raise InvalidInput(
            f"level must be an integer, not {str(written)[:50]!r}",
            field="level",
            expected="integer",
            got=written,
        ) from None
