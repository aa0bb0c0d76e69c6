"""Deleting a tenant: its rows in every table, its copies on this machine's disk.

The row of the tenant goes last. A run that was killed leaves a tenant that is being deleted, and
the next run continues. Folders that people write in, those of wiki spaces, stay.
"""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias
from uuid import UUID

import anyio
import anyio.to_thread

from pecia.adapters.connectors.git import tenant_copies
from pecia.app.operator.health import HEARTBEAT_TIMEOUT_S
from pecia.app.operator.session import OperatorSession
from pecia.app.operator.tenants import SQL as TENANTS
from pecia.kernel.corpus.keyword.directory import IndexDirectory
from pecia.kernel.errors import Conflict, Json, NotFound, list_hint
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.store import Store

SQL = load_queries("pecia.app.operator", "tenant_deletion.sql")

BATCH_ROWS = 5_000
JOBS_TIMEOUT_S = 60.0
"""How long running jobs may take to stop. After that they lose their job, and write no more."""
PASSES_TIMEOUT_S = 30.0
"""How long passes may delete nothing while rows are left."""
POLL_S = 0.2

ReportRows: TypeAlias = Callable[[str, int, int], None]
"""The table, the rows deleted so far, and all that there were."""


@dataclass(frozen=True, slots=True)
class TenantContents:
    """What a tenant has: rows by table, and the folders of its spaces, which a deletion leaves."""

    id: UUID
    name: str
    is_deleting: bool
    rows_by_table: dict[str, int]
    space_folders: list[str]

    @property
    def rows(self) -> int:
        return sum(self.rows_by_table.values())


async def load_tenant_contents(store: Store, name: str) -> TenantContents:
    """What `delete_tenant` would delete."""
    async with store.system() as tx:
        found = await tx.fetch_optional(SQL["tenant"], name=name)
        if found is None:
            hint = list_hint("pecia tenant list")
            raise NotFound(f"no tenant {name!r}", tenant=name, hint=hint)
        folders = await tx.fetch_all(SQL["space_folders"], tenant_id=found["id"])
    return TenantContents(
        found["id"],
        name,
        found["status"] == "deleting",
        await _count_rows(store, found["id"]),
        [it["folder"] for it in folders],
    )


async def delete_tenant(
    operating: OperatorSession, contents: TenantContents, home: Path, report: ReportRows
) -> int:
    """Delete the tenant and everything of it; how many rows. Run again after a crash, it continues.

    The audit rows of the deletion are the operator's, so they stay.
    """
    await _begin(operating, contents)
    await _wait_for_jobs(operating.store, contents.id)
    deleted = await _delete_rows(operating.store, contents, report)
    await anyio.to_thread.run_sync(_remove_folder, tenant_copies(home, contents.id))
    arguments: dict[str, Json] = {"tenant": contents.name, "id": str(contents.id), "rows": deleted}
    async with operating.transaction("tenant.delete", arguments) as deed:
        if not await deed.tx.execute(SQL["delete_tenant"], tenant_id=contents.id):
            raise NotFound(f"another command has deleted the tenant {contents.name!r} meanwhile")
    await anyio.to_thread.run_sync(_remove_index, home, contents.id)
    return deleted


async def _begin(operating: OperatorSession, contents: TenantContents) -> None:
    """From here on nobody of the tenant is let in, and none of its jobs starts."""
    arguments: dict[str, Json] = {
        "tenant": contents.name,
        "id": str(contents.id),
        "rows": contents.rows,
        "tables": [f"{name}: {rows}" for name, rows in contents.rows_by_table.items()],
    }
    async with operating.transaction("tenant.begin_delete", arguments) as deed:
        await deed.tx.execute(TENANTS["set_status"], id=contents.id, status="deleting")
        await deed.tx.execute(SQL["revoke_credentials"], tenant_id=contents.id)
        await deed.tx.execute(SQL["cancel_jobs"], tenant_id=contents.id)


async def _wait_for_jobs(store: Store, tenant_id: UUID) -> None:
    """A running job may be writing into the copies on disk."""
    with anyio.move_on_after(JOBS_TIMEOUT_S):
        while True:
            async with store.system() as tx:
                running = await tx.fetch_value(
                    SQL["running_jobs"], tenant_id=tenant_id, silent_s=HEARTBEAT_TIMEOUT_S
                )
            if not running:
                return
            await anyio.sleep(POLL_S)


async def _delete_rows(store: Store, contents: TenantContents, report: ReportRows) -> int:
    """In passes: a trigger or a call that began earlier may add rows to a table already empty, and
    a row that is just being updated is passed over."""
    total = 0
    left = contents.rows_by_table
    give_up_at = anyio.current_time() + PASSES_TIMEOUT_S
    while left:
        before = total
        for table in left:
            while deleted := await _delete_batch(store, contents.id, table):
                total += deleted
                report(table, total, max(total, contents.rows))
        left = await _count_rows(store, contents.id)
        if total > before:
            give_up_at = anyio.current_time() + PASSES_TIMEOUT_S
        elif left and anyio.current_time() < give_up_at:
            await anyio.sleep(POLL_S)
        elif left:
            raise Conflict(
                f"rows of {', '.join(left)} are still in use",
                tenant=contents.name,
                hint=f"run it again: pecia tenant delete {contents.name}",
            )
    return total


async def _delete_batch(store: Store, tenant_id: UUID, table: str) -> int:
    async with store.system() as tx:
        return await tx.fetch_value(
            SQL["delete_rows"], tenant_id=tenant_id, table=table, most=BATCH_ROWS
        )


def _remove_folder(folder: Path) -> None:
    if folder.exists():
        shutil.rmtree(folder)


def _remove_index(home: Path, tenant_id: UUID) -> None:
    """The keyword index here. A process that has it open, and other nodes, remove theirs."""
    directory = IndexDirectory.of(home / "index", tenant_id)
    if directory.folder.exists() and (lock := directory.lock()):
        directory.remove()
        lock.close()


async def _count_rows(store: Store, tenant_id: UUID) -> dict[str, int]:
    """By table, in the order in which they can be deleted; tables without rows are left out."""
    async with store.system() as tx:
        found = await tx.fetch_all(SQL["row_counts"], tenant_id=tenant_id)
    return {it["name"]: it["row_count"] for it in found if it["row_count"]}
