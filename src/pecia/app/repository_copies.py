"""Copies of repositories on this machine, removed when their tenant was deleted elsewhere."""

import shutil
from contextlib import suppress
from pathlib import Path
from typing import NoReturn
from uuid import UUID

import anyio
from anyio.to_thread import run_sync

from pecia.adapters.connectors.git import copies_folder, tenant_copies
from pecia.kernel.errors import PeciaError
from pecia.kernel.logs import Log
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.store import Store

SQL = load_queries("pecia.app")

INTERVAL_S = 3600.0

_log = Log(__name__)


async def run_copy_cleanup(store: Store, home: Path) -> NoReturn:
    """When a worker starts, and every hour. An unavailable database is logged and tried again."""
    while True:
        try:
            await remove_stale_copies(store, home)
        except (PeciaError, OSError) as error:
            _log.failure("repository_copies.cleanup", error)
        await anyio.sleep(INTERVAL_S)


async def remove_stale_copies(store: Store, home: Path) -> None:
    """Remove the copies of tenants that are no more."""
    # Listed first: a tenant that comes later is none of these.
    found = await run_sync(_list_tenants, copies_folder(home))
    if not found:
        return
    async with store.system() as tx:
        known = {it["id"] for it in await tx.fetch_all(SQL["tenant_ids"])}
    for tenant_id in found - known:
        await run_sync(shutil.rmtree, tenant_copies(home, tenant_id))


def _list_tenants(folder: Path) -> set[UUID]:
    found: set[UUID] = set()
    for it in folder.iterdir() if folder.exists() else ():
        with suppress(ValueError):
            found.add(UUID(it.name))
    return found
