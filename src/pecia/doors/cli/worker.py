"""`pecia worker`: runs background jobs until it is told to stop."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from pecia.doors.cli.configured import settled
from pecia.doors.cli.terminal import Terminal, terminal_of, with_config

if TYPE_CHECKING:
    from pecia.kernel.settings.load import Settings


def add_to(app: typer.Typer) -> None:
    app.command()(worker)


def worker(
    ctx: typer.Context,
    config: Path | None = typer.Option(None, help="The configuration file of the server."),
    concurrency: int | None = typer.Option(None, help="How many jobs run at a time."),
    child: bool = typer.Option(
        False, hidden=True, help="Live no longer than the server that started it."
    ),
) -> None:
    """Run background jobs. A server in local mode has one; start more on any machine."""
    if child:
        from pecia.kernel.jobs.child import become_child

        become_child()
    terminal = with_config(terminal_of(ctx), config)
    run(terminal, settled(terminal, {"worker_concurrency": concurrency}))


def run(terminal: Terminal, settings: "Settings") -> None:
    """Work until SIGINT or SIGTERM; what runs then may finish."""
    import anyio

    from pecia.kernel import logs

    with logs.installed(settings.kernel, process="worker"):
        anyio.run(_work, terminal, settings)


async def _work(terminal: Terminal, settings: "Settings") -> None:
    import anyio

    from pecia.app.app import open_app
    from pecia.doors.cli.opening import fetching
    from pecia.kernel.jobs.worker import run_worker, stop_on_signal

    stop = anyio.Event()
    kernel = settings.kernel
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(stop_on_signal, stop)
        async with open_app(settings, fetch=fetching(kernel), report=terminal.say) as app:
            await run_worker(app.store, app.jobs, stop=stop, concurrency=kernel.worker_concurrency)
        tasks.cancel_scope.cancel()
