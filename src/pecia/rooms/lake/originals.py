"""The original of a file, fetched again from where it lies. Keeps no copy of it.

What lies behind a credential is fetched by who may open it: on a server that is a worker.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from anyio.to_thread import run_sync

from pecia.kernel.corpus import catalog
from pecia.kernel.corpus.catalog import FileFacts
from pecia.kernel.errors import AuthRequired, NotFound
from pecia.kernel.store.store import Store
from pecia.kernel.tool.call import Call
from pecia.rooms.lake.crawl import SQL, Connect, read_config
from pecia.rooms.lake.credential import Credentials
from pecia.rooms.lake.delivery import Deliveries
from pecia.rooms.lake.links import Links, Ticket
from pecia.rooms.lake.origin import SourceConfig


@dataclass(frozen=True, slots=True)
class Original:
    """Bytes that are open and have no name any more: closing them is all there is to clean up."""

    facts: FileFacts
    body: BinaryIO
    size: int


@dataclass(frozen=True, slots=True)
class Originals:
    """`links` is None where links are off."""

    store: Store
    connect: Connect
    links: Links | None
    credentials: Credentials
    deliveries: Deliveries

    def ticket(self, token: str) -> Ticket:
        """What a link says, or NotFound."""
        if self.links is None:
            raise NotFound("there are no links to originals here")
        return self.links.open(token)

    async def fetch(self, call: Call, ticket: Ticket) -> Original:
        """The file, if the principal of the link may see it now."""
        facts, config = await self._seen(call, ticket)
        body, size = await self._bytes(ticket, config)
        call.returned(ticket.source_id, [ticket.key])
        return Original(facts, body, size)

    async def _bytes(self, ticket: Ticket, config: SourceConfig) -> tuple[BinaryIO, int]:
        tenant_id, source_id = ticket.tenant_id, ticket.source_id
        if not self.credentials.is_opener and await self.credentials.exists(tenant_id, source_id):
            return await self.deliveries.fetch(tenant_id, source_id, ticket.key)
        async with (
            self.connect(tenant_id, source_id, config) as place,
            place.opening(ticket.key, config.most_bytes) as original,
        ):
            # Its name goes with this block; what is open stays until it is closed.
            return await run_sync(_opened, original.path)

    async def _seen(self, call: Call, ticket: Ticket) -> tuple[FileFacts, SourceConfig]:
        try:
            async with self.store.reading(call.caller) as tx:
                facts = await catalog.get_file(tx, ticket.source_id, ticket.key)
                row = await tx.one(SQL["config"], "no such source", source_id=ticket.source_id)
        except (AuthRequired, NotFound):
            # A token that was revoked takes its links along.
            raise _gone(ticket) from None
        config = read_config(row["config"])
        if config is None:
            raise _gone(ticket)
        return facts, config


def _opened(path: Path) -> tuple[BinaryIO, int]:
    return path.open("rb"), path.stat().st_size


def _gone(ticket: Ticket) -> NotFound:
    return NotFound(f"no file {ticket.key!r} in source {ticket.source_id!r}")
