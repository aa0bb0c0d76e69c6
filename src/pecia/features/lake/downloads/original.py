"""The original of a file, fetched again from its source. Keeps no copy of it.

A source with a credential is read by a process that may open it: on a server that is a worker.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from anyio.to_thread import run_sync

from pecia.features.lake.crawl.crawler import SQL, OpenConnector
from pecia.features.lake.credentials import SourceCredentials
from pecia.features.lake.downloads.delivery import DeliveryQueue
from pecia.features.lake.downloads.link import DownloadLinks, DownloadTicket
from pecia.features.lake.model import SourceConfig, parse_config
from pecia.kernel.corpus.catalog import catalog
from pecia.kernel.corpus.catalog.catalog import FileMetadata
from pecia.kernel.errors import AuthRequired, NotFound
from pecia.kernel.store.store import Store
from pecia.kernel.tool.call import Call


@dataclass(frozen=True, slots=True)
class OpenOriginal:
    """An unlinked open file: closing it is the only cleanup."""

    facts: FileMetadata
    body: BinaryIO
    size: int


@dataclass(frozen=True, slots=True)
class OriginalFetcher:
    """`links` is None where links are disabled."""

    store: Store
    connect: OpenConnector
    links: DownloadLinks | None
    credentials: SourceCredentials
    deliveries: DeliveryQueue

    def open_ticket(self, token: str) -> DownloadTicket:
        """The payload of a link, or NotFound."""
        if self.links is None:
            raise NotFound(
                "this server makes no links to originals",
                hint="The operator sets public_url, download_signing_secret and "
                "internal_fetch_token.",
            )
        return self.links.open(token)

    async def fetch(self, call: Call, ticket: DownloadTicket) -> OpenOriginal:
        """The file, if the principal of the link may see it now."""
        facts, config = await self._load_visible(call, ticket)
        body, size = await self._open_bytes(ticket, config)
        call.record_returned(ticket.source_id, [ticket.key])
        return OpenOriginal(facts, body, size)

    async def _open_bytes(
        self, ticket: DownloadTicket, config: SourceConfig
    ) -> tuple[BinaryIO, int]:
        tenant_id, source_id = ticket.tenant_id, ticket.source_id
        if not self.credentials.can_open and await self.credentials.exists(tenant_id, source_id):
            return await self.deliveries.fetch(tenant_id, source_id, ticket.key)
        async with (
            self.connect(tenant_id, source_id, config) as place,
            place.opening(ticket.key, config.most_bytes) as original,
        ):
            # The name is unlinked with this block; the open file stays until closed.
            return await run_sync(_open_file, original.path)

    async def _load_visible(
        self, call: Call, ticket: DownloadTicket
    ) -> tuple[FileMetadata, SourceConfig]:
        try:
            async with self.store.reading(call.caller) as tx:
                facts = await catalog.get_file(tx, ticket.source_id, ticket.key)
                missing = f"no source {ticket.source_id!r}"
                row = await tx.fetch_one(SQL["config"], missing, source_id=ticket.source_id)
        except (AuthRequired, NotFound):
            # A revoked token invalidates its links.
            raise _not_found(ticket) from None
        config = parse_config(row["config"])
        if config is None:
            raise _not_found(ticket)
        return facts, config


def _open_file(path: Path) -> tuple[BinaryIO, int]:
    return path.open("rb"), path.stat().st_size


def _not_found(ticket: DownloadTicket) -> NotFound:
    return catalog.no_file(ticket.source_id, ticket.key)
