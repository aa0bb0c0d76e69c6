"""`pecia status`: status of the server and its data. Starts, stops and changes nothing."""

from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, cast

import typer

from pecia.interfaces.cli.output.render import show_facts
from pecia.interfaces.cli.output.terminal import EXIT_FAILED, terminal_of
from pecia.interfaces.cli.server.client import ServerClient
from pecia.interfaces.cli.server.discover import (
    RunningServer,
    find_running_server,
    warn_version_mismatch,
)
from pecia.interfaces.cli.server.home import START, has_home, no_home
from pecia.interfaces.cli.server.lock import is_claimed
from pecia.interfaces.cli.settings import load_settings
from pecia.kernel.errors import Json, PeciaError

if TYPE_CHECKING:
    from pecia.kernel.settings.kernel import KernelSettings


def add_to(app: typer.Typer) -> None:
    app.command()(status)


def status(ctx: typer.Context) -> None:
    """Show whether a server runs for this home, and its state. Exits with 1 when none does."""
    import anyio

    terminal = terminal_of(ctx)
    kernel = load_settings(terminal).kernel
    found = find_running_server(kernel.home)
    if found is not None:
        warn_version_mismatch(terminal, found)
    document: dict[str, Json] = {
        "running": found is not None,
        "home": str(kernel.home),
        **(_server_facts(found) if found else {"starting": is_claimed(kernel.home)}),
        "spool": _audit_spool(kernel.home / "spool"),
        **anyio.run(_database, kernel),
    }
    terminal.print_result(document, lambda it: show_facts(it, _flatten(document)))
    if found is None:
        terminal.info(f"no server runs; try: {START}" if has_home(kernel) else _none(kernel))
        raise typer.Exit(EXIT_FAILED)


def _none(kernel: "KernelSettings") -> str:
    return f"{no_home(kernel)}; try: {START}"


def _server_facts(found: RunningServer) -> dict[str, Json]:
    started = datetime.fromisoformat(found.lock.started_at)
    return {
        "url": found.lock.url,
        "pid": found.lock.pid,
        "version": found.version,
        "mode": str(found.health.get("mode")),
        "started_at": found.lock.started_at,
        "uptime_s": round((datetime.now(UTC) - started).total_seconds()),
        "checks": _checks(found.lock.url),
    }


def _checks(url: str) -> Json:
    """The server's own health checks, by name."""
    try:
        found = ServerClient(url).request("GET", "/readyz", limit_s=5).json()
    except PeciaError:
        return {}
    return cast(dict[str, Json], found).get("checks") if isinstance(found, dict) else {}


def _audit_spool(folder: Path) -> dict[str, Json]:
    """The size of the audit spool: rows not in the database yet."""
    files = [it for it in folder.glob("*.audit") if it.exists()] if folder.is_dir() else []
    return {"files": len(files), "bytes": sum(it.stat().st_size for it in files)}


async def _database(kernel: "KernelSettings") -> dict[str, Json]:
    from pecia.kernel.store.cluster import cluster_status

    if kernel.database_url is None:
        state = (await cluster_status(kernel.home)).state
        database: dict[str, Json] = {"kind": "embedded", "state": state}
        if state != "running":
            return {"database": database}
    else:
        database = {"kind": "external", "state": "running"}
    try:
        return {"database": database, **await _queue(kernel)}
    except PeciaError as error:
        return {"database": {**database, "state": "not answering", "problem": error.message}}


async def _queue(kernel: "KernelSettings") -> dict[str, Json]:
    from pecia.app.app import open_logins
    from pecia.app.operator.health import list_source_problems, load_queue_health
    from pecia.kernel.store.store import PoolSize, Store

    async with open_logins(kernel, lambda _: None) as logins:
        store = Store(logins, app=PoolSize(max_size=1), system=PoolSize(max_size=1))
        await store.open()
        try:
            found = asdict(await load_queue_health(store))
            troubles = await list_source_problems(store)
        finally:
            await store.close()
    workers = found.pop("workers")
    sources: dict[str, Json] = {
        "failed": [f"{it.tenant}/{it.source_id}: {it.problem}" for it in troubles if it.failed],
        "with_unread_files": [
            f"{it.tenant}/{it.source_id}: {it.unread}" for it in troubles if it.unread
        ],
    }
    return {"worker": {"alive": workers}, "queue": found, "sources": sources}


def _flatten(document: dict[str, Json], prefix: str = "") -> dict[str, Json]:
    """Nested fields, flattened."""
    flat: dict[str, Json] = {}
    for name, value in document.items():
        if isinstance(value, dict):
            flat |= _flatten(value, f"{prefix}{name}.")
        else:
            flat[prefix + name] = value
    return flat
