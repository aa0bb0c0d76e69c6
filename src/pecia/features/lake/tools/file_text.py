"""Reads a file's text, whole or by window, as the chunks that hits refer to."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import orjson
from pydantic import Field

from pecia.features.lake.model import MAX_PART_BYTES, Key, SourceId
from pecia.kernel.corpus.file_uri import FileAddress, file_uri, part_uri
from pecia.kernel.corpus.search import hydrate
from pecia.kernel.corpus.search.hydrate import ChunkWindow, WindowChunk
from pecia.kernel.identity.caller import Scope
from pecia.kernel.store.store import Store
from pecia.kernel.text.tokens import estimate_tokens
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import (
    AnyTool,
    CitedOutput,
    EmbeddedResource,
    Input,
    Output,
    ResourcePart,
    TextContent,
    TextOutput,
    Tool,
    ToolResult,
)

FEATURE = "lake"
MAX_TEXT_CHUNKS = 2_500
"""Read at once. Without any text, this many are more than a part holds."""
PLAIN = "text/plain"
DEFAULT_READ_TOKENS = 1_500
MIN_CHUNK_TOKENS = 20


class GetFileText(Input):
    source_id: SourceId
    key: Key
    start: int = Field(default=0, ge=0, le=2**31 - 1)


class GetFileWindow(Input):
    source_id: SourceId
    key: Key
    start: int = Field(default=0, ge=0, le=2**31 - 1, description="Index of the first chunk.")
    length: int = Field(default=40, ge=1, le=hydrate.MAX_WINDOW_CHUNKS, description="Chunks.")


class PassageRead(Input):
    """The arguments for agents."""

    source_id: SourceId
    key: Key
    start: int = Field(default=0, ge=0, le=2**31 - 1, description="Index of the first chunk.")
    max_tokens: int = Field(default=DEFAULT_READ_TOKENS, ge=200, le=100_000)


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
    truncated: bool
    next_cursor: int | None = Field(description="The `start` of the next part; null at the end.")
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
        """A file's text in chunks, with its status. When cut, go on: start is next_cursor."""
        found = await read_part(self.store, call, ask.source_id, ask.key, ask.start)
        uri = file_uri(found.source_id, found.key)
        if ask.start == 0 and found.next_start is None:
            return CitedOutput(_format_file(found), (EmbeddedResource(uri, found.text, PLAIN),))
        # No copy of the data as text: the resource has the words.
        note = TextContent(part_note(found, ask.start))
        part = EmbeddedResource(part_uri(uri, ask.start), found.text, PLAIN)
        return CitedOutput(_format_file(found), (note, part))

    async def get_file_window(self, call: Call, ask: GetFileWindow) -> FileWindowOut:
        """A bounded window of a file's chunks: read on through a large file, or around a hit with
        start a little before its seq; slide forward with next_cursor."""
        async with self.store.reading(call.caller) as tx:
            found = await hydrate.read_window(tx, ask.source_id, ask.key, ask.start, ask.length)
        call.record_returned(ask.source_id, [ask.key])
        return _format_window(_fit_part(found))

    async def read_text(self, call: Call, ask: PassageRead) -> ToolResult:
        """A file's text from a chunk on, with pages and the header rows of tables; the answer says
        how to go on."""
        part = await read_for_agent(
            self.store, call, FileAddress(ask.source_id, ask.key), ask.start, ask.max_tokens
        )
        return ToolResult(content=(TextContent(part.text),))


def file_text_tools(store: Store) -> tuple[AnyTool, ...]:
    """The two tools that read text."""
    it = FileTextTools(store)
    return (
        Tool(
            FEATURE,
            "get_file_text",
            Scope.READ,
            GetFileText,
            FileTextOut,
            it.get_file_text,
            lean=_lean_reader("get_file_text", it),
        ),
        Tool(
            FEATURE,
            "get_file_window",
            Scope.READ,
            GetFileWindow,
            FileWindowOut,
            it.get_file_window,
            lean=_lean_reader("get_file_window", it),
        ),
    )


