"""What the sources of one tenant may open on this server beyond the public web.

The operator grants it per tenant. Checked when a source is added or changed, and again whenever its
files are listed or opened.
"""

from pathlib import Path
from uuid import UUID

from pecia.kernel.corpus.connector_kind import TenantAllowlist
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.store import Store

SQL = load_queries("pecia.features.lake", "allowlist.sql")


async def load_allowlist(store: Store, tenant_id: UUID) -> TenantAllowlist:
    async with store.system() as tx:
        row = await tx.fetch_one(SQL["reach"], f"no tenant {tenant_id}", tenant_id=tenant_id)
    return TenantAllowlist(
        tuple(map(Path, row["folders"])),
        tuple(row["hosts"]),
        row["is_local"],
        tuple(map(Path, row["space_roots"])),
    )
