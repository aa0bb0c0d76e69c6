"""`pecia worker`: runs background jobs until it is stopped."""

from collections.abc import Awaitable, Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import typer

from pecia.interfaces.cli.output.terminal import Terminal, terminal_of, with_config
from pecia.interfaces.cli.server.home import require_home
from pecia.interfaces.cli.settings import load_settings
from pecia.kernel.settings.account import login_name

if TYPE_CHECKING:
    from pecia.kernel.settings.load import Settings

    Work: TypeAlias = Callable[[Terminal, Settings], Awaitable[None]]


def add_to(app: typer.Typer) -> None:
    app.command()(worker)


def worker(
    ctx: typer.Context,
    config: Path | None = typer.Option(None, help="The configuration file of the server."),
    concurrency: int | None = typer.Option(None, help="How many jobs run at a time."),
    child: bool = typer.Option(False, hidden=True, help="Exit with the server that started it."),
    indexer: bool = typer.Option(
        False, hidden=True, help="Update the keyword indexes of this home, and run no jobs."
    ),
) -> None:
    """Run background jobs. A server in local mode has one; start more on any machine."""
    if child:
        from pecia.kernel.jobs.worker_process import become_child

        become_child()
    terminal = with_config(terminal_of(ctx), config)
    # The file of a server, as `pecia serve` reads it.
    mode = "server" if terminal.config is not None else None
    settings = load_settings(terminal, {"worker_concurrency": concurrency, "mode": mode})
    require_home(settings.kernel, _where_from(terminal.config))
    if indexer:
        run_until_signal(terminal, settings, _run_indexer, process="indexer")
    else:
        # The worker of a server on this machine updates its indexes; others have none.
        run_until_signal(terminal, settings, _run_worker_and_indexer if child else _run_worker)


def _where_from(config: Path | None) -> str:
    if config is None:
        return "pecia start FOLDER, or pecia worker --config pecia.yml"
    return f"name the server's database in {config}: database_url: postgresql://…"


def import_worker() -> None:
    """What a worker needs beside the features."""
    import_module("pecia.kernel.corpus.keyword.follower")
    import_module("pecia.kernel.jobs.worker")


def run_forked_worker(terminal: Terminal, settings: "Settings") -> None:
    """The worker of a server in local mode, in a process that the server forked."""
    run_until_signal(terminal, settings, _run_worker_and_indexer)


def run_until_signal(
    terminal: Terminal, settings: "Settings", work: "Work", process: str = "worker"
) -> None:
    """Work until SIGINT or SIGTERM; running jobs may finish."""
    import anyio

    from pecia.kernel import logs

    with logs.configure_logging(settings.kernel, process=process):
        anyio.run(work, terminal, settings)


async def _run_worker_and_indexer(terminal: Terminal, settings: "Settings") -> None:
    await _run_worker(terminal, settings, keeps_indexes=True)


async def _run_indexer(terminal: Terminal, settings: "Settings") -> None:
    """Update the keyword indexes from the store, for the server of this home, which reads them."""

    import anyio

    from pecia.app.app import index_root
    from pecia.app.operator.session import open_operator_session
    from pecia.kernel.corpus.keyword.follower import IndexFollower
    from pecia.kernel.jobs.worker import stop_on_signal

    stop = anyio.Event()
    kernel = settings.kernel
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(stop_on_signal, stop)
        opened = open_operator_session(kernel, who=login_name(), report=terminal.info)
        async with opened as operating, anyio.create_task_group() as background:
            background.start_soon(IndexFollower(operating.store, index_root(kernel)).run)
            await stop.wait()
            background.cancel_scope.cancel()
        tasks.cancel_scope.cancel()


async def _run_worker(
    terminal: Terminal, settings: "Settings", *, keeps_indexes: bool = False
) -> None:
    import anyio

    from pecia.app.app import index_root, open_app
    from pecia.interfaces.cli.server.oidc import make_oidc_fetch
    from pecia.kernel.corpus.keyword.follower import IndexFollower
    from pecia.kernel.jobs.worker import run_worker, stop_on_signal

    stop = anyio.Event()
    kernel = settings.kernel
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(stop_on_signal, stop)
        opened = open_app(
            settings,
            fetch=make_oidc_fetch(kernel),
            report=terminal.info,
            is_worker=True,
            shares_models=keeps_indexes,
        )
        async with opened as app, anyio.create_task_group() as background:
            if keeps_indexes:
                background.start_soon(IndexFollower(app.store, index_root(kernel)).run)
            for task in app.background_tasks:
                background.start_soon(task)
            await run_worker(app.store, app.jobs, stop=stop, concurrency=kernel.worker_concurrency)
            background.cancel_scope.cancel()
        tasks.cancel_scope.cancel()
