"""What the operator gives a tenant: what its sources open, and where its spaces may lie."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pecia.adapters.connectors.filesystem.scan import resolve_path
from pecia.adapters.http.egress_rules import EgressRules
from pecia.app.operator.session import OperatorSession
from pecia.app.operator.tenants import SQL as TENANTS
from pecia.features.lake.allowlist import SQL, load_allowlist
from pecia.kernel.corpus.connector_kind import TenantAllowlist
from pecia.kernel.errors import Conflict, InvalidFormat, Json, NotFound
from pecia.kernel.settings.account import expand_user
from pecia.kernel.store.store import DictRow, Store, Transaction

SPACE_ROOT = "space-root"
_FOLDER_KINDS = {"folder": "folder", SPACE_ROOT: "space root"}


@dataclass(frozen=True, slots=True)
class AllowlistChange:
    """Folders by any name of theirs, and hosts. Below `space_roots` spaces may be made, which are
    read and written; `folders` are read alone."""

    folders: Sequence[str] = ()
    hosts: Sequence[str] = ()
    space_roots: Sequence[str] = ()

    def rows(self) -> list[tuple[str, str]]:
        """As they are kept: a folder by its real path, so that a link put there later is none."""
        EgressRules.from_trusted_hosts(self.hosts)
        return [
            *(("folder", str(_resolve_folder(it))) for it in self.folders),
            *(("host", it.lower()) for it in self.hosts),
            *((SPACE_ROOT, str(_resolve_folder(it))) for it in self.space_roots),
        ]


async def allow(operating: OperatorSession, tenant: str, wanted: AllowlistChange) -> None:
    """Give a tenant these folders, hosts and roots. Works at once."""
    rows = wanted.rows()
    async with operating.transaction(
        "tenant.allow", {"tenant": tenant, "reach": _format_rows(rows)}
    ) as deed:
        found = await deed.tx.fetch_one(TENANTS["tenant"], f"no tenant {tenant!r}", name=tenant)
        deed.trace.tenant_id = found["id"]
        await _require_disjoint_roots(deed.tx, found, rows)
        for kind, value in rows:
            await deed.tx.execute(SQL["allow"], tenant_id=found["id"], kind=kind, value=value)


async def disallow(operating: OperatorSession, tenant: str, wanted: AllowlistChange) -> None:
    """Take them away again. Crawls of sources that need them fail from now on, and spaces are not
    opened; what was read stays until the source is removed."""
    rows = wanted.rows()
    async with operating.transaction(
        "tenant.disallow", {"tenant": tenant, "reach": _format_rows(rows)}
    ) as deed:
        found = await deed.tx.fetch_one(TENANTS["tenant"], f"no tenant {tenant!r}", name=tenant)
        deed.trace.tenant_id = found["id"]
        for kind, value in rows:
            if not await deed.tx.execute(
                SQL["disallow"], tenant_id=found["id"], kind=kind, value=value
            ):
                raise NotFound(
                    f"tenant {tenant!r} was not given the {kind} {value}",
                    hint=f"pecia tenant allow {tenant} lists its allowlist",
                )


async def load_allowlist_by_name(store: Store, tenant: str) -> TenantAllowlist:
    async with store.system() as tx:
        found = await tx.fetch_one(TENANTS["tenant"], f"no tenant {tenant!r}", name=tenant)
    return await load_allowlist(store, found["id"])


async def _require_disjoint_roots(
    tx: Transaction, tenant: DictRow, rows: Sequence[tuple[str, str]]
) -> None:
    """No tenant writes where another reads or writes. Two may read the same folder."""
    wanted = [(kind, Path(value)) for kind, value in rows if kind in _FOLDER_KINDS]
    if not wanted:
        return
    await tx.execute(SQL["lock_roots"])
    others = await tx.fetch_all(SQL["folders_of_others"], tenant_id=tenant["id"])
    for kind, folder in wanted:
        for other in others:
            theirs = Path(other["folder"])
            is_written = SPACE_ROOT in (kind, other["kind"])
            if is_written and (folder.is_relative_to(theirs) or theirs.is_relative_to(folder)):
                raise _overlap(tenant["name"], kind, folder, other)


def _overlap(tenant: str, kind: str, folder: Path, other: DictRow) -> Conflict:
    whose, theirs = other["tenant"], other["folder"]
    return Conflict(
        f"{folder} cannot be a {_FOLDER_KINDS[kind]} of {tenant!r}: {theirs} is a "
        f"{_FOLDER_KINDS[other['kind']]} of {whose!r}, and a space root shares no folder with "
        "another tenant",
        field=kind.replace("-", "_"),
        got=str(folder),
        hint=f"give another folder, or take that one away first: pecia tenant allow {whose} "
        f"--{other['kind']} {theirs} --remove",
    )


def _resolve_folder(text: str) -> Path:
    path = expand_user(Path(text), "folder")
    if not path.is_absolute() or "\0" in text:
        raise InvalidFormat(
            f"{text!r} is not an absolute path", field="folder", got=text, expected="/PATH"
        )
    return resolve_path(path)


def _format_rows(rows: Sequence[tuple[str, str]]) -> list[Json]:
    return [f"{kind} {value}" for kind, value in rows]
