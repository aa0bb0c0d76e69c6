"""`pecia status`: status of the server and its data. Starts, stops and changes nothing."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, cast

from pecia.interfaces.cli.output.render import show_facts
from pecia.interfaces.cli.output.terminal import EXIT_FAILED, EXIT_OK, Terminal
from pecia.interfaces.cli.server.client import API, ServerClient
from pecia.interfaces.cli.server.credentials import read_owner_token
from pecia.interfaces.cli.server.discover import (
    RunningServer,
    find_running_server,
    warn_version_mismatch,
)
from pecia.interfaces.cli.server.home import START, has_home, no_home
from pecia.interfaces.cli.server.lock import is_claimed
from pecia.interfaces.cli.settings import find_home, load_settings
from pecia.interfaces.cli.tools.direct import CommandArguments, DirectCommand
from pecia.kernel.errors import Json, PeciaError

if TYPE_CHECKING:
    from pecia.kernel.settings.kernel import KernelSettings


LIMIT_S = 5.0


def status(terminal: Terminal, given: CommandArguments) -> int:
    home = find_home(terminal)
    found = find_running_server(home)
    if found is not None:
        warn_version_mismatch(terminal, found)
    document: dict[str, Json] = {
        "running": found is not None,
        "home": str(home),
        **(_server_facts(found) if found else {"starting": is_claimed(home)}),
        "spool": _audit_spool(home / "spool"),
        **((found and _ask_server(found)) or _ask_database(terminal)),
    }
    terminal.print_result(document, lambda it: show_facts(it, _flatten(document)))
    if found is None:
        kernel = load_settings(terminal).kernel
        terminal.info(f"no server runs; try: {START}" if has_home(kernel) else _none(kernel))
        return EXIT_FAILED
    return EXIT_OK


def _ask_server(found: RunningServer) -> dict[str, Json] | None:
    """What the owner's server says of its database; None where only the database can tell."""
    client = ServerClient(found.lock.url, read_owner_token(Path(found.lock.home)))
    try:
        return cast(dict[str, Json], client.get(f"{API}/status", limit_s=LIMIT_S))
    except PeciaError:
        return None


def _ask_database(terminal: Terminal) -> dict[str, Json]:
    import anyio

    return anyio.run(_database, load_settings(terminal).kernel)


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
        "checks": dict(ServerClient(found.lock.url).checks(limit_s=LIMIT_S)),
    }


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
    from pecia.app.operator.health import load_install_status
    from pecia.kernel.store.store import PoolSize, Store

    async with open_logins(kernel, lambda _: None) as logins:
        store = Store(logins, app=PoolSize(max_size=1), system=PoolSize(max_size=1))
        await store.open()
        try:
            return await load_install_status(store)
        finally:
            await store.close()


def _flatten(document: dict[str, Json], prefix: str = "") -> dict[str, Json]:
    """Nested fields, flattened."""
    flat: dict[str, Json] = {}
    for name, value in document.items():
        if isinstance(value, dict):
            flat |= _flatten(value, f"{prefix}{name}.")
        else:
            flat[prefix + name] = value
    return flat


COMMANDS = {
    "status": DirectCommand(
        status,
        "Show whether a server runs for this home, and its state. Exits with 1 when none does.",
        {},
    )
}
