"""Follows the store: whoever subscribed to what a commit changed is told of it at once.

What is missed while the line is down is told when it is back, for it is found by comparing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn
from uuid import UUID

import anyio
import psycopg

from pecia.doors.mcp.changes import Changes
from pecia.kernel.corpus import changes
from pecia.kernel.errors import AuthRequired, InvalidFormat, PeciaError
from pecia.kernel.identity.caller import Caller
from pecia.kernel.logs import Log
from pecia.kernel.store.store import Store
from pecia.rooms.lake.resources import revisions
from pecia.rooms.lake.uri import FileAddress, read_uri

log = Log(__name__)

AGAIN_S = 1.0


@dataclass(frozen=True, slots=True)
class Following:
    """The task that listens, and what it compares."""

    store: Store
    changes: Changes

    async def run(self) -> NoReturn:
        while True:
            try:
                await self._listen()
            except (psycopg.Error, PeciaError) as error:
                log.failure("mcp.following", error)
            await anyio.sleep(AGAIN_S)

    async def stamps(self, caller: Caller, uris: Sequence[str]) -> Mapping[str, int]:
        """The revisions of those that are files this caller may read now."""
        addresses = {uri: address for uri in uris if (address := _address(uri))}
        try:
            async with self.store.reading(caller) as tx:
                found = await revisions(tx, [*addresses.values()])
        except AuthRequired:
            # A token that was revoked hears nothing more.
            return {}
        return {uri: found[it] for uri, it in addresses.items() if it in found}

    async def _listen(self) -> None:
        connection = await psycopg.AsyncConnection.connect(
            self.store.logins.system, autocommit=True
        )
        async with connection:
            await connection.execute(changes.SQL["listen"])
            await self.changes.look_everywhere()
            async for told in connection.notifies():
                await self.changes.look(UUID(told.payload))


def _address(uri: str) -> FileAddress | None:
    try:
        return read_uri(uri)
    except InvalidFormat:
        return None
