"""The caller without a token: the owner of a local install, or the public of one tenant."""

from pecia.app.authentication import SQL, row_to_caller
from pecia.kernel.errors import Conflict, NotFound
from pecia.kernel.identity.caller import Caller, CredentialKind, Scope
from pecia.kernel.settings.kernel import KernelSettings
from pecia.kernel.store.store import Store, Transaction


async def load_default_caller(
    store: Store, settings: KernelSettings, os_user: str
) -> Caller | None:
    """The caller of a request without a token; None if a token is required."""
    if settings.mode == "local":
        return await _load_local_owner(store, settings.local_tenant, os_user)
    if settings.public_toolsets and settings.public_tenant:
        return await _load_public_caller(store, settings.public_tenant)
    return None


async def require_local_tenant(store: Store, settings: KernelSettings) -> None:
    """For a worker, which comes to a database that is there: without the configuration of its
    server it would take it for one of a local install, and make a tenant in it.
    """
    if settings.mode != "local":
        return
    async with store.system() as tx:
        if await tx.fetch_optional(SQL["tenant_named"], name=settings.local_tenant) is None:
            raise NotFound(
                f"this database has no tenant {settings.local_tenant!r}, so it belongs to a server "
                "and not to a local install; give the worker the configuration of that server",
                tenant=settings.local_tenant,
                hint="pecia worker --config pecia.yml",
            )


async def _load_local_owner(store: Store, tenant: str, os_user: str) -> Caller:
    async with store.system() as tx:
        if await tx.fetch_optional(SQL["tenant_named"], name=tenant) is None:
            await tx.execute(SQL["create_tenant"], name=tenant)
        found = await tx.fetch_one(SQL["tenant_named"], f"no tenant {tenant!r}", name=tenant)
        await tx.execute(SQL["add_user"], tenant_id=found["id"], name=os_user, role="admin")
        return await _ensure_standing_credential(
            tx, tenant, CredentialKind.LOCAL, os_user, [*Scope]
        )


async def _load_public_caller(store: Store, tenant: str) -> Caller:
    async with store.system() as tx:
        if await tx.fetch_optional(SQL["tenant_named"], name=tenant) is None:
            raise Conflict(
                f"public_tenant names {tenant!r}, which does not exist; "
                f"create it with: pecia tenant add {tenant}",
                setting="public_tenant",
            )
        return await _ensure_standing_credential(
            tx, tenant, CredentialKind.ANONYMOUS, None, [Scope.SEARCH, Scope.READ]
        )


async def _ensure_standing_credential(
    tx: Transaction, tenant: str, kind: CredentialKind, user: str | None, scopes: list[Scope]
) -> Caller:
    row = await tx.fetch_optional(SQL["standing_credential"], tenant=tenant, kind=kind.value)
    if row is None:
        await tx.execute(
            SQL["add_standing_credential"],
            tenant=tenant,
            kind=kind.value,
            user=user,
            scopes=[it.value for it in scopes],
            label="the owner of this install" if user else "the public",
        )
        row = await tx.fetch_one(
            SQL["standing_credential"], "no standing credential", tenant=tenant, kind=kind.value
        )
    return row_to_caller(row)
