"""Uploads as a kind of source: their connector, and their row in the registry."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from mimetypes import guess_type
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import UUID

from anyio.to_thread import run_sync

from pecia.kernel.corpus.connector import ListedFile, ListingEntry, OriginalFile
from pecia.kernel.corpus.connector_kind import (
    ConnectorContext,
    ConnectorKind,
    OriginOptions,
    SourceOrigin,
)
from pecia.kernel.errors import NotFound, PayloadTooLarge
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.store import Store

SQL = load_queries("pecia.features.lake.tools", "uploads.sql")
PAGE_SIZE = 500


@dataclass(frozen=True, slots=True)
class UploadConnector:
    """The uploads of one source, as a connector."""

    store: Store
    tenant_id: UUID
    source_id: str
    admits: Callable[[str], bool]

    async def listing(self) -> AsyncGenerator[ListingEntry]:
        after = ""
        while True:
            async with self.store.system() as tx:
                rows = await tx.fetch_all(
                    SQL["uploads_after"], after=after, limit=PAGE_SIZE, **self._source_key()
                )
            for row in rows:
                if self.admits(row["key"]):
                    yield _to_entry(row)
            if len(rows) < PAGE_SIZE:
                return
            after = rows[-1]["key"]

    @asynccontextmanager
    async def opening(self, key: str, most_bytes: int) -> AsyncGenerator[OriginalFile]:
        async with self.store.system() as tx:
            row = await tx.fetch_optional(
                SQL["upload"], key=key, most=most_bytes, **self._source_key()
            )
        if row is None:
            raise NotFound(f"the uploaded file {key!r} is gone", key=key)
        if row["body"] is None:
            raise PayloadTooLarge(
                f"the uploaded file {key!r} is larger than {most_bytes} bytes",
                field="key",
                max=most_bytes,
            )
        with TemporaryDirectory(prefix="pecia-original-") as scratch:
            copy = Path(scratch) / "original"
            await run_sync(copy.write_bytes, row["body"])
            yield OriginalFile(copy)

    def _source_key(self) -> dict[str, Any]:
        return {"tenant_id": self.tenant_id, "source_id": self.source_id}


class UploadOrigin(SourceOrigin):
    """Files that people send here. The only ones whose bytes are kept."""

    source_id: str


class UploadOptions(OriginOptions):
    """None: the protocol says it."""

    def build_origin(self, source_id: str) -> UploadOrigin:
        return UploadOrigin(source_id=source_id)


def upload_kind(select: Callable[[ConnectorContext], Callable[[str], bool]]) -> ConnectorKind:
    """The row of uploads. `select` says which keys count, by the globs of the source."""

    @asynccontextmanager
    async def open_uploads(
        origin: UploadOrigin, context: ConnectorContext
    ) -> AsyncGenerator[UploadConnector]:
        yield UploadConnector(context.store, context.tenant_id, origin.source_id, select(context))

    return ConnectorKind(
        "upload",
        "Files that are sent to it.",
        UploadOrigin,
        open_uploads,
        options=UploadOptions,
    )


def _to_entry(row: dict[str, Any]) -> ListedFile:
    return ListedFile(
        row["key"],
        stamp=row["sha256"],
        size_bytes=row["size_bytes"],
        modified_at=row["at"],
        content_type=guess_type(row["key"])[0],
    )
