"""Files as resources: listed by page under stable URIs, read as get_file_text reads them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pecia.kernel.corpus import catalog, windows
from pecia.kernel.errors import InvalidFormat
from pecia.kernel.identity.caller import Scope
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.store import Store
from pecia.kernel.store.transaction import Transaction
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import (
    Completion,
    Embedded,
    Page,
    Resource,
    ResourceEntry,
    ResourceTemplate,
)
from pecia.rooms.lake.reading import MOST_CHUNKS, PLAIN
from pecia.rooms.lake.uri import (
    REFERENCE_SCHEME,
    SCHEME,
    TEMPLATE,
    FileAddress,
    file_uri,
    part_uri,
    read_start,
    read_uri,
)

SQL = load_queries("pecia.rooms.lake", "resources.sql")
ROOM = "lake"
PAGE = 200
SUGGESTED = 100


@dataclass(frozen=True, slots=True)
class FileShelf:
    """The handlers."""

    store: Store

    async def listing(self, call: Call, cursor: str | None) -> Page:
        after = _opened(cursor) if cursor else FileAddress("", "")
        async with self.store.reading(call.caller) as tx:
            asked = {"source_id": after.source_id, "key": after.key}
            rows = await tx.all(SQL["files_after"], **asked, limit=PAGE + 1)
        entries = tuple(
            ResourceEntry(
                file_uri(row["source_id"], row["key"]),
                name=row["key"],
                title=row["title"] or None,
                mime_type=row["content_type"],
                size_bytes=row["size_bytes"],
            )
            for row in rows[:PAGE]
        )
        return Page(entries, entries[-1].uri if len(rows) > PAGE else None)

    async def nothing(self, call: Call, cursor: str | None) -> Page:
        """Files are listed under one scheme only."""
        return Page(())

    async def read(self, call: Call, uri: str) -> tuple[Embedded, ...]:
        address, start = read_uri(uri), read_start(uri)
        async with self.store.reading(call.caller) as tx:
            found = await windows.read_file(
                tx, address.source_id, address.key, MOST_CHUNKS, start=start
            )
        call.returned(found.source_id, [found.key])
        text = Embedded(uri, found.text, PLAIN)
        return (text, _mark(uri, start, found)) if found.next_start else (text,)

    async def complete(
        self, call: Call, name: str, value: str, known: Mapping[str, str]
    ) -> Completion:
        """Sources by their beginning; keys by theirs, once the source is known."""
        async with self.store.reading(call.caller) as tx:
            if name == "source":
                rows = await tx.all(
                    SQL["sources_beginning"],
                    prefix=value,
                    before=catalog.key_after(value),
                    limit=SUGGESTED + 1,
                )
                found = [row["id"] for row in rows]
            else:
                source = known.get("source", "")
                files = (
                    await catalog.list_files(
                        tx, source, after="", limit=SUGGESTED + 1, prefix=value
                    )
                    if source
                    else []
                )
                found = [it.key for it in files]
        return Completion(tuple(found[:SUGGESTED]), has_more=len(found) > SUGGESTED)


def _mark(uri: str, start: int, found: windows.Window) -> Embedded:
    """Says that the text is cut, under the address of what follows."""
    assert found.next_start is not None
    after = part_uri(uri, found.next_start)
    said = (
        f"[Cut: chunks {start} to {found.next_start - 1} of {found.chunk_count}. "
        f"Go on with resources/read of {after}]"
    )
    return Embedded(after, said, PLAIN)


async def revisions(tx: Transaction, files: Sequence[FileAddress]) -> dict[FileAddress, int]:
    """The revision of each of these that the caller may see."""
    sources, keys = [it.source_id for it in files], [it.key for it in files]
    rows = await tx.all(SQL["revisions"], sources=sources, keys=keys)
    return {FileAddress(row["source_id"], row["key"]): row["revision_id"] for row in rows}


def file_resources(store: Store) -> tuple[Resource, ...]:
    """Ours, and the reference's scheme, which is read and not listed."""
    it = FileShelf(store)
    return (
        Resource(ROOM, SCHEME, Scope.READ, it.listing, it.read),
        Resource(ROOM, REFERENCE_SCHEME, Scope.READ, it.nothing, it.read),
    )


def file_template(store: Store) -> ResourceTemplate:
    return ResourceTemplate(
        ROOM,
        TEMPLATE,
        "file",
        Scope.READ,
        description="The text of a file.",
        mime_type=PLAIN,
        complete=FileShelf(store).complete,
    )


def _opened(cursor: str) -> FileAddress:
    """The file that a page ended with."""
    try:
        return read_uri(cursor)
    except InvalidFormat:
        raise InvalidFormat(
            "this cursor is none of ours",
            field="cursor",
            got=cursor[:100],
            expected="nextCursor of the page before",
        ) from None
