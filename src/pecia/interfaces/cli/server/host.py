"""A server in this process, from its first lock file to its last: what `start` and `serve` run."""

import gc
import signal
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import anyio

from pecia.adapters.embedding.model_listener import model_process
from pecia.app.app import App, open_app, run_maintenance
from pecia.app.dispatch import RequestContext
from pecia.app.features import import_features
from pecia.interfaces.cli.output.terminal import Terminal
from pecia.interfaces.cli.server.announcement import ServerAnnouncement, announce
from pecia.interfaces.cli.server.lock import ServerLock
from pecia.interfaces.cli.server.oidc import make_oidc_fetch
from pecia.interfaces.cli.server.port import ReservedPort
from pecia.interfaces.cli.settings import environ
from pecia.interfaces.http.activity import ActivityMonitor
from pecia.interfaces.http.server import LOOP_OPTIONS, freeze_gc, serve_http
from pecia.interfaces.mcp.on_demand import mount_mcp_on_demand
from pecia.interfaces.web.console import mount_console
from pecia.kernel import logs
from pecia.kernel.errors import Json
from pecia.kernel.jobs.worker_process import (
    ForkedWorker,
    fork_worker,
    supervise_worker,
    worker_command,
)
from pecia.kernel.settings.load import Settings
from pecia.kernel.tool.call import ClientInquiry, ClientReply
from pecia.kernel.tool.null_channel import NullChannel


@dataclass(frozen=True, slots=True)
class HostPlan:
    """What to serve, and where. `ready` is called with the lock and the space, if there is one."""

    settings: Settings
    reserved: ReservedPort
    on_ready: Callable[[ServerLock, Json], None]
    folder: Path | None = None
    check: Callable[[App], Awaitable[None]] | None = None
    """Raises when this App must not be served as it is."""
    with_worker: bool = True
    announcement: ServerAnnouncement | None = None
    """Set when the caller has published the locks, and removes them in the end."""
    idle_stop_s: float = 0.0
    """Stop after so long without a request; 0: never."""


def run_server(terminal: Terminal, plan: HostPlan) -> None:
    """Serve until SIGINT or SIGTERM. Call it as the one process that may serve the home."""
    worker = _fork_worker(terminal, plan) if plan.with_worker else None
    gc.enable()
    try:
        with logs.configure_logging(plan.settings.kernel):
            anyio.run(_run_server, terminal, plan, worker, backend_options=LOOP_OPTIONS)
    finally:
        if worker is not None:
            worker.discard()


def _fork_worker(terminal: Terminal, plan: HostPlan) -> ForkedWorker | None:
    """The worker, forked when everything is imported and nothing is opened: it starts at once, and
    takes a third of the memory that one of its own would."""
    from pecia.interfaces.cli.commands.worker import import_worker, run_forked_worker

    import_features()
    import_worker()
    return fork_worker(lambda: run_forked_worker(terminal, plan.settings))


async def _run_server(terminal: Terminal, plan: HostPlan, worker: ForkedWorker | None) -> None:
    activity = ActivityMonitor()
    async with anyio.create_task_group() as tasks:
        stop = _ShutdownSignal(terminal, anyio.Event(), tasks.cancel_scope)
        tasks.start_soon(stop.on_signal)
        with _announce_server(plan) as announcement:
            lock = announcement.lock
            async with _open_and_serve(terminal, plan, lock, activity) as app:
                space = await _add_space(app, plan.folder) if plan.folder else None
                announcement.publish_folder()
                stop.is_graceful = True
                freeze_gc()
                plan.on_ready(lock, space)
                if plan.idle_stop_s:
                    tasks.start_soon(stop.on_idle, activity, plan.idle_stop_s)
                work = _supervise_worker(terminal, plan, worker)
                await _run_background_tasks(app, work, stop.requested)
        tasks.cancel_scope.cancel()


@dataclass(slots=True)
class _ShutdownSignal:
    """Signal handling. Once serving, nothing is cancelled: shutdown is graceful."""

    terminal: Terminal
    requested: anyio.Event
    scope: anyio.CancelScope
    is_graceful: bool = False

    async def on_signal(self) -> None:
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM, signal.SIGHUP) as signals:
            async for _ in signals:
                # During startup, or on the second signal, there is nothing worth waiting for.
                if self.requested.is_set() or not self.is_graceful:
                    self.scope.cancel()
                self.terminal.info("stopping…")
                self.requested.set()

    async def on_idle(self, activity: ActivityMonitor, limit_s: float) -> None:
        await activity.wait_until_idle(limit_s)
        self.terminal.info(f"no request for {limit_s:g} s: stopping…")
        self.requested.set()


@asynccontextmanager
async def _open_and_serve(
    terminal: Terminal, plan: HostPlan, lock: ServerLock, activity: ActivityMonitor
) -> AsyncGenerator[App]:
    kernel = plan.settings.kernel
    terminal.info("starting the database…")
    async with AsyncExitStack() as stack:
        if plan.with_worker:
            # Before the app, whose last texts it embeds; the worker asks it too.
            await stack.enter_async_context(model_process(kernel.home, environ()))
        opened = open_app(
            plan.settings,
            fetch=make_oidc_fetch(kernel),
            report=terminal.info,
            shares_models=plan.with_worker,
        )
        app = await stack.enter_async_context(opened)
        if plan.check is not None:
            await plan.check(app)
        async with serve_http(
            app,
            listener=plan.reserved.listener,
            mounts=[mount_mcp_on_demand, mount_console],
            instance=lock.instance,
            activity=activity,
        ):
            yield app


async def _run_background_tasks(
    app: App, work: Callable[[], Coroutine[Any, Any, None]], stop_requested: anyio.Event
) -> None:
    """Maintenance and the worker process, until a stop is requested."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run_maintenance, app)
        tasks.start_soon(work)
        await stop_requested.wait()
        tasks.cancel_scope.cancel()


def _supervise_worker(
    terminal: Terminal, plan: HostPlan, worker: ForkedWorker | None
) -> Callable[[], Coroutine[Any, Any, None]]:
    env = {**environ(), "PECIA_HOME": str(plan.settings.kernel.home)}
    command = _worker_command(terminal, plan)
    return partial(supervise_worker, command, env, terminal.info, first=worker)


def _worker_command(terminal: Terminal, plan: HostPlan) -> list[str]:
    """The one worker of local mode; in server mode the indexer of this node."""
    command = worker_command(sys.executable)
    if plan.with_worker:
        return command
    config = ["--config", str(terminal.config)] if terminal.config else []
    return [*command, "--indexer", *config]


class AutoConfirmChannel(NullChannel):
    """Confirms everything: the person who ran the command wants what it does."""

    async def inquire(self, inquiries: Mapping[str, ClientInquiry]) -> Mapping[str, ClientReply]:
        return {key: ClientReply("accept") for key in inquiries}


async def _add_space(app: App, folder: Path) -> Json:
    # Starting a server for a folder confirms adding it.
    context = RequestContext("cli", channel=AutoConfirmChannel())
    who = await app.authenticate(None, context)
    result = await app.call(who, "admin.add_space", {"folder": str(folder)}, context)
    return result.structured


@contextmanager
def _announce_server(plan: HostPlan) -> Generator[ServerAnnouncement]:
    """The locks, from before the database opens until after it is closed."""
    if plan.announcement is not None:
        yield plan.announcement
        return
    with announce(plan.settings.kernel.home, plan.folder) as announcement:
        announcement.publish_port(plan.reserved)
        yield announcement
