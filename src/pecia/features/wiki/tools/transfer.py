"""Import and export: a space as files of elsewhere, and what other programs exported as its own."""

import binascii
from base64 import b64decode
from dataclasses import dataclass

from pydantic import Field

from pecia.features.wiki.space import Wiki
from pecia.features.wiki.tools.documents import FEATURE
from pecia.features.wiki.tools.schemas import (
    MAX_MARKDOWN_CHARS,
    MAX_PATH_CHARS,
    OptionalText,
    SpaceInput,
    WikiOutput,
)
from pecia.features.wiki.transfer.export import (
    ExportCursor,
    list_exported,
    read_export_page,
    space_state,
)
from pecia.features.wiki.transfer.file_parts import FilePart
from pecia.features.wiki.transfer.import_write import ImportItem, document_item, import_items
from pecia.kernel.errors import InvalidFormat, InvalidInput
from pecia.kernel.identity.caller import Scope
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, Input, TextContent, Tool, ToolResult

MAX_ITEMS = 200
MAX_ORIGIN_CHARS = 1000
IMPORT_TIMEOUT_S = 300.0


class ExportSpace(SpaceInput):
    cursor: OptionalText = Field(
        default=None, max_length=8000, description="`nextCursor` of the previous page."
    )


class ExportedOut(WikiOutput):
    space: str
    files: list[dict[str, object]] = Field(
        description="Each with `path`, `bytes`, `offset`, and `text`, or `base64` where it is no "
        "UTF-8 or one of several parts."
    )
    dropped: list[dict[str, str]] = Field(description="Files that cannot be read, and why.")
    total: int = Field(description="Files on all pages.")
    totalBytes: int
    state: str = Field(description="The same on every page, unless a file changed in between.")
    nextCursor: str | None


class ImportDocumentInput(Input):
    """A document, and its id in the source: the second import of it is an update."""

    origin: str = Field(min_length=1, max_length=MAX_ORIGIN_CHARS)
    docName: str = Field(max_length=MAX_PATH_CHARS)
    markdown: str = Field(max_length=MAX_MARKDOWN_CHARS, json_schema_extra={"unaudited": True})


class ImportFileInput(Input):
    """A picture or another file that documents link to."""

    origin: str = Field(min_length=1, max_length=MAX_ORIGIN_CHARS)
    path: str = Field(max_length=MAX_PATH_CHARS)
    base64: str = Field(max_length=30_000_000, json_schema_extra={"unaudited": True})
    offset: int = Field(default=0, ge=0, description="Of a long file, in parts and in order.")
    total: int | None = Field(default=None, ge=1, description="Its bytes, with every part.")


class ImportDocuments(SpaceInput):
    source: str = Field(
        min_length=1, max_length=200, description="Where they come from; ids are unique in it."
    )
    documents: list[ImportDocumentInput] = Field(
        default_factory=list[ImportDocumentInput], max_length=MAX_ITEMS
    )
    files: list[ImportFileInput] = Field(
        default_factory=list[ImportFileInput], max_length=MAX_ITEMS
    )
    dry_run: bool = Field(default=False, description="Only say what would be done.")


class ImportedItemsOut(WikiOutput):
    items: list[dict[str, str]] = Field(
        description="`origin`, `path`, `outcome` (created, updated, unchanged, kept, dropped or "
        "partial) and `reason`."
    )


@dataclass(frozen=True, slots=True)
class SpaceTransferTools:
    """The handlers."""

    wiki: Wiki

    async def export_space(self, call: Call, ask: ExportSpace) -> ToolResult:
        """Every file of a space that you may read, byte for byte, in pages: documents and
        attachments. `pecia space export` writes them to a folder, also as OKF or HTML."""
        start = ExportCursor.decode(ask.cursor)
        opened = await self.wiki.open(call, ask.cwd, ask.space)
        files = list_exported(opened)
        page = await read_export_page(opened, files, start)
        opened.record_returned(page.paths)
        end = page.next.encode() if page.next else None
        said = f"{len(page.rows)} of {len(files)} files of the space {opened.space.name}."
        more = f" Continue with cursor {end}." if end else ""
        return ToolResult(
            {
                "space": opened.space.name,
                "files": page.rows,
                "dropped": page.dropped,
                "total": len(files),
                "totalBytes": sum(it.size_bytes for it in files.values()),
                "state": space_state(files),
                "nextCursor": end,
            },
            (TextContent(said + more),),
        )

    async def import_documents(self, call: Call, ask: ImportDocuments) -> ToolResult:
        """Write documents and files that come from another program. A second import of the same
        `origin` changes only what differs and nobody has edited here since."""
        items = [document_item(it.origin, it.docName, it.markdown) for it in ask.documents]
        items += [_file_item(it) for it in ask.files]
        origins = [it.origin for it in items]
        if twice := {it for it in origins if origins.count(it) > 1}:
            raise InvalidInput(f"{min(twice)!r} is named twice", field="documents")
        opened = await self.wiki.open(call, ask.cwd, ask.space)
        report = await import_items(opened, ask.source, items, dry_run=ask.dry_run)
        return ToolResult({"items": report.rows})


def transfer_tools(wiki: Wiki) -> tuple[AnyTool, ...]:
    it = SpaceTransferTools(wiki)
    return (
        Tool(FEATURE, "export_space", Scope.READ, ExportSpace, ExportedOut, it.export_space),
        Tool(
            FEATURE,
            "import_documents",
            Scope.WRITE,
            ImportDocuments,
            ImportedItemsOut,
            it.import_documents,
            read_only=False,
            destructive=True,
            idempotent=True,
            timeout_s=IMPORT_TIMEOUT_S,
        ),
    )


def _file_item(given: ImportFileInput) -> ImportItem:
    try:
        body = b64decode(given.base64, validate=True)
    except (binascii.Error, ValueError):
        raise InvalidFormat(
            f"the content of {given.path[:200]!r} is no base64", field="base64"
        ) from None
    part = None if given.total is None else FilePart(given.offset, given.total)
    return ImportItem(given.origin, given.path, body, is_document=False, part=part)
