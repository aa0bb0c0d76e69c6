"""Catalog tools: sources, files and file metadata, as the caller may see them."""

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from pydantic import Field

from pecia.features.lake.core.cursor import MAX_CURSOR_CHARS, decode_name_cursor, encode_name_cursor
from pecia.features.lake.downloads.link import DownloadLinks
from pecia.features.lake.model import FolderPath, Key, SourceId
from pecia.features.lake.source_status import (
    STATUS_DESCRIPTION,
    load_source_statuses,
    worker_warning,
)
from pecia.kernel.corpus.catalog import catalog
from pecia.kernel.errors import Json, NotFound
from pecia.kernel.identity.caller import Scope
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.store import Store
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, Input, Output, Tool

FEATURE = "lake"
SQL = load_queries("pecia.features.lake.tools", "catalog.sql")


class ListSources(Input):
    cursor: str | None = Field(
        default=None, max_length=MAX_CURSOR_CHARS, description="From `next_cursor`."
    )
    limit: int = Field(default=50, ge=1, le=200)


class SourceEntryOut(Output):
    source_id: str
    protocol: str
    enabled: bool
    last_indexed_at: datetime | None = Field(
        description="When a crawl last ended. For those who see all files of the source."
    )
    condition: str | None = Field(default=None, description=f"{STATUS_DESCRIPTION} For its owners.")
    unread: int | None = Field(
        default=None, description="Files that could not be read; `list_unread` names them."
    )


class SourcesOut(Output):
    sources: list[SourceEntryOut]
    next_cursor: str | None = None
    degraded: list[str] = Field(
        default_factory=list[str], description="Why `condition` may be stale. For owners."
    )


class ListFiles(Input):
    source_id: SourceId
    folder: FolderPath | None = Field(
        default=None,
        description="Only what is directly in it, with its `folders`; empty: the top. "
        "Without it, every file.",
    )
    cursor: str | None = Field(
        default=None, max_length=MAX_CURSOR_CHARS, description="From `next_cursor`."
    )
    limit: int = Field(default=50, ge=1, le=200)


class FileOut(Output):
    key: str
    size: int | None
    mtime: datetime | None
    etag: str | None
    content_type: str | None


class FilesOut(Output):
    files: list[FileOut]
    folders: list[str] | None = Field(default=None, description="Of `folder`, by their paths.")
    next_cursor: str | None = None


class FileLineOut(Output):
    key: str
    size: int | None
    modified: str | None = Field(description="A date.")
    content_type: str | None


class FileLinesOut(Output):
    files: list[FileLineOut]
    folders: list[str] | None = Field(default=None, description="Of `folder`, by their paths.")
    next_cursor: str | None = None


class GetFileMetadata(Input):
    source_id: SourceId
    key: Key


class FileMetadataOut(Output):
    source_id: str
    key: str
    size: int | None
    mtime: datetime | None
    etag: str | None
    storage_class: str | None
    owner: str | None
    content_type: str | None
    mode: int | None
    uid: int | None
    gid: int | None


class LinkedMetadataOut(FileMetadataOut):
    """For programs and pages: a link is long, and no agent opens one."""

    url: str | None = Field(description="Opens the original, for some minutes.")


