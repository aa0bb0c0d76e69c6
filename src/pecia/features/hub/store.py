"""Servers, tools and who may use them, in the store. Does not connect."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from pecia.features.hub.core.catalog import UpstreamCatalog
from pecia.features.hub.core.drift import approve_tool, detect_drift
from pecia.features.hub.core.tool_name import ToolNamePolicy
from pecia.features.hub.model import (
    OPERATOR_ORIGIN,
    OfferedTool,
    ServerAddress,
    ServerEndpoint,
    ServerOptions,
    StoredTool,
    UpstreamServer,
)
from pecia.features.hub.secrets import ServerVault
from pecia.kernel.errors import Conflict, NotFound, list_hint
from pecia.kernel.identity.caller import Caller
from pecia.kernel.store.grantee import resolve_grantee
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.store import DictRow, Store, Transaction
from pecia.kernel.tool.call import Call

SQL = load_queries("pecia.features.hub")

# Roles that are written without a kind.
ROLES = ("everyone", "admin")

LEASE_S = 60
"""TTL of a session's lease on a server that it brought; renewed by heartbeats."""


@dataclass(frozen=True, slots=True)
class StoredEndpoint:
    """An endpoint in the store, and whether the operator configured it."""

    endpoint: ServerEndpoint
    is_operator_managed: bool


@dataclass(frozen=True, slots=True)
class ServerRegistry:
    """The servers of every tenant."""

    store: Store
    vault: ServerVault
    naming: ToolNamePolicy

    async def list_servers(self, caller: Caller) -> list[UpstreamServer]:
        """Those this caller may use, in order of creation."""
        async with self.store.reading(caller) as tx:
            return [_row_to_server(it) for it in await tx.fetch_all(SQL["servers"])]

    async def load_server(self, caller: Caller, name: str) -> UpstreamServer:
        async with self.store.reading(caller) as tx:
            return _row_to_server(await tx.fetch_one(SQL["server"], _missing_text(name), name=name))

    async def require_admin(self, caller: Caller) -> None:
        """Refuse callers who may not manage servers, before anything else is done for them."""
        async with self.store.reading(caller) as tx:
            await tx.execute(SQL["require_admin"])

    async def load_managed_server(self, caller: Caller, name: str) -> UpstreamServer:
        """The server, for a caller who may manage it."""
        async with self.store.reading(caller) as tx:
            await tx.execute(SQL["require_admin"])
            return _row_to_server(await tx.fetch_one(SQL["server"], _missing_text(name), name=name))

    async def list_tools(
        self, caller: Caller, server: str | None = None, name: str | None = None
    ) -> list[StoredTool]:
        """Tools of the servers this caller may use, in any state."""
        async with self.store.reading(caller) as tx:
            return [
                _row_to_tool(it)
                for it in await tx.fetch_all(SQL["tools"], server=server, name=name)
            ]

    async def load_tool(
        self, caller: Caller, server: str, tool: str
    ) -> tuple[UpstreamServer, StoredTool | None]:
        """One server this caller may use, and one of its tools, if it exists."""
        async with self.store.reading(caller) as tx:
            there = _row_to_server(
                await tx.fetch_one(SQL["server"], _missing_text(server), name=server)
            )
            row = await tx.fetch_optional(SQL["tools"], server=server, name=tool)
        return there, _row_to_tool(row) if row else None

    async def add(
        self,
        call: Call,
        name: str,
        place: ServerEndpoint,
        options: ServerOptions,
        readers: Sequence[str],
        holder: str = "",
    ) -> None:
        """Insert a new server, and seal its credentials. With a holder it belongs to a session."""
        async with self.store.writing(call.caller, call.trace) as tx:
            added = await tx.fetch_value(
                SQL["add_server"],
                name=name,
                place=Jsonb(place.address.to_json()),
                options=Jsonb(options.to_json()),
                readers=[
                    await resolve_grantee(tx, it, f"to.{at}", ROLES)
                    for at, it in enumerate(readers)
                ],
            )
            if not added:
                raise Conflict(f"there is a server {name!r} already", field="name", got=name)
            await self.vault.seal(tx, call.caller.tenant_id, name, place.secrets)
            if holder:
                await self._renew_lease(tx, name, holder, LEASE_S, is_new=True)

    async def renew_leases(
        self, call: Call, names: Sequence[str], holder: str, *, release: bool
    ) -> list[str]:
        """Renew or release a session's leases on these servers. Returns those that do not exist."""
        seconds = 0 if release else LEASE_S
        async with self.store.writing(call.caller, call.trace) as tx:
            there = {
                it: await self._renew_lease(tx, it, holder, seconds, is_new=False) for it in names
            }
        return [name for name, is_there in there.items() if not is_there]

    async def _renew_lease(
        self, tx: Transaction, name: str, holder: str, seconds: int, *, is_new: bool
    ) -> bool:
        given = {"name": name, "holder": holder, "seconds": seconds, "is_new": is_new}
        return await tx.fetch_value(SQL["hold_server"], **given)

    async def remove_expired(self) -> list[tuple[UUID, str]]:
        """System transaction: delete servers whose leases have expired; returns them."""
        async with self.store.system() as tx:
            return [
                (it["tenant_id"], it["name"]) for it in await tx.fetch_all(SQL["remove_unheld"])
            ]

    async def set(
        self,
        call: Call,
        name: str,
        *,
        enabled: bool | None = None,
        options: ServerOptions | None = None,
        readers: Sequence[str] | None = None,
        place: ServerEndpoint | None = None,
    ) -> None:
        """Update a server. Open connections to it are reopened."""
        async with self.store.writing(call.caller, call.trace) as tx:
            people = None
            if readers is not None:
                people = [
                    await resolve_grantee(tx, it, f"to.{at}", ROLES)
                    for at, it in enumerate(readers)
                ]
            found = await tx.fetch_value(
                SQL["set_server"],
                name=name,
                enabled=enabled,
                options=Jsonb(options.to_json()) if options else None,
                place=Jsonb(place.address.to_json()) if place else None,
                readers=people,
            )
            if not found:
                raise NotFound(_missing_text(name))
            if place is not None:
                await self.vault.seal(tx, call.caller.tenant_id, name, place.secrets)

    async def remove(self, call: Call, name: str) -> None:
        async with self.store.writing(call.caller, call.trace) as tx:
            if not await tx.fetch_value(SQL["remove_server"], name=name):
                raise NotFound(_missing_text(name))
            await self.vault.remove(tx, name)

    async def list_pending(
        self, caller: Caller, server: str, names: Sequence[str]
    ) -> list[StoredTool]:
        """Tools that wait for approval, as offered now: all, unless some are named."""
        await self.load_managed_server(caller, server)
        return _select_pending(await self.list_tools(caller, server), server, names)

    async def approve(
        self, call: Call, server: str, tools: Sequence[StoredTool]
    ) -> list[StoredTool]:
        """Approve these tools as they were offered. Those that changed since are not approved."""
        tenant_id = call.caller.tenant_id
        async with self.store.writing(call.caller, call.trace) as tx:
            await tx.execute(SQL["require_admin"])
            await tx.execute(SQL["hold_names"], tenant_id=tenant_id)
            every = [
                _row_to_tool(it) for it in await tx.fetch_all(SQL["tools"], server=None, name=None)
            ]
            names = [it.name for it in tools]
            waiting = _select_pending([it for it in every if it.server == server], server, names)
            if [it.offered for it in waiting] != [it.offered for it in tools]:
                raise Conflict(f"the tools of {server} have changed meanwhile: review them again")
            taken = {it.exposed: it.server for it in every if it.exposed}
            done: list[StoredTool] = []
            for it in waiting:
                now = approve_tool(it, self.naming, taken)
                taken |= {now.exposed: server} if now.exposed else {}
                await tx.fetch_value(SQL["keep_tool"], **_tool_columns(now))
                done.append(now)
            return done

    async def load_endpoint(self, tenant_id: UUID, name: str) -> StoredEndpoint:
        """System transaction: the endpoint of a server, its credentials, and who configured it."""
        async with self.store.system() as tx:
            row = await tx.fetch_one(
                SQL["place"], _missing_text(name), tenant_id=tenant_id, name=name
            )
            held = await self.vault.load(tx, tenant_id, name)
        place = ServerEndpoint(ServerAddress.from_json(row["place"]), held)
        return StoredEndpoint(place, is_operator_managed=row["origin"] == OPERATOR_ORIGIN)

    async def record_catalog(
        self,
        tenant_id: UUID,
        server: str,
        found: UpstreamCatalog,
        *,
        takes: bool,
        is_initial: bool,
    ) -> int:
        """System transaction: record what a server offers now. Returns how many tools changed."""
        async with self.store.system() as tx:
            await tx.execute(SQL["hold_names"], tenant_id=tenant_id)
            known = [
                _row_to_tool(it)
                for it in await tx.fetch_all(SQL["every_tool"], tenant_id=tenant_id)
            ]
            changed = detect_drift(
                server,
                found.tools,
                known,
                self.naming,
                takes_changes=takes,
                is_initial=is_initial,
            )
            await tx.execute_many(
                SQL["note_tool"], [{"tenant_id": tenant_id, **_tool_columns(it)} for it in changed]
            )
        return len(changed)


