"""What the sources of one tenant may open on this server beyond the public web.

The operator grants it per tenant. Checked when a source is added or changed, and again whenever its
files are listed or opened.
"""

from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.store import Store

SQL = load_queries("pecia.features.lake", "allowlist.sql")


@dataclass(frozen=True, slots=True)
class TenantAllowlist:
    """Folders as real paths, and trusted hosts. Below `space_roots` administrators may create
    spaces. With `is_local` it is the tenant of a local install, whose owner may name any folder of
    the machine."""

    folders: tuple[Path, ...] = ()
    hosts: tuple[str, ...] = ()
    is_local: bool = False
    space_roots: tuple[Path, ...] = ()
    closed: tuple[Path, ...] = ()
    """Never read by any source: this installation's own folders."""


async def load_allowlist(store: Store, tenant_id: UUID) -> TenantAllowlist:
    async with store.system() as tx:
        row = await tx.fetch_one(SQL["reach"], "no such tenant", tenant_id=tenant_id)
    return TenantAllowlist(
        tuple(map(Path, row["folders"])),
        tuple(row["hosts"]),
        row["is_local"],
        tuple(map(Path, row["space_roots"])),
    )