def _lean_reader(name: str, it: FileTextTools) -> Tool[PassageRead, TextOutput]:
    return Tool(FEATURE, name, Scope.READ, PassageRead, TextOutput, it.read_text)


READ_WHOLE = "ok"


async def read_for_agent(
    store: Store, call: Call, file: FileAddress, start: int, max_tokens: int
) -> ResourcePart:
    """A file from a chunk on, as a model reads it; at least one chunk."""
    size = min(hydrate.MAX_WINDOW_CHUNKS, max_tokens // MIN_CHUNK_TOKENS + 1)
    async with store.reading(call.caller) as tx:
        found = await hydrate.read_window(tx, file.source_id, file.key, start, size)
    call.record_returned(file.source_id, [file.key])
    uri = file_uri(found.source_id, found.key)
    if not found.chunks:
        return ResourcePart(f"{uri}\n{_nothing_there(found, start)}")
    shown = [*_take_chunks(found.chunks, max_tokens)]
    after = shown[-1].seq + 1
    has_more = after < found.chunk_count
    head = f"{found.title or found.key}\n{uri} chunks {start} to {after - 1} of {found.chunk_count}"
    if found.status != READ_WHOLE:
        head += f"\n[{found.status}: {found.reason}]"
    tail = f"\n\n[More: start {after}]" if has_more else ""
    return ResourcePart(f"{head}\n\n{_readable_text(shown)}{tail}", after if has_more else None)


def _nothing_there(found: ChunkWindow, start: int) -> str:
    if found.chunk_count:
        return part_note(found, start)
    return f"[No text: {found.status}{f', {found.reason}' if found.reason else ''}]"


def _take_chunks(chunks: Sequence[WindowChunk], max_tokens: int) -> Iterator[WindowChunk]:
    left = max_tokens
    for number, it in enumerate(chunks):
        left -= estimate_tokens(it.text)
        if number and left < 0:
            return
        yield it


def _readable_text(chunks: Sequence[WindowChunk]) -> str:
    """The chunks joined, with a mark where a page or a cue begins."""
    pieces = [chunks[0].prefix]
    last: object = None
    for it in chunks:
        if it.page_no is not None and it.page_no != last:
            pieces.append(f"[page {it.page_no}]\n")
        elif it.ts_start_ms is not None and it.unit_label != last:
            pieces.append(f"[{it.unit_label}] ")
        last = it.page_no if it.page_no is not None else it.unit_label
        pieces.append(it.text)
    return "".join(pieces).strip("\n")


async def read_part(store: Store, call: Call, source_id: str, key: str, start: int) -> ChunkWindow:
    """As much of a file from a chunk on as one answer holds."""
    async with store.reading(call.caller) as tx:
        found = await hydrate.read_file(tx, source_id, key, MAX_TEXT_CHUNKS, start=start)
    call.record_returned(found.source_id, [found.key])
    return _fit_part(found)


def part_note(found: ChunkWindow, start: int) -> str:
    """Which part of a file it is, and the call that goes on."""
    if not found.chunks:
        return f"[Nothing from chunk {start} on: the text has {found.chunk_count}.]"
    if found.next_start is None:
        return f"[Chunks {start} to {found.chunk_count - 1} of {found.chunk_count}: the end.]"
    return (
        f"[Cut: chunks {start} to {found.next_start - 1} of {found.chunk_count}. "
        f"Go on with get_file_text, start {found.next_start}.]"
    )


def _fit_part(found: ChunkWindow) -> ChunkWindow:
    size = 0
    for count, it in enumerate(found.chunks):
        size += len(orjson.dumps(_format_chunk(it).model_dump()))
        if count and size > MAX_PART_BYTES:
            return replace(found, chunks=found.chunks[:count], next_start=it.seq)
    return found


def _format_file(found: ChunkWindow) -> FileTextOut:
    return FileTextOut(
        source_id=found.source_id,
        key=found.key,
        title=found.title,
        revision=found.revision_id,
        chunks=[_format_chunk(it) for it in found.chunks],
        total_chunks=found.chunk_count,
        truncated=found.next_start is not None,
        next_cursor=found.next_start,
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
