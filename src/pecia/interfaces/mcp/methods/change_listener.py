"""Listens to the store, polls the watches of features, and notifies subscribers of changes.

Changes missed while disconnected are found after the reconnect, by comparing stamps.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn
from uuid import UUID

import anyio
import psycopg
from psycopg import Notify

from pecia.features.lake.resources import load_revisions
from pecia.interfaces.mcp.methods.subscriptions import Subscriptions, ToolsListChanged
from pecia.kernel.corpus import changelog
from pecia.kernel.corpus.file_uri import FileAddress, parse_file_uri
from pecia.kernel.errors import AuthRequired, InvalidFormat, PeciaError
from pecia.kernel.identity.caller import Caller
from pecia.kernel.logs import Log
from pecia.kernel.store.listen import listen
from pecia.kernel.store.store import Store
from pecia.kernel.tool.dynamic_tools import CHANNEL as TOOLS_CHANNEL
from pecia.kernel.tool.dynamic_tools import DynamicTools
from pecia.kernel.tool.model import ResourceWatch

log = Log(__name__)

RECONNECT_DELAY_S = 1.0
POLL_INTERVAL_S = 0.2


@dataclass(frozen=True, slots=True)
class McpChangeListener:
    """The LISTEN loop, and the stamps that it compares."""

    store: Store
    subscriptions: Subscriptions
    watches: Mapping[str, ResourceWatch]
    """By URI scheme: resources that are not in the store."""
    dynamic_tools: Sequence[DynamicTools] = ()

    async def run(self) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(
                listen,
                self.store,
                [changelog.CHANNEL, TOOLS_CHANNEL],
                self._on_notify,
                "mcp.change_listener",
            )
            group.start_soon(self._poll_features)

    async def _poll_features(self) -> NoReturn:
        while True:
            await anyio.sleep(POLL_INTERVAL_S)
            try:
                if [it for it in self.watches.values() if await it.changed()]:
                    await self.subscriptions.notify_all_tenants()
            except (psycopg.Error, PeciaError) as error:
                log.failure("mcp.change_listener", error)
                await anyio.sleep(RECONNECT_DELAY_S)

    async def read_stamps(self, caller: Caller, uris: Sequence[str]) -> Mapping[str, int]:
        """The change stamps of those that this caller may read now."""
        addresses = {uri: address for uri in uris if (address := _parse_address(uri))}
        try:
            async with self.store.reading(caller) as tx:
                found = await load_revisions(tx, [*addresses.values()])
        except AuthRequired:
            # A revoked token gets no more notifications.
            return {}
        stamps = {uri: found[it] for uri, it in addresses.items() if it in found}
        for scheme, watch in self.watches.items():
            if mine := [it for it in uris if it.startswith(f"{scheme}:")]:
                stamps |= await watch.stamps(caller, mine)
        return stamps

    async def _on_notify(self, notification: Notify | None) -> None:
        if notification is None:
            await self.subscriptions.notify_all_tenants()
            if self.dynamic_tools:
                for tenant_id in self.subscriptions.tenants():
                    await self._refresh_dynamic_tools(tenant_id)
        elif notification.channel == TOOLS_CHANNEL:
            await self._refresh_dynamic_tools(UUID(notification.payload))
        else:
            await self.subscriptions.notify_tenant(UUID(notification.payload))

    async def _refresh_dynamic_tools(self, tenant_id: UUID) -> None:
        for it in self.dynamic_tools:
            it.forget(tenant_id)
        await self.subscriptions.publish(tenant_id, ToolsListChanged())


def _parse_address(uri: str) -> FileAddress | None:
    try:
        return parse_file_uri(uri)
    except InvalidFormat:
        return None
