"""Every MCP endpoint of this server, hung into the HTTP door by one function."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

import anyio
from starlette.types import ASGIApp

from pecia.app.app import App
from pecia.doors.http.app import Annex
from pecia.doors.http.visit import Doorkeeper
from pecia.doors.mcp.changes import Changes
from pecia.doors.mcp.door import Door
from pecia.doors.mcp.endpoints import endpoints, messages_path, sse_endpoints
from pecia.doors.mcp.following import Following
from pecia.doors.mcp.offer import Offers
from pecia.doors.mcp.server import Parts
from pecia.doors.mcp.session_table import SessionLimits, SessionTable
from pecia.doors.mcp.sse import SseDoor
from pecia.doors.mcp.tasks import TaskBoard
from pecia.doors.mcp.watch import Watchmen
from pecia.kernel.room import Room
from pecia.kernel.settings.kernel import KernelSettings
from pecia.kernel.tool.model import Watch
from pecia.rooms.desk.room import require_known
from pecia.rooms.desk.settings import DeskSettings


def mount_mcp(app: App, keeper: Doorkeeper, changes: Changes | None = None) -> Annex:
    """Everything below `/mcp` and `/sse`; nothing where MCP is switched off.

    Whoever keeps the `changes` can tell clients that something changed.
    """
    settings = app.settings.kernel
    if not settings.mcp_enabled:
        return Annex()
    changes = changes or Changes()
    desk = app.settings.part(DeskSettings)
    require_known(app.everything, desk.tools)
    guests = [room.guests for room in app.rooms if room.guests is not None]
    following = Following(app.store, changes, _watched(app.rooms), guests)
    changes.stamps = following.stamps
    extra = _extra(changes) if desk.conformance else ()
    offers, sessions = Offers(app, desk.tools, extra), SessionTable(_limits(settings))
    parts = Parts(app, offers, changes, TaskBoard(), Watchmen(), sessions)
    names = [room.name for room in (*app.rooms, *extra)]
    doors = [Door(it, parts, keeper) for it in endpoints(names, settings.mcp_root)]
    older = [SseDoor(it, parts, keeper) for it in sse_endpoints(names, settings.mcp_root)]
    return Annex(
        paths={**{it.endpoint.path: it for it in doors}, **_sse_paths(older)},
        resources=tuple(it.endpoint.path for it in (*doors, *older)),
        running=lambda: _running(doors, parts, following),
    )


def _limits(settings: KernelSettings) -> SessionLimits:
    return SessionLimits(
        settings.mcp_sessions_per_user,
        settings.mcp_sessions_max,
        settings.mcp_session_idle_s,
        settings.mcp_sessions_per_minute,
    )


def _watched(rooms: Sequence[Room]) -> dict[str, Watch]:
    return {it.scheme: it.watch for room in rooms for it in room.resources if it.watch}


def _sse_paths(doors: Sequence[SseDoor]) -> dict[str, ASGIApp]:
    streams = {it.endpoint.path: it.stream for it in doors}
    return {**streams, **{messages_path(it.endpoint): it.messages for it in doors}}


@asynccontextmanager
async def _running(
    doors: Sequence[Door], parts: Parts, following: Following
) -> AsyncGenerator[None]:
    async with anyio.create_task_group() as group:
        await group.start(parts.tasks.serve)
        group.start_soon(following.run)
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(parts.watchmen.on_duty())
            for door in doors:
                await stack.enter_async_context(door.running())
            # Before the sessions end: a stream is closed in good order while it can be.
            stack.callback(parts.changes.close)
            yield
        group.cancel_scope.cancel()


def _extra(changes: Changes) -> tuple[Room, ...]:
    # Fixtures for tests: nobody else should pay for importing them.
    from pecia.doors.mcp.conformance.room import conformance_room

    return (conformance_room(changes),)
