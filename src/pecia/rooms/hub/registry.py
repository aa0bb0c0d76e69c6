"""Which servers and tools there are, and for whom: verbs over the store. It connects to none."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from pecia.kernel.errors import Conflict, NotFound
from pecia.kernel.identity.caller import Caller
from pecia.kernel.store.grantee import grantee
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.store import Store
from pecia.kernel.store.transaction import Row, Transaction
from pecia.kernel.tool.call import Call
from pecia.rooms.hub.model import OF_OPERATOR, Kept, Offered, Options, Place, Server, Where
from pecia.rooms.hub.naming import Naming
from pecia.rooms.hub.noticing import approved, noticed
from pecia.rooms.hub.offers import Catalog
from pecia.rooms.hub.secrets import Held, Vault

SQL = load_queries("pecia.rooms.hub")

# Roles that are written without their kind.
ROLES = ("everyone", "admin")

LEASE_S = 60
"""How long a session holds a server that it brought, unless it says again that it needs it."""


@dataclass(frozen=True, slots=True)
class Found:
    """A place as it is kept, and whether the operator named it."""

    place: Place
    is_operators: bool


@dataclass(frozen=True, slots=True)
class Registry:
    """The servers of every tenant."""

    store: Store
    vault: Vault
    naming: Naming

    async def servers(self, caller: Caller) -> list[Server]:
        """Those that are open to this caller, in the order in which they came."""
        async with self.store.reading(caller) as tx:
            return [_server(it) for it in await tx.all(SQL["servers"])]

    async def server(self, caller: Caller, name: str) -> Server:
        async with self.store.reading(caller) as tx:
            return _server(await tx.one(SQL["server"], _missing(name), name=name))

    async def require_keeper(self, caller: Caller) -> None:
        """Refuse whoever may not keep servers, before anything is asked or done for them."""
        async with self.store.reading(caller) as tx:
            await tx.run(SQL["require_admin"])

    async def governed(self, caller: Caller, name: str) -> Server:
        """The server, for whoever may keep it."""
        async with self.store.reading(caller) as tx:
            await tx.run(SQL["require_admin"])
            return _server(await tx.one(SQL["server"], _missing(name), name=name))

    async def tools(
        self, caller: Caller, server: str | None = None, name: str | None = None
    ) -> list[Kept]:
        """Tools of the servers that are open to this caller, whatever state they are in."""
        async with self.store.reading(caller) as tx:
            return [_kept(it) for it in await tx.all(SQL["tools"], server=server, name=name)]

    async def found(self, caller: Caller, server: str, tool: str) -> tuple[Server, Kept | None]:
        """One server that is open to this caller, and one tool of it, where it has that."""
        async with self.store.reading(caller) as tx:
            there = _server(await tx.one(SQL["server"], _missing(server), name=server))
            row = await tx.maybe(SQL["tools"], server=server, name=tool)
        return there, _kept(row) if row else None

    async def add(
        self,
        call: Call,
        name: str,
        place: Place,
        options: Options,
        readers: Sequence[str],
        holder: str = "",
    ) -> None:
        """Write a new server down, and seal what lets us in. With a holder it is of a session."""
        async with self.store.writing(call.caller, call.trace) as tx:
            added = await tx.value(
                SQL["add_server"],
                name=name,
                place=Jsonb(place.where.stored()),
                options=Jsonb(options.stored()),
                readers=[await grantee(tx, it, f"to.{at}", ROLES) for at, it in enumerate(readers)],
            )
            if not added:
                raise Conflict(f"there is a server {name!r} already", field="name", got=name)
            held = Held(place.env, place.headers)
            await self.vault.keep(tx, call.caller.tenant_id, name, held)
            if holder:
                await self._hold(tx, name, holder, LEASE_S, is_new=True)

    async def hold(
        self, call: Call, names: Sequence[str], holder: str, *, release: bool
    ) -> list[str]:
        """A session still needs these servers, or needs them no more. Those that are not there."""
        seconds = 0 if release else LEASE_S
        async with self.store.writing(call.caller, call.trace) as tx:
            there = {it: await self._hold(tx, it, holder, seconds, is_new=False) for it in names}
        return [name for name, is_there in there.items() if not is_there]

    async def _hold(
        self, tx: Transaction, name: str, holder: str, seconds: int, *, is_new: bool
    ) -> bool:
        given = {"name": name, "holder": holder, "seconds": seconds, "is_new": is_new}
        return await tx.value(SQL["hold_server"], **given)

    async def remove_unheld(self) -> list[tuple[UUID, str]]:
        """For the house: forget the servers whose sessions are over, and say which."""
        async with self.store.system() as tx:
            return [(it["tenant_id"], it["name"]) for it in await tx.all(SQL["remove_unheld"])]

    async def set(
        self,
        call: Call,
        name: str,
        *,
        enabled: bool | None = None,
        options: Options | None = None,
        readers: Sequence[str] | None = None,
        place: Place | None = None,
    ) -> None:
        """Change what is given of a server. Whoever is connected to it connects anew."""
        async with self.store.writing(call.caller, call.trace) as tx:
            people = None
            if readers is not None:
                people = [await grantee(tx, it, f"to.{at}", ROLES) for at, it in enumerate(readers)]
            found = await tx.value(
                SQL["set_server"],
                name=name,
                enabled=enabled,
                options=Jsonb(options.stored()) if options else None,
                place=Jsonb(place.where.stored()) if place else None,
                readers=people,
            )
            if not found:
                raise NotFound(_missing(name))
            if place is not None:
                held = Held(place.env, place.headers)
                await self.vault.keep(tx, call.caller.tenant_id, name, held)

    async def remove(self, call: Call, name: str) -> None:
        async with self.store.writing(call.caller, call.trace) as tx:
            if not await tx.value(SQL["remove_server"], name=name):
                raise NotFound(_missing(name))
            await self.vault.forget(tx, name)

    async def waiting(self, caller: Caller, server: str, names: Sequence[str]) -> list[Kept]:
        """Tools that wait for approval, as they are offered now: all, where none is named."""
        await self.governed(caller, server)
        return _waiting(await self.tools(caller, server), server, names)

    async def approve(self, call: Call, server: str, tools: Sequence[Kept]) -> list[Kept]:
        """Let what these tools are offered as hold. What has changed since is not approved."""
        tenant_id = call.caller.tenant_id
        async with self.store.writing(call.caller, call.trace) as tx:
            await tx.run(SQL["require_admin"])
            await tx.run(SQL["hold_names"], tenant_id=tenant_id)
            every = [_kept(it) for it in await tx.all(SQL["tools"], server=None, name=None)]
            names = [it.name for it in tools]
            waiting = _waiting([it for it in every if it.server == server], server, names)
            if [it.offered for it in waiting] != [it.offered for it in tools]:
                raise Conflict(f"what {server} offers has changed meanwhile: look again")
            taken = {it.exposed: it.server for it in every if it.exposed}
            done: list[Kept] = []
            for it in waiting:
                now = approved(it, self.naming, taken)
                taken |= {now.exposed: server} if now.exposed else {}
                await tx.value(SQL["keep_tool"], **_columns(now))
                done.append(now)
            return done

    async def place(self, tenant_id: UUID, name: str) -> Found:
        """For the house: where a server is, what lets us in, and whose word it is."""
        async with self.store.system() as tx:
            row = await tx.one(SQL["place"], _missing(name), tenant_id=tenant_id, name=name)
            held = await self.vault.opened(tx, tenant_id, name)
        place = Place(Where.read(row["place"]), held.env, held.headers)
        return Found(place, is_operators=row["origin"] == OF_OPERATOR)

    async def note(self, tenant_id: UUID, server: str, found: Catalog, *, takes: bool) -> int:
        """For the house: write down what a server offers now. How many tools were not as before."""
        async with self.store.system() as tx:
            await tx.run(SQL["hold_names"], tenant_id=tenant_id)
            known = [_kept(it) for it in await tx.all(SQL["every_tool"], tenant_id=tenant_id)]
            changed = noticed(server, found.tools, known, self.naming, takes_changes=takes)
            await tx.run_many(
                SQL["note_tool"], [{"tenant_id": tenant_id, **_columns(it)} for it in changed]
            )
        return len(changed)


def _waiting(mine: Sequence[Kept], server: str, names: Sequence[str]) -> list[Kept]:
    by_name = {it.name: it for it in mine}
    for it in names:
        if it not in by_name:
            raise NotFound(f"{server} has no tool {it!r}", tool=it)
    wanted = [by_name[it] for it in names] if names else mine
    return [it for it in wanted if it.offered is not None and not it.is_gone]


def _server(row: Row) -> Server:
    return Server(
        name=row["name"],
        origin=row["origin"],
        where=Where.read(row["place"]) if row["place"] else None,
        options=Options.read(row["options"]),
        enabled=row["enabled"],
        readers=tuple(row["readers"]) if row["readers"] is not None else None,
        version=row["version"],
        created_at=row["created_at"],
        changed_at=row["changed_at"],
    )


def _kept(row: Row) -> Kept:
    given: dict[str, Any] = {
        **row,
        "approved": Offered.read(row["approved"]) if row["approved"] else None,
        "offered": Offered.read(row["offered"]) if row["offered"] else None,
    }
    return Kept(**given)


def _columns(tool: Kept) -> dict[str, Any]:
    return {
        "server": tool.server,
        "name": tool.name,
        "exposed": tool.exposed,
        "approved": Jsonb(tool.approved.stored()) if tool.approved else None,
        "offered": Jsonb(tool.offered.stored()) if tool.offered else None,
        "is_gone": tool.is_gone,
    }


def _missing(name: str) -> str:
    return f"no server {name!r}"
