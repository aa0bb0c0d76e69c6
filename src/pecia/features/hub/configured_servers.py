"""Servers from the operator's file, in the usual `mcpServers` format.

On a multi-user server this is the only way to start a program: via a file on its machine.
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

from pecia.features.hub.model import ServerEndpoint, ServerOptions
from pecia.features.hub.registration import McpServersAddress, parse_endpoint, require_server_name
from pecia.features.hub.secrets import ServerVault
from pecia.kernel.errors import InvalidFormat, Json
from pecia.kernel.identity.caller import Caller
from pecia.kernel.logs import Log
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.store import Store, Transaction
from pecia.kernel.text.yaml.reader import load_yaml

SQL = load_queries("pecia.features.hub", "configured_servers.sql")
SERVERS_KEY = "mcpServers"
ALL_TENANTS = "*"

_log = Log(__name__)


class ServersFileEntry(BaseModel):
    """One server of the file. Times are in milliseconds, as in the references."""

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
class ConfiguredServer:
    """A server of the file, and the tenants it is for."""

    name: str
    endpoint: ServerEndpoint
    options: ServerOptions
    enabled: bool
    tenants: frozenset[str]
    to: tuple[str, ...]


def parse_servers(text: str, *, is_own_machine: bool) -> list[ConfiguredServer]:
    """Every server of the file, or an error that names the invalid one."""
    found = load_yaml(text).value
    servers = cast(dict[str, Json], found).get(SERVERS_KEY) if isinstance(found, dict) else None
    if not isinstance(servers, dict):
        raise InvalidFormat(f"the file has no {SERVERS_KEY}", field=SERVERS_KEY, expected="object")
    return [_parse_server(name, it, is_own_machine) for name, it in servers.items()]


class ServersFile:
    """Syncs the servers of a file into the store, and removes those no longer in it.

    The file is read once. A tenant gets its servers at its first request, even if it is newer than
    this process.
    """

    def __init__(
        self, store: Store, vault: ServerVault, path: Path, *, is_own_machine: bool
    ) -> None:
        self.store = store
        self.vault = vault
        self._path = path
        self._is_own_machine = is_own_machine
        self._servers: list[ConfiguredServer] | None = None
        self._synced_tenants: set[UUID] = set()
        self._sync_lock = anyio.Lock()

    async def read(self) -> list[ConfiguredServer]:
        """The servers of the file; an error if it is invalid."""
        if self._servers is None:
            text = await self._text()
            self._servers = parse_servers(text, is_own_machine=self._is_own_machine)
        return self._servers

    async def sync_tenant(self, caller: Caller) -> None:
        """Sync the servers of the file for the caller's tenant."""
        if caller.tenant_id in self._synced_tenants:
            return
        async with self._sync_lock:
            mine = [it for it in await self.read() if it.tenants & {ALL_TENANTS, caller.tenant}]
            async with self.store.system() as tx:
                await self._sync_tenant(tx, caller.tenant_id, mine)
            self._synced_tenants.add(caller.tenant_id)

    async def _text(self) -> str:
        try:
            return await run_sync(lambda: self._path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidFormat(
                f"{self._path} cannot be read: {error}", field="hub.servers_file"
            ) from None

    async def _sync_tenant(
        self, tx: Transaction, tenant_id: UUID, listed: Sequence[ConfiguredServer]
    ) -> None:
        await tx.execute(SQL["hold"], tenant_id=tenant_id)
        names = {it.name for it in listed}
        there = await tx.fetch_all(SQL["servers"], tenant_id=tenant_id)
        for row in there:
            if row["origin"] == "file" and row["name"] not in names:
                await tx.execute(SQL["remove_server"], tenant_id=tenant_id, name=row["name"])
        own = {row["name"].lower() for row in there if row["origin"] != "file"}
        for it in listed:
            if it.name.lower() in own:
                _log.warning("hub.listed", server=it.name, tenant_id=str(tenant_id), taken=True)
            else:
                await self._put(tx, tenant_id, it)

    async def _put(self, tx: Transaction, tenant_id: UUID, it: ConfiguredServer) -> None:
        held = it.endpoint.secrets
        is_new_secret = await self.vault.seal_for_tenant(tx, tenant_id, it.name, held)
        await tx.execute(
            SQL["put_server"],
            tenant_id=tenant_id,
            name=it.name,
            place=Jsonb(it.endpoint.address.to_json()),
            options=Jsonb(it.options.to_json()),
            enabled=it.enabled,
            to=[*it.to],
            anew=is_new_secret,
        )


def _parse_server(name: str, entry_json: Json, is_own_machine: bool) -> ConfiguredServer:
    at = f"{SERVERS_KEY}.{name}"
    if not isinstance(entry_json, dict):
        raise InvalidFormat(f"{at} is not an object", field=at, expected="object")
    known = {*McpServersAddress.model_fields}
    where = {key: it for key, it in entry_json.items() if key in known}
    try:
        entry = ServersFileEntry.model_validate(
            {key: it for key, it in entry_json.items() if key not in known}
        )
        place = parse_endpoint(McpServersAddress.model_validate(where))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = ".".join((at, *map(str, first["loc"])))
        raise InvalidFormat(f"{field}: {first['msg']}", field=field) from None
    for unused in entry.model_extra or {}:
        _log.warning("hub.listed", server=name, unused=unused)
    tenants = frozenset((ALL_TENANTS,)) if is_own_machine else frozenset(entry.tenants)
    if not tenants:
        raise InvalidFormat(f"{at} needs `tenants`: their names, or `*`", field=f"{at}.tenants")
    return ConfiguredServer(
        require_server_name(name), place, _options(entry), entry.enabled, tenants, tuple(entry.to)
    )


def _options(entry: ServersFileEntry) -> ServerOptions:
    return ServerOptions(
        timeout_s=entry.timeout / 1000 if entry.timeout else None,
        resets_on_progress=entry.reset_on_progress,
        most_s=entry.max_total / 1000 if entry.max_total else None,
        takes_changes=entry.take_changes,
        strict_capabilities=entry.strict,
    )
