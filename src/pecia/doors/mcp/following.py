"""Follows the store, and what rooms watch: whoever subscribed to what changed is told of it.

What is missed while the line is down is told when it is back, for it is found by comparing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn
from uuid import UUID

import anyio
import psycopg

from pecia.doors.mcp.changes import Changes, ToolsListChanged
from pecia.kernel.corpus import changes
from pecia.kernel.errors import AuthRequired, InvalidFormat, PeciaError
from pecia.kernel.identity.caller import Caller
from pecia.kernel.logs import Log
from pecia.kernel.store.store import SQL, Store
from pecia.kernel.tool.guests import Guests
from pecia.kernel.tool.model import Watch
from pecia.rooms.lake.resources import revisions
from pecia.rooms.lake.uri import FileAddress, read_uri

log = Log(__name__)

AGAIN_S = 1.0
LOOK_EVERY_S = 0.2


@dataclass(frozen=True, slots=True)
class Following:
    """The task that listens, and what it compares."""

    store: Store
    changes: Changes
    watched: Mapping[str, Watch]
    """By scheme: what the store knows nothing of."""
    guests: Sequence[Guests] = ()

    async def run(self) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(self._follow_store)
            group.start_soon(self._follow_rooms)

    async def _follow_rooms(self) -> NoReturn:
        while True:
            await anyio.sleep(LOOK_EVERY_S)
            try:
                if [it for it in self.watched.values() if await it.changed()]:
                    await self.changes.look_everywhere()
            except (psycopg.Error, PeciaError) as error:
                log.failure("mcp.following", error)
                await anyio.sleep(AGAIN_S)

    async def _follow_store(self) -> NoReturn:
        while True:
            try:
                await self._listen()
            except (psycopg.Error, PeciaError) as error:
                log.failure("mcp.following", error)
            await anyio.sleep(AGAIN_S)

    async def stamps(self, caller: Caller, uris: Sequence[str]) -> Mapping[str, int]:
        """What tells a change of those that this caller may read now."""
        addresses = {uri: address for uri in uris if (address := _address(uri))}
        try:
            async with self.store.reading(caller) as tx:
                found = await revisions(tx, [*addresses.values()])
        except AuthRequired:
            # A token that was revoked hears nothing more.
            return {}
        stamps = {uri: found[it] for uri, it in addresses.items() if it in found}
        for scheme, watch in self.watched.items():
            if mine := [it for it in uris if it.startswith(f"{scheme}:")]:
                stamps |= await watch.stamps(caller, mine)
        return stamps

    async def _listen(self) -> None:
        connection = await psycopg.AsyncConnection.connect(
            self.store.logins.system, autocommit=True
        )
        async with connection:
            await connection.execute(changes.SQL["listen"])
            await connection.execute(SQL["listen_tools"])
            await self.changes.look_everywhere()
            async for told in connection.notifies():
                tenant_id = UUID(told.payload)
                if told.channel == "pecia_tools":
                    await self._new_guests(tenant_id)
                else:
                    await self.changes.look(tenant_id)

    async def _new_guests(self, tenant_id: UUID) -> None:
        for it in self.guests:
            it.forget(tenant_id)
        await self.changes.publish(tenant_id, ToolsListChanged())


def _address(uri: str) -> FileAddress | None:
    try:
        return read_uri(uri)
    except InvalidFormat:
        return None
