"""A server in this process, from its first lock file to its last: what `start` and `serve` run."""

import signal
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio

from pecia.app.app import App, keep_house, open_app
from pecia.app.corridor import Visit
from pecia.doors.cli.announce import Announcement, announced
from pecia.doors.cli.configured import environ
from pecia.doors.cli.listen import Reserved
from pecia.doors.cli.lock import ServerLock
from pecia.doors.cli.opening import fetching
from pecia.doors.cli.terminal import Terminal
from pecia.doors.http.server import LOOP, serving, settle
from pecia.doors.mcp.mount import mount_mcp
from pecia.doors.web.console import mount_console
from pecia.kernel import logs
from pecia.kernel.errors import Json
from pecia.kernel.jobs.child import supervise_worker, worker_command
from pecia.kernel.settings.load import Settings
from pecia.kernel.tool.call import Inquiry, Reply
from pecia.kernel.tool.quiet import Quiet


@dataclass(frozen=True, slots=True)
class Hosting:
    """What is to be served, and where. `ready` is told the lock and the space, if there is one."""

    settings: Settings
    reserved: Reserved
    ready: Callable[[ServerLock, Json], None]
    folder: Path | None = None
    check: Callable[[App], Awaitable[None]] | None = None
    """Raises when this App must not be served as it is."""
    with_worker: bool = True
    announcement: Announcement | None = None
    """Where somebody else has told of this server, and takes that back in the end."""


def host(terminal: Terminal, plan: Hosting) -> None:
    """Serve until SIGINT or SIGTERM. Call it as the one process that may serve the home."""
    with logs.installed(plan.settings.kernel):
        anyio.run(_host, terminal, plan, backend_options=LOOP)


async def _host(terminal: Terminal, plan: Hosting) -> None:
    async with anyio.create_task_group() as tasks:
        stop = _Stop(terminal, anyio.Event(), tasks.cancel_scope)
        tasks.start_soon(stop.on_signal)
        with _announced(plan) as lock:
            async with _opened(terminal, plan, lock) as app:
                space = await _add_space(app, plan.folder) if plan.folder else None
                stop.is_gentle = True
                settle()
                plan.ready(lock, space)
                await _keep_running(terminal, plan, app, stop.asked)
        tasks.cancel_scope.cancel()


@dataclass(slots=True)
class _Stop:
    """How a signal ends us. Once we serve, nothing is cancelled: what is open closes in order."""

    terminal: Terminal
    asked: anyio.Event
    scope: anyio.CancelScope
    is_gentle: bool = False

    async def on_signal(self) -> None:
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM, signal.SIGHUP) as signals:
            async for _ in signals:
                # While we start, or when asked again, there is nothing worth waiting for.
                if self.asked.is_set() or not self.is_gentle:
                    self.scope.cancel()
                self.terminal.say("stopping…")
                self.asked.set()


@asynccontextmanager
async def _opened(terminal: Terminal, plan: Hosting, lock: ServerLock) -> AsyncGenerator[App]:
    kernel = plan.settings.kernel
    terminal.say("starting the database…")
    async with open_app(plan.settings, fetch=fetching(kernel), report=terminal.say) as app:
        if plan.check is not None:
            await plan.check(app)
        async with serving(
            app,
            listener=plan.reserved.held,
            annexes=[mount_mcp, mount_console],
            instance=lock.instance,
        ):
            yield app


async def _keep_running(terminal: Terminal, plan: Hosting, app: App, asked: anyio.Event) -> None:
    """What a server does beside serving, until it is asked to stop."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(keep_house, app)
        env = {**environ(), "PECIA_HOME": str(plan.settings.kernel.home)}
        tasks.start_soon(supervise_worker, _child_command(terminal, plan), env, terminal.say)
        await asked.wait()
        tasks.cancel_scope.cancel()


def _child_command(terminal: Terminal, plan: Hosting) -> list[str]:
    """The one worker of local mode; in server mode, who keeps the keyword indexes of this node."""
    command = worker_command(sys.executable)
    if plan.with_worker:
        return command
    config = ["--config", str(terminal.config)] if terminal.config else []
    return [*command, "--indexer", *config]


class Agreeing(Quiet):
    """Whoever ran this command wants what it does."""

    async def inquire(self, inquiries: Mapping[str, Inquiry]) -> Mapping[str, Reply]:
        return {key: Reply("accept") for key in inquiries}


async def _add_space(app: App, folder: Path) -> Json:
    # The person who starts a server for a folder has named it.
    visit = Visit("cli", channel=Agreeing())
    who = await app.admit(None, visit)
    given = await app.call(who, "office.add_space", {"folder": str(folder)}, visit)
    return given.structured


@contextmanager
def _announced(plan: Hosting) -> Generator[ServerLock]:
    """The locks, from before the database opens until after it is let go."""
    if plan.announcement is not None:
        yield plan.announcement.lock
        return
    with announced(plan.settings.kernel.home, plan.folder) as announcement:
        yield announcement.bound(plan.reserved)
