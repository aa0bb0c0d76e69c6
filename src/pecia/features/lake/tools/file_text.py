"""Reads a file's text, whole or by window, as the chunks that hits refer to."""

from dataclasses import dataclass

from pydantic import Field

from pecia.features.lake.core.file_uri import file_uri
from pecia.features.lake.model import Key, SourceId
from pecia.kernel.corpus.search import hydrate
from pecia.kernel.corpus.search.hydrate import ChunkWindow, WindowChunk
from pecia.kernel.identity.caller import Scope
from pecia.kernel.store.store import Store
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, CitedOutput, EmbeddedResource, Input, Output, Tool

FEATURE = "lake"
MAX_TEXT_CHUNKS = 5_000
PLAIN = "text/plain"


class GetFileText(Input):
    source_id: SourceId
    key: Key


class GetFileWindow(Input):
    source_id: SourceId
    key: Key
    start: int = Field(default=0, ge=0, le=2**31 - 1, description="Index of the first chunk.")
    length: int = Field(default=40, ge=1, le=hydrate.MAX_WINDOW_CHUNKS, description="Chunks.")


class ChunkOut(Output):
    seq: int
    text: str
    page_no: int | None
    char_start: int
    char_end: int
    ts_start_ms: int | None
    ts_end_ms: int | None
    headings: list[str]


class FileTextOut(Output):
    source_id: str
    key: str
    title: str
    revision: int | None
    chunks: list[ChunkOut]
    total_chunks: int
    truncated: bool = Field(description="More than 5000 chunks: go on with get_file_window.")
    status: str
    reason: str


class WindowSizeOut(Output):
    returned: int


class FileWindowOut(Output):
    chunks: list[ChunkOut]
    total_chunks: int
    next_cursor: int | None = Field(description="The `start` of the next window; null at the end.")
    window: WindowSizeOut
    has_more: bool
    text: str
    status: str
    reason: str
    revision: int | None


@dataclass(frozen=True, slots=True)
class FileTextTools:
    """The handlers."""

    store: Store

    async def get_file_text(self, call: Call, ask: GetFileText) -> CitedOutput[FileTextOut]:
        """A file's whole extracted text as ordered chunks, with its extraction status. For large
        files use get_file_window."""
        async with self.store.reading(call.caller) as tx:
            found = await hydrate.read_file(tx, ask.source_id, ask.key, MAX_TEXT_CHUNKS)
        call.record_returned(ask.source_id, [ask.key])
        whole = EmbeddedResource(file_uri(found.source_id, found.key), found.text, PLAIN)
        return CitedOutput(_format_file(found), (whole,))

    async def get_file_window(self, call: Call, ask: GetFileWindow) -> FileWindowOut:
        """A bounded window of a file's chunks: read on through a large file, or around a hit with
        start a little before its seq; slide forward with next_cursor."""
        async with self.store.reading(call.caller) as tx:
            found = await hydrate.read_window(tx, ask.source_id, ask.key, ask.start, ask.length)
        call.record_returned(ask.source_id, [ask.key])
        return _format_window(found)


def file_text_tools(store: Store) -> tuple[AnyTool, ...]:
    """The two tools that read text."""
    it = FileTextTools(store)
    return (
        Tool(FEATURE, "get_file_text", Scope.READ, GetFileText, FileTextOut, it.get_file_text),
        Tool(
            FEATURE, "get_file_window", Scope.READ, GetFileWindow, FileWindowOut, it.get_file_window
        ),
    )


def _format_file(found: ChunkWindow) -> FileTextOut:
    return FileTextOut(
        source_id=found.source_id,
        key=found.key,
        title=found.title,
        revision=found.revision_id,
        chunks=[_format_chunk(it) for it in found.chunks],
        total_chunks=found.chunk_count,
        truncated=found.next_start is not None,
        status=found.status,
        reason=found.reason,
    )


def _format_window(found: ChunkWindow) -> FileWindowOut:
    return FileWindowOut(
        chunks=[_format_chunk(it) for it in found.chunks],
        total_chunks=found.chunk_count,
        next_cursor=found.next_start,
        window=WindowSizeOut(returned=len(found.chunks)),
        has_more=found.next_start is not None,
        text=found.text,
        status=found.status,
        reason=found.reason,
        revision=found.revision_id,
    )


def _format_chunk(it: WindowChunk) -> ChunkOut:
    return ChunkOut(
        seq=it.seq,
        text=it.text,
        page_no=it.page_no,
        char_start=it.start,
        char_end=it.end,
        ts_start_ms=it.ts_start_ms,
        ts_end_ms=it.ts_end_ms,
        headings=[*it.headings],
    )
