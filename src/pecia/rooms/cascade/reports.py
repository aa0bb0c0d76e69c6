"""What people keep a cascade in order by: conflicts, stale concepts, problems, what a layer does.

The same rows for who types a command on a manifest and for who asks a server; a page of the server
gives them, because the tools are exactly those of the reference.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

import orjson
from anyio.to_thread import run_sync

from pecia.kernel.errors import InvalidEnum, InvalidInput, Json, MissingField, NotFound
from pecia.kernel.room import Ask, Page, Route
from pecia.rooms.cascade.cascades import Cascades
from pecia.rooms.cascade.survey import compare, conflicts, stale
from pecia.rooms.cascade.view import View

PATH = "/cascades/{report}"


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which report, and for `diff` of which layer: as it was added, or moved to a level."""

    report: str
    layer: str | None = None
    level: int | None = None


def rows_of(view: View, wanted: Wanted) -> list[dict[str, Json]]:
    """The rows of a report, over all that the view holds. Blocking: it reads every concept."""
    if wanted.report not in REPORTS:
        raise InvalidEnum(
            f"there is no report {wanted.report!r}", field="report", allowed=[*REPORTS]
        )
    return REPORTS[wanted.report](view, wanted)


def report_route(cascades: Cascades) -> Route:
    """`GET /cascades/conflicts?cascade=kb`, and so on."""

    async def serve(ask: Ask) -> Page:
        seen = await cascades.seen(ask.caller, ask.query.get("cascade"))
        wanted = Wanted(ask.path["report"], ask.query.get("layer"), _level(ask.query))
        rows = await run_sync(rows_of, seen.view, wanted)
        found: dict[str, Json] = {"cascade": seen.name, wanted.report: [*rows]}
        if degraded := seen.view.degraded():
            found["degraded"] = degraded
        return Page(orjson.dumps(found), "application/json")

    return Route("GET", PATH, "cascade.report", serve)


def _conflicts(view: View, wanted: Wanted) -> list[dict[str, Json]]:
    found = [*conflicts(view, datetime.now(UTC))]
    return sorted(found, key=lambda it: -int(str(it["days"] or 0)))


def _stale(view: View, wanted: Wanted) -> list[dict[str, Json]]:
    return [*stale(view, datetime.now(UTC))]


def _problems(view: View, wanted: Wanted) -> list[dict[str, Json]]:
    layers: list[dict[str, Json]] = [
        {"layer": it["layer"], "path": "", "code": "degraded", "message": it["reason"]}
        for it in view.degraded()
        if isinstance(it, dict)
    ]
    files: list[dict[str, Json]] = [
        {"layer": it.layer, "path": it.path, "code": it.code, "message": it.message}
        for it in view.problems()
    ]
    return [*layers, *files]


def _diff(view: View, wanted: Wanted) -> list[dict[str, Json]]:
    layer, known = wanted.layer, sorted(view.layers)
    if layer is None:
        raise MissingField("say which layer", field="layer", available=[*known])
    if layer not in known:
        raise NotFound(f"Unknown layer: {layer}", layer=layer, known=[*known])
    if wanted.level is None:
        before, after = view.without(layer), view
    else:
        before, after = view, view.moved(layer, wanted.level)
    return [it.value() for it in compare(before, after)]


REPORTS: Mapping[str, Callable[[View, Wanted], list[dict[str, Json]]]] = {
    "conflicts": _conflicts,
    "stale": _stale,
    "problems": _problems,
    "diff": _diff,
}


def _level(query: Mapping[str, str]) -> int | None:
    written = query.get("level")
    try:
        return int(written) if written is not None else None
    except ValueError:
        raise InvalidInput(
            "level is a whole number", field="level", expected="integer", got=written
        ) from None
