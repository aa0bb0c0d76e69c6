"""What the operator gives a tenant: what its sources open, and where its spaces may lie."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pecia.adapters.http.rules import Rules
from pecia.adapters.scan import real_name
from pecia.app.operating import Operating
from pecia.app.tenants import SQL as TENANTS
from pecia.kernel.errors import Conflict, InvalidFormat, Json, NotFound
from pecia.kernel.settings.account import expanded
from pecia.kernel.store.store import Store
from pecia.kernel.store.transaction import Row, Transaction
from pecia.rooms.lake.reach import SQL, Reach, reach_of

SPACE_ROOT = "space-root"


@dataclass(frozen=True, slots=True)
class Wanted:
    """Folders by any name of theirs, and hosts. Below `space_roots` spaces may be made, which are
    read and written; `folders` are read alone."""

    folders: Sequence[str] = ()
    hosts: Sequence[str] = ()
    space_roots: Sequence[str] = ()

    def rows(self) -> list[tuple[str, str]]:
        """As they are kept: a folder by its real path, so that a link put there later is none."""
        Rules.trusting(self.hosts)
        return [
            *(("folder", str(_real(it))) for it in self.folders),
            *(("host", it.lower()) for it in self.hosts),
            *((SPACE_ROOT, str(_real(it))) for it in self.space_roots),
        ]


async def allow(operating: Operating, tenant: str, wanted: Wanted) -> None:
    """Give a tenant these folders, hosts and roots. Works at once."""
    rows = wanted.rows()
    async with operating.deed("tenant.allow", {"tenant": tenant, "reach": _listed(rows)}) as deed:
        found = await deed.tx.one(TENANTS["tenant"], f"no tenant {tenant!r}", name=tenant)
        deed.trace.tenant_id = found["id"]
        await _require_own(deed.tx, found, rows)
        for kind, value in rows:
            await deed.tx.run(SQL["allow"], tenant_id=found["id"], kind=kind, value=value)


async def disallow(operating: Operating, tenant: str, wanted: Wanted) -> None:
    """Take them away again. Crawls of sources that need them fail from now on, and spaces are not
    opened; what was read stays until the source is removed."""
    rows = wanted.rows()
    async with operating.deed(
        "tenant.disallow", {"tenant": tenant, "reach": _listed(rows)}
    ) as deed:
        found = await deed.tx.one(TENANTS["tenant"], f"no tenant {tenant!r}", name=tenant)
        deed.trace.tenant_id = found["id"]
        for kind, value in rows:
            if not await deed.tx.run(
                SQL["disallow"], tenant_id=found["id"], kind=kind, value=value
            ):
                raise NotFound(
                    f"tenant {tenant!r} was not given the {kind} {value}",
                    hint=f"pecia tenant allow {tenant} shows what it was given",
                )


async def reach_by_name(store: Store, tenant: str) -> Reach:
    async with store.system() as tx:
        found = await tx.one(TENANTS["tenant"], f"no tenant {tenant!r}", name=tenant)
    return await reach_of(store, found["id"])


async def _require_own(tx: Transaction, tenant: Row, rows: Sequence[tuple[str, str]]) -> None:
    """A root is one tenant's alone, with all below it: what may be written there is all of it."""
    wanted = [Path(value) for kind, value in rows if kind == SPACE_ROOT]
    if not wanted:
        return
    await tx.run(SQL["lock_roots"])
    others = await tx.all(SQL["roots_of_others"], tenant_id=tenant["id"])
    for it in wanted:
        for other in others:
            theirs = Path(other["folder"])
            if it.is_relative_to(theirs) or theirs.is_relative_to(it):
                whose = other["tenant"]
                raise Conflict(
                    f"{it} cannot be a space root of {tenant['name']!r}: {theirs} is one of "
                    f"{whose!r}, and no root may lie in another tenant's",
                    field="space_root",
                    got=str(it),
                    hint=f"give another folder, or take that one away first: pecia tenant allow "
                    f"{whose} --space-root {theirs} --remove",
                )


def _real(text: str) -> Path:
    path = expanded(Path(text), "folder")
    if not path.is_absolute() or "\0" in text:
        raise InvalidFormat(
            f"{text!r} is not an absolute path", field="folder", got=text, expected="/PATH"
        )
    return real_name(path)


def _listed(rows: Sequence[tuple[str, str]]) -> list[Json]:
    return [f"{kind} {value}" for kind, value in rows]
