"""`pecia index`: how the keyword indexes of this home stand, and making them good."""

import sys
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import typer

from pecia.doors.cli.configured import settled
from pecia.doors.cli.home import require_home
from pecia.doors.cli.render import show
from pecia.doors.cli.terminal import FAILED, Terminal, terminal_of
from pecia.kernel.errors import Json
from pecia.kernel.settings.account import login_name

if TYPE_CHECKING:
    from pecia.kernel.corpus.index.tend import Tenant, Tending

TENANT = typer.Argument(None, help="The tenant's name. Unset: every tenant.")

Report = Callable[[int, int], None]


def add_to(app: typer.Typer) -> None:
    verbs = typer.Typer(no_args_is_help=True, help="The keyword indexes of this home.")
    for verb in (status, rebuild, verify, repair):
        verbs.command()(verb)
    app.add_typer(verbs, name="index")


def status(ctx: typer.Context, tenant: str | None = TENANT) -> None:
    """Show how far each index is, what it holds and what it takes."""

    async def look(tending: "Tending", of: "Tenant", _: Report) -> Any:
        return await tending.standing(of)

    _tend(ctx, tenant, look)


def rebuild(ctx: typer.Context, tenant: str | None = TENANT) -> None:
    """Build indexes anew from the database. The old ones are searched meanwhile."""

    async def build(tending: "Tending", of: "Tenant", report: Report) -> Any:
        return await tending.rebuild(of, report)

    _tend(ctx, tenant, build)


def verify(ctx: typer.Context, tenant: str | None = TENANT) -> None:
    """Compare indexes with their checksums and with the database. Exits with 1 if they differ."""

    async def compare(tending: "Tending", of: "Tenant", report: Report) -> Any:
        return await tending.verify(of, report)

    found = _tend(ctx, tenant, compare)
    if not all(it.is_equal for it in found):
        raise typer.Exit(FAILED)


def repair(ctx: typer.Context, tenant: str | None = TENANT) -> None:
    """The same, and mend what differs."""

    async def mend(tending: "Tending", of: "Tenant", report: Report) -> Any:
        return await tending.repair(of, report)

    _tend(ctx, tenant, mend)


_Verb = Callable[["Tending", "Tenant", Report], Awaitable[Any]]


def _tend(ctx: typer.Context, tenant: str | None, verb: _Verb) -> list[Any]:
    import anyio

    terminal = terminal_of(ctx)
    found = anyio.run(_tended, terminal, tenant, verb)
    document: Json = {"indexes": [asdict(it) for it in found]}
    terminal.give(document, lambda it: show(it, document))
    return found


async def _tended(terminal: Terminal, name: str | None, verb: _Verb) -> list[Any]:
    from pecia.app.app import index_root
    from pecia.app.operating import open_operating
    from pecia.kernel.corpus.index.tend import Tending

    kernel = settled(terminal).kernel
    require_home(kernel)
    opened = open_operating(kernel, who=login_name(), report=terminal.say)
    async with opened as operating:
        tending = Tending(operating.store, index_root(kernel))
        return [
            await _watched(terminal, tending, tenant, verb)
            for tenant in await tending.tenants(name)
        ]


async def _watched(terminal: Terminal, tending: "Tending", tenant: "Tenant", verb: _Verb) -> Any:
    with _bar(terminal, tenant.name) as report:
        return await verb(tending, tenant, report)


@contextmanager
def _bar(terminal: Terminal, name: str) -> Generator[Report]:
    """A bar for whoever watches, nothing for a log."""
    if terminal.as_json or not sys.stderr.isatty():
        yield lambda done, of: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(name, total=None)
        yield lambda done, of: progress.update(task, completed=done, total=of)