def _select_pending(
    mine: Sequence[StoredTool], server: str, names: Sequence[str]
) -> list[StoredTool]:
    by_name = {it.name: it for it in mine}
    for it in names:
        if it not in by_name:
            raise NotFound(
                f"{server} has no tool {it!r}", tool=it, hint=list_hint("pecia hub tools")
            )
    wanted = [by_name[it] for it in names] if names else mine
    return [it for it in wanted if it.offered is not None and not it.is_gone]


def _row_to_server(row: DictRow) -> UpstreamServer:
    return UpstreamServer(
        name=row["name"],
        origin=row["origin"],
        address=ServerAddress.from_json(row["place"]) if row["place"] else None,
        options=ServerOptions.from_json(row["options"]),
        enabled=row["enabled"],
        readers=tuple(row["readers"]) if row["readers"] is not None else None,
        version=row["version"],
        created_at=row["created_at"],
        changed_at=row["changed_at"],
    )


def _row_to_tool(row: DictRow) -> StoredTool:
    given: dict[str, Any] = {
        **row,
        "approved": OfferedTool.from_json(row["approved"]) if row["approved"] else None,
        "offered": OfferedTool.from_json(row["offered"]) if row["offered"] else None,
    }
    return StoredTool(**given)


def _tool_columns(tool: StoredTool) -> dict[str, Any]:
    return {
        "server": tool.server,
        "name": tool.name,
        "exposed": tool.exposed,
        "approved": Jsonb(tool.approved.to_json()) if tool.approved else None,
        "offered": Jsonb(tool.offered.to_json()) if tool.offered else None,
        "is_gone": tool.is_gone,
    }


def _missing_text(name: str) -> str:
    return f"no server {name!r}"
