"""Servers that the operator wrote into a file, in the words of everybody's `mcpServers`.

On a server of many this is the one way to a program: what starts one is a file on its machine.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast
from uuid import UUID

import anyio
from anyio.to_thread import run_sync
from psycopg.types.json import Jsonb
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pecia.kernel.errors import InvalidFormat, Json
from pecia.kernel.identity.caller import Caller
from pecia.kernel.logs import Log
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.store import Store
from pecia.kernel.store.transaction import Transaction
from pecia.kernel.text.yaml import load_yaml
from pecia.rooms.hub.adding import Address, checked_name, place_of
from pecia.rooms.hub.model import Options, Place
from pecia.rooms.hub.secrets import Held, Vault

SQL = load_queries("pecia.rooms.hub", "listed.sql")
KEY = "mcpServers"
EVERY = "*"

_log = Log(__name__)


class Entry(BaseModel):
    """One server of the file. Times are in milliseconds, as the references have them."""

    model_config = ConfigDict(extra="allow", frozen=True)

    enabled: bool = True
    timeout: float | None = Field(default=None, gt=0)
    reset_on_progress: bool = Field(default=False, alias="resetTimeoutOnProgress")
    max_total: float | None = Field(default=None, gt=0, alias="maxTotalTimeout")
    strict: bool = Field(default=False, alias="enforceStrictCapabilities")
    take_changes: bool = Field(default=False, alias="takeChanges")
    tenants: list[str] = Field(default_factory=list[str])
    to: list[Literal["everyone", "admin"]] = Field(default=["everyone"])


@dataclass(frozen=True, slots=True)
class Listed:
    """A server as the file has it, and whose it is."""

    name: str
    place: Place
    options: Options
    enabled: bool
    tenants: frozenset[str]
    to: tuple[str, ...]


def read_servers(text: str, *, is_own_machine: bool) -> list[Listed]:
    """Every server of the file, or an error that names the one that is wrong."""
    found = load_yaml(text).value
    servers = cast(dict[str, Json], found).get(KEY) if isinstance(found, dict) else None
    if not isinstance(servers, dict):
        raise InvalidFormat(f"the file has no {KEY}", field=KEY, expected="object")
    return [_listed(name, it, is_own_machine) for name, it in servers.items()]


class File:
    """Brings the servers of a file into the store, and takes out those that left it.

    The file is read once. A tenant gets its servers when it first asks, be it younger than we are.
    """

    def __init__(self, store: Store, vault: Vault, path: Path, *, is_own_machine: bool) -> None:
        self.store = store
        self.vault = vault
        self._path = path
        self._is_own_machine = is_own_machine
        self._listed: list[Listed] | None = None
        self._served: set[UUID] = set()
        self._bringing = anyio.Lock()

    async def read(self) -> list[Listed]:
        """What the file says, or what is wrong with it."""
        if self._listed is None:
            text = await self._text()
            self._listed = read_servers(text, is_own_machine=self._is_own_machine)
        return self._listed

    async def bring(self, caller: Caller) -> None:
        """Let the tenant of this caller have what the file has for it."""
        if caller.tenant_id in self._served:
            return
        async with self._bringing:
            mine = [it for it in await self.read() if it.tenants & {EVERY, caller.tenant}]
            async with self.store.system() as tx:
                await self._bring(tx, caller.tenant_id, mine)
            self._served.add(caller.tenant_id)

    async def _text(self) -> str:
        try:
            return await run_sync(lambda: self._path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidFormat(
                f"{self._path} cannot be read: {error}", field="hub.servers_file"
            ) from None

    async def _bring(self, tx: Transaction, tenant_id: UUID, listed: Sequence[Listed]) -> None:
        await tx.run(SQL["hold"], tenant_id=tenant_id)
        names = {it.name for it in listed}
        there = await tx.all(SQL["servers"], tenant_id=tenant_id)
        for row in there:
            if row["origin"] == "file" and row["name"] not in names:
                await tx.run(SQL["remove_server"], tenant_id=tenant_id, name=row["name"])
        own = {row["name"].lower() for row in there if row["origin"] != "file"}
        for it in listed:
            if it.name.lower() in own:
                _log.warning("hub.listed", server=it.name, tenant_id=str(tenant_id), taken=True)
            else:
                await self._put(tx, tenant_id, it)

    async def _put(self, tx: Transaction, tenant_id: UUID, it: Listed) -> None:
        held = Held(it.place.env, it.place.headers)
        is_new_secret = await self.vault.keep_for(tx, tenant_id, it.name, held)
        await tx.run(
            SQL["put_server"],
            tenant_id=tenant_id,
            name=it.name,
            place=Jsonb(it.place.where.stored()),
            options=Jsonb(it.options.stored()),
            enabled=it.enabled,
            to=[*it.to],
            anew=is_new_secret,
        )


def _listed(name: str, told: Json, is_own_machine: bool) -> Listed:
    at = f"{KEY}.{name}"
    if not isinstance(told, dict):
        raise InvalidFormat(f"{at} is no object", field=at, expected="object")
    known = {*Address.model_fields}
    where = {key: it for key, it in told.items() if key in known}
    try:
        entry = Entry.model_validate({key: it for key, it in told.items() if key not in known})
        place = place_of(Address.model_validate(where))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = ".".join((at, *map(str, first["loc"])))
        raise InvalidFormat(f"{field}: {first['msg']}", field=field) from None
    for unused in entry.model_extra or {}:
        _log.warning("hub.listed", server=name, unused=unused)
    tenants = frozenset((EVERY,)) if is_own_machine else frozenset(entry.tenants)
    if not tenants:
        raise InvalidFormat(
            f"{at} says for which tenants it is: their names, or `*`", field=f"{at}.tenants"
        )
    return Listed(
        checked_name(name), place, _options(entry), entry.enabled, tenants, tuple(entry.to)
    )


def _options(entry: Entry) -> Options:
    return Options(
        timeout_s=entry.timeout / 1000 if entry.timeout else None,
        resets_on_progress=entry.reset_on_progress,
        most_s=entry.max_total / 1000 if entry.max_total else None,
        takes_changes=entry.take_changes,
        strict_capabilities=entry.strict,
    )
