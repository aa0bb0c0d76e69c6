"""`pecia index`: status, rebuild, verify and repair of the keyword indexes of this home."""

from collections.abc import Awaitable, Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote

import typer

from pecia.interfaces.cli.output.progress import progress_bar
from pecia.interfaces.cli.output.render import show_document
from pecia.interfaces.cli.output.terminal import EXIT_FAILED, Terminal, terminal_of
from pecia.interfaces.cli.server.client import API, ServerClient
from pecia.interfaces.cli.server.credentials import read_owner_token
from pecia.interfaces.cli.server.discover import find_running_server
from pecia.interfaces.cli.server.home import require_home
from pecia.interfaces.cli.settings import find_home, load_settings
from pecia.kernel.errors import Json, NotFound, PeciaError
from pecia.kernel.settings.account import login_name

if TYPE_CHECKING:
    from pecia.kernel.corpus.keyword.maintenance import IndexMaintenance, IndexTenant

TENANT = typer.Argument(None, help="The tenant's name. Unset: every tenant.")

IndexProgress = Callable[[int, int], None]


def add_to(app: typer.Typer) -> None:
    verbs = typer.Typer(no_args_is_help=True, help="The keyword indexes of this home.")
    for verb in (status, rebuild, verify, repair):
        verbs.command()(verb)
    app.add_typer(verbs, name="index")


def status(ctx: typer.Context, tenant: str | None = TENANT) -> None:
    """Show the position, content and disk size of each index."""
    terminal = terminal_of(ctx)
    if (document := _ask_server(find_home(terminal), tenant)) is not None:
        terminal.print_result(document, lambda it: show_document(it, document))
        return

    async def show_status(
        maintenance: "IndexMaintenance", of: "IndexTenant", _: IndexProgress
    ) -> Any:
        return await maintenance.status(of)

    _run_maintenance(ctx, tenant, show_status)


def rebuild(ctx: typer.Context, tenant: str | None = TENANT) -> None:
    """Rebuild indexes from the database. The old ones serve searches meanwhile."""

    async def build(
        maintenance: "IndexMaintenance", of: "IndexTenant", report: IndexProgress
    ) -> Any:
        return await maintenance.rebuild(of, report)

    _run_maintenance(ctx, tenant, build)


def verify(ctx: typer.Context, tenant: str | None = TENANT) -> None:
    """Compare indexes with their checksums and with the database. Exits with 1 if they differ."""

    async def compare(
        maintenance: "IndexMaintenance", of: "IndexTenant", report: IndexProgress
    ) -> Any:
        return await maintenance.verify(of, report)

    found = _run_maintenance(ctx, tenant, compare)
    if not all(it.is_equal for it in found):
        raise typer.Exit(EXIT_FAILED)


def repair(ctx: typer.Context, tenant: str | None = TENANT) -> None:
    """The same, and repair what differs."""

    async def fix(maintenance: "IndexMaintenance", of: "IndexTenant", report: IndexProgress) -> Any:
        return await maintenance.repair(of, report)

    _run_maintenance(ctx, tenant, fix, repairs_node=True)


def _ask_server(home: Path, tenant: str | None) -> dict[str, Json] | None:
    """What the owner's running server says; None where only the database can tell."""
    found = find_running_server(home)
    if found is None:
        return None
    client = ServerClient(found.lock.url, read_owner_token(home))
    query = f"?tenant={quote(tenant, safe='')}" if tenant else ""
    try:
        return cast(dict[str, Json], client.get(f"{API}/indexes{query}"))
    except NotFound as error:
        if "tenant" in error.fields:
            raise
        # A server of another version, which has no such page.
        return None
    except PeciaError:
        return None


_MaintenanceAction = Callable[["IndexMaintenance", "IndexTenant", IndexProgress], Awaitable[Any]]


def _run_maintenance(
    ctx: typer.Context,
    tenant: str | None,
    verb: _MaintenanceAction,
    *,
    repairs_node: bool = False,
) -> list[Any]:
    import anyio

    terminal = terminal_of(ctx)
    was_damaged, found = anyio.run(_maintain_tenants, terminal, tenant, verb)
    document: dict[str, Json] = {"indexes": [_to_row(it) for it in found]}
    if repairs_node:
        document["node"] = "mended" if was_damaged else "intact"
    terminal.print_result(document, lambda it: show_document(it, document))
    return found


def _to_row(found: Any) -> dict[str, Json]:
    """A result as JSON has it: a list of files is a list."""
    row: dict[str, Any] = asdict(found)
    return {name: [*cast(Any, it)] if isinstance(it, tuple) else it for name, it in row.items()}


async def _maintain_tenants(
    terminal: Terminal, name: str | None, verb: _MaintenanceAction
) -> tuple[bool, list[Any]]:
    """Whether the name of the node was damaged, which no command can do without, and the rest."""
    from pecia.app.app import index_root
    from pecia.app.operator.session import open_operator_session
    from pecia.kernel.corpus.keyword.maintenance import IndexMaintenance

    kernel = load_settings(terminal).kernel
    require_home(kernel)
    opened = open_operator_session(kernel, who=login_name(), report=terminal.info)
    async with opened as operating:
        maintenance = IndexMaintenance(operating.store, index_root(kernel))
        was_damaged = await maintenance.repair_node()
        return was_damaged, [
            await _run_with_progress(terminal, maintenance, tenant, verb)
            for tenant in await maintenance.list_tenants(name)
        ]


async def _run_with_progress(
    terminal: Terminal,
    maintenance: "IndexMaintenance",
    tenant: "IndexTenant",
    verb: _MaintenanceAction,
) -> Any:
    with progress_bar(terminal, "changes") as report:
        return await verb(maintenance, tenant, lambda done, of: report(tenant.name, done, of))
