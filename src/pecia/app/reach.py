"""What the operator lets the sources of a tenant open: given, taken away, shown."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pecia.adapters.http.rules import Rules
from pecia.adapters.scan import real_name
from pecia.app.operating import Operating
from pecia.app.tenants import SQL as TENANTS
from pecia.kernel.errors import InvalidFormat, Json, NotFound
from pecia.kernel.store.store import Store
from pecia.rooms.lake.reach import SQL, Reach, reach_of


@dataclass(frozen=True, slots=True)
class Wanted:
    """Folders by any name of theirs, and hosts."""

    folders: Sequence[str] = ()
    hosts: Sequence[str] = ()

    def rows(self) -> list[tuple[str, str]]:
        """As they are kept: a folder by its real path, so that a link put there later is none."""
        Rules.trusting(self.hosts)
        return [
            *(("folder", str(_real(it))) for it in self.folders),
            *(("host", it.lower()) for it in self.hosts),
        ]


async def allow(operating: Operating, tenant: str, wanted: Wanted) -> None:
    """Let the sources of a tenant read these folders and reach these hosts. Works at once."""
    rows = wanted.rows()
    async with operating.deed("tenant.allow", {"tenant": tenant, "reach": _listed(rows)}) as deed:
        found = await deed.tx.one(TENANTS["tenant"], f"no tenant {tenant!r}", name=tenant)
        deed.trace.tenant_id = found["id"]
        for kind, value in rows:
            await deed.tx.run(SQL["allow"], tenant_id=found["id"], kind=kind, value=value)


async def disallow(operating: Operating, tenant: str, wanted: Wanted) -> None:
    """Take them away again. Crawls of sources that need them fail from now on; what they have read
    stays until a source is removed."""
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


def _real(text: str) -> Path:
    path = Path(text).expanduser()
    if not path.is_absolute() or "\0" in text:
        raise InvalidFormat(
            f"{text!r} is not an absolute path", field="folder", got=text, expected="/PATH"
        )
    return real_name(path)


def _listed(rows: Sequence[tuple[str, str]]) -> list[Json]:
    return [f"{kind} {value}" for kind, value in rows]
