"""Tenants and the operator's own tokens: made, listed, suspended, bounded."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, TypeAlias, get_args
from uuid import UUID

from pecia.app.operator.session import OperatorSession, OperatorTransaction
from pecia.kernel.errors import Conflict, InvalidEnum, InvalidFormat, NotFound
from pecia.kernel.identity import pat
from pecia.kernel.identity.caller import Scope
from pecia.kernel.settings.kernel import KernelSettings
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.store import DictRow, Store

SQL = load_queries("pecia.app.operator", "tenants.sql")

QuotaKind: TypeAlias = Literal["files", "bytes", "chunks", "model_tokens", "upstreams"]
QUOTAS: tuple[QuotaKind, ...] = get_args(QuotaKind)

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")


@dataclass(frozen=True, slots=True)
class NewTenant:
    """A tenant and the way into it. The token is shown this once; only a hash of it is kept."""

    id: UUID
    name: str
    admin: str
    token: str
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class NewOperatorToken:
    id: UUID
    label: str
    token: str
    expires_at: datetime | None


async def add_tenant(
    operating: OperatorSession,
    name: str,
    *,
    admin: str,
    quotas: Mapping[QuotaKind, int | None],
    token_days: int = 90,
) -> NewTenant:
    """Make a tenant, its first administrator, and a token with which that one can begin."""
    secret = pat.mint()
    expires_at = datetime.now(UTC) + timedelta(days=token_days)
    async with operating.transaction("tenant.add", {"tenant": name, "admin": admin}) as deed:
        await _require_new(deed, name)
        tenant_id = await deed.tx.fetch_value(SQL["create_tenant"], name=name)
        deed.trace.tenant_id = tenant_id
        user_id = await deed.tx.fetch_value(SQL["add_admin"], tenant_id=tenant_id, name=admin)
        await deed.tx.execute(
            SQL["add_token"],
            tenant_id=tenant_id,
            user_id=user_id,
            hash=pat.check(secret),
            hint=pat.hint(secret),
            label="the first administrator",
            scopes=[it.value for it in Scope],
            expires_at=expires_at,
        )
        await _set_quotas(deed, tenant_id, quotas)
    return NewTenant(tenant_id, name, admin, secret, expires_at)


async def list_tenants(store: Store) -> list[DictRow]:
    """Every tenant, with how many users and sources it has."""
    async with store.system() as tx:
        return await tx.fetch_all(SQL["tenants"])


async def suspend_tenant(operating: OperatorSession, name: str) -> None:
    """Nobody of the tenant gets in any more, and its jobs wait. Nothing is lost."""
    await _set_status(operating, "tenant.suspend", name, "suspended")


async def resume_tenant(operating: OperatorSession, name: str) -> None:
    """Let a suspended tenant in again."""
    await _set_status(operating, "tenant.resume", name, "active")


async def list_quotas(store: Store, name: str) -> list[DictRow]:
    """What a tenant may hold and what it holds; `most` is None where there is no limit."""
    async with store.system() as tx:
        tenant = await tx.fetch_one(SQL["tenant"], f"no tenant {name!r}", name=name)
        return await tx.fetch_all(SQL["quotas"], tenant_id=tenant["id"])


async def set_quotas(
    operating: OperatorSession, name: str, quotas: Mapping[QuotaKind, int | None]
) -> None:
    """Change what a tenant may hold. None lifts a limit; what is held already stays."""
    async with operating.transaction("tenant.quota", {"tenant": name, **quotas}) as deed:
        tenant = await _load_tenant(deed, name)
        await _set_quotas(deed, tenant["id"], quotas)


def default_quotas(settings: KernelSettings) -> dict[QuotaKind, int | None]:
    """What a new tenant is given."""
    return {
        "files": settings.quota_files,
        "bytes": settings.quota_bytes,
        "chunks": settings.quota_chunks,
        "model_tokens": settings.quota_model_tokens_per_day,
        "upstreams": settings.quota_upstreams,
    }


def parse_quota_kind(name: str) -> QuotaKind:
    """The kind of that name; dashes are as good as underscores."""
    for kind in QUOTAS:
        if kind == name.replace("-", "_"):
            return kind
    raise InvalidEnum(
        f"there is no quota {name!r}: they are {', '.join(QUOTAS)}",
        field="quota",
        allowed=[*QUOTAS],
        got=name,
    )


async def create_operator_token(
    operating: OperatorSession, label: str, *, days: int | None
) -> NewOperatorToken:
    """A token of a cluster administrator: it keeps tenants, and is in none of them."""
    secret = pat.mint()
    expires_at = datetime.now(UTC) + timedelta(days=days) if days else None
    async with operating.transaction("operator.make_token", {"label": label}) as deed:
        made = await deed.tx.fetch_value(
            SQL["add_operator_token"], hash=pat.check(secret), label=label, expires_at=expires_at
        )
    return NewOperatorToken(made, label, secret, expires_at)


async def list_operator_tokens(store: Store) -> list[DictRow]:
    async with store.system() as tx:
        return await tx.fetch_all(SQL["operator_tokens"])


async def revoke_operator_token(operating: OperatorSession, id_: UUID) -> None:
    """Revoke it at once, for good."""
    async with operating.transaction("operator.revoke_token", {"id": str(id_)}) as deed:
        if not await deed.tx.execute(SQL["revoke_operator_token"], id=id_):
            raise NotFound(
                f"no operator token has the id {id_}, or it is revoked already",
                hint="The ids: pecia operator token list",
            )


async def has_usable_token(store: Store) -> bool:
    """Whether there is any token with which somebody could get in."""
    async with store.system() as tx:
        return await tx.fetch_value(SQL["has_way_in"])


async def _set_status(operating: OperatorSession, verb: str, name: str, status: str) -> None:
    async with operating.transaction(verb, {"tenant": name}) as deed:
        tenant = await _load_tenant(deed, name)
        if tenant["status"] == "deleting":
            raise _being_deleted(name)
        await deed.tx.execute(SQL["set_status"], id=tenant["id"], status=status)


def _being_deleted(name: str) -> Conflict:
    return Conflict(
        f"the tenant {name!r} is being deleted",
        field="name",
        hint=f"finish it: pecia tenant delete {name}",
    )


async def _load_tenant(deed: OperatorTransaction, name: str) -> DictRow:
    found = await deed.tx.fetch_one(SQL["tenant"], f"no tenant {name!r}", name=name)
    deed.trace.tenant_id = found["id"]
    return found


async def _require_new(deed: OperatorTransaction, name: str) -> None:
    if not _NAME.fullmatch(name):
        raise InvalidFormat(
            f"{name!r} is not a tenant name: use lower-case letters, digits and . - _",
            field="name",
            expected=_NAME.pattern,
            got=name,
        )
    if found := await deed.tx.fetch_optional(SQL["tenant"], name=name):
        if found["status"] == "deleting":
            raise _being_deleted(name)
        raise Conflict(
            f"there is a tenant {name!r} already", field="name", hint="pecia tenant list"
        )


async def _set_quotas(
    deed: OperatorTransaction, tenant_id: UUID, quotas: Mapping[QuotaKind, int | None]
) -> None:
    for kind, most in quotas.items():
        values: dict[str, Any] = {"tenant_id": tenant_id, "kind": kind}
        if most is None:
            await deed.tx.execute(SQL["lift_quota"], **values)
        else:
            await deed.tx.execute(SQL["set_quota"], **values, most=most)