@dataclass(frozen=True, slots=True)
class CatalogTools:
    """The handlers. `links` is None where links are disabled."""

    store: Store
    links: DownloadLinks | None

    async def list_sources(self, call: Call, ask: ListSources) -> SourcesOut:
        """Sources you can access, by id. Page on with next_cursor."""
        asked = _cursor_scope("list_sources")
        after = decode_name_cursor(ask.cursor, asked)
        async with self.store.reading(call.caller) as tx:
            found = await catalog.list_sources(tx, after=after, limit=ask.limit + 1)
            page = found[: ask.limit]
            known = await load_source_statuses(tx, [it.source_id for it in page])
            warning = await worker_warning(tx) if known else None
        for source in page:
            call.record_returned(source.source_id, [])
        sources = [
            SourceEntryOut(
                source_id=it.source_id,
                protocol=it.protocol,
                enabled=it.enabled,
                last_indexed_at=it.last_indexed_at,
                condition=how.condition if (how := known.get(it.source_id)) else None,
                unread=how.unread if how else None,
            )
            for it in page
        ]
        more = len(found) > ask.limit
        cursor = encode_name_cursor(page[-1].source_id, asked) if more else None
        degraded = [warning] if warning else []
        return SourcesOut(sources=sources, next_cursor=cursor, degraded=degraded)

    async def list_files(self, call: Call, ask: ListFiles) -> FilesOut:
        """Files within a source, by key. Page on with next_cursor."""
        asked = _cursor_scope("list_files", ask.source_id, ask.folder)
        after = decode_name_cursor(ask.cursor, asked)
        async with self.store.reading(call.caller) as tx:
            if ask.folder is None:
                find = catalog.list_files(tx, ask.source_id, after=after, limit=ask.limit + 1)
            else:
                find = catalog.list_folder(
                    tx, ask.source_id, ask.folder, start=after, limit=ask.limit + 1
                )
            found = await find
        if ask.folder and not found and not after:
            raise NotFound(f"no folder {ask.folder!r} in {ask.source_id!r}", field="folder")
        page, more = found[: ask.limit], len(found) > ask.limit
        if ask.folder is None:
            files, folders = page, None
            last = page[-1].key if more else ""
        else:
            inside = [(it, catalog.find_folder(ask.folder, it.key)) for it in page]
            files = [it for it, folder in inside if folder is None]
            folders = [folder for _, folder in inside if folder is not None]
            last = catalog.after_entry(ask.folder, page[-1].key) if more else ""
        call.record_returned(ask.source_id, [it.key for it in files])
        return FilesOut(
            files=[*map(_describe, files)],
            folders=folders,
            next_cursor=encode_name_cursor(last, asked) if more else None,
        )

    async def list_file_lines(self, call: Call, ask: ListFiles) -> FileLinesOut:
        """Files within a source, by key. Page on with next_cursor."""
        found = await self.list_files(call, ask)
        files = [
            FileLineOut(
                key=it.key,
                size=it.size,
                modified=it.mtime.date().isoformat() if it.mtime else None,
                content_type=it.content_type,
            )
            for it in found.files
        ]
        return FileLinesOut(files=files, folders=found.folders, next_cursor=found.next_cursor)

    async def get_file_metadata(self, call: Call, ask: GetFileMetadata) -> FileMetadataOut:
        """Metadata of a file: size, mtime, etag, storage class, owner, content type, POSIX mode."""
        async with self.store.reading(call.caller) as tx:
            found = await catalog.get_file(tx, ask.source_id, ask.key)
        call.record_returned(ask.source_id, [ask.key])
        return FileMetadataOut(**_describe_metadata(found))

    async def get_linked_metadata(self, call: Call, ask: GetFileMetadata) -> LinkedMetadataOut:
        """Metadata of a file: size, mtime, etag, storage class, owner, content type, POSIX mode."""
        async with self.store.reading(call.caller) as tx:
            found = await catalog.get_file(tx, ask.source_id, ask.key)
            original = await tx.fetch_optional(SQL["original"], **ask.model_dump())
        call.record_returned(ask.source_id, [ask.key])
        url = None
        if original and self.links:
            url = self.links.url(call.caller, ask.source_id, ask.key, original["revision_id"])
        return LinkedMetadataOut(**_describe_metadata(found), url=url)


def catalog_tools(store: Store, links: DownloadLinks | None) -> tuple[AnyTool, ...]:
    """The three catalog tools."""
    it = CatalogTools(store, links)
    return (
        Tool(FEATURE, "list_sources", Scope.READ, ListSources, SourcesOut, it.list_sources),
        Tool(
            FEATURE,
            "list_files",
            Scope.READ,
            ListFiles,
            FilesOut,
            it.list_files,
            lean=Tool(
                FEATURE, "list_files", Scope.READ, ListFiles, FileLinesOut, it.list_file_lines
            ),
        ),
        Tool(
            FEATURE,
            "get_file_metadata",
            Scope.READ,
            GetFileMetadata,
            LinkedMetadataOut,
            it.get_linked_metadata,
            lean=Tool(
                FEATURE,
                "get_file_metadata",
                Scope.READ,
                GetFileMetadata,
                FileMetadataOut,
                it.get_file_metadata,
            ),
        ),
    )


def _describe(it: catalog.FileEntry) -> FileOut:
    return FileOut(
        key=it.key,
        size=it.size_bytes,
        mtime=it.modified_at,
        etag=it.etag,
        content_type=it.content_type,
    )


def _describe_metadata(found: catalog.FileMetadata) -> dict[str, Any]:
    facts = asdict(found)
    return {
        "size": facts.pop("size_bytes"),
        "mtime": facts.pop("modified_at"),
        "mode": facts.pop("posix_mode"),
        "uid": facts.pop("posix_uid"),
        "gid": facts.pop("posix_gid"),
        **facts,
    }


def _cursor_scope(tool: str, source_id: str | None = None, folder: str | None = None) -> Json:
    """What must be equal on every page of one listing."""
    return [tool, source_id] if folder is None else [tool, source_id, folder]
