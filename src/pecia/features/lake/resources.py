"""Files as resources: listed by page under stable URIs, read as get_file_text reads them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pecia.features.lake.tools.file_text import PLAIN, part_note, read_for_agent, read_part
from pecia.kernel.corpus.catalog import catalog
from pecia.kernel.corpus.file_uri import (
    REFERENCE_SCHEME,
    SCHEME,
    TEMPLATE,
    FileAddress,
    file_uri,
    parse_file_uri,
    parse_start,
    part_uri,
)
from pecia.kernel.corpus.search import hydrate
from pecia.kernel.errors import InvalidFormat
from pecia.kernel.identity.caller import Scope
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.store import Store, Transaction
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import (
    Completion,
    EmbeddedResource,
    Resource,
    ResourceEntry,
    ResourcePage,
    ResourcePart,
    ResourceTemplate,
)

SQL = load_queries("pecia.features.lake", "resources.sql")
FEATURE = "lake"
PAGE_SIZE = 200
MAX_COMPLETIONS = 100


@dataclass(frozen=True, slots=True)
class FileResources:
    """The handlers."""

    store: Store

    async def list_page(self, call: Call, cursor: str | None) -> ResourcePage:
        after = _decode_cursor(cursor) if cursor else FileAddress("", "")
        async with self.store.reading(call.caller) as tx:
            asked = {"source_id": after.source_id, "key": after.key}
            rows = await tx.fetch_all(SQL["files_after"], **asked, limit=PAGE_SIZE + 1)
        entries = tuple(
            ResourceEntry(
                file_uri(row["source_id"], row["key"]),
                name=row["key"],
                title=row["title"] or None,
                mime_type=row["content_type"],
                size_bytes=row["size_bytes"],
            )
            for row in rows[:PAGE_SIZE]
        )
        return ResourcePage(entries, entries[-1].uri if len(rows) > PAGE_SIZE else None)

    async def list_nothing(self, call: Call, cursor: str | None) -> ResourcePage:
        """Files are listed under one scheme only."""
        return ResourcePage(())

    async def read(self, call: Call, uri: str) -> tuple[EmbeddedResource, ...]:
        address, start = parse_file_uri(uri), parse_start(uri)
        found = await read_part(self.store, call, address.source_id, address.key, start)
        text = EmbeddedResource(uri, found.text, PLAIN)
        return (text, _truncation_notice(uri, start, found)) if found.next_start else (text,)

    async def read_part(self, call: Call, uri: str, start: int, max_tokens: int) -> ResourcePart:
        start = start or parse_start(uri)
        return await read_for_agent(self.store, call, parse_file_uri(uri), start, max_tokens)

    async def complete(
        self, call: Call, name: str, value: str, known: Mapping[str, str]
    ) -> Completion:
        """Completes source ids, and keys once the source is known."""
        async with self.store.reading(call.caller) as tx:
            if name == "source":
                rows = await tx.fetch_all(
                    SQL["sources_beginning"],
                    prefix=value,
                    before=catalog.prefix_upper_bound(value),
                    limit=MAX_COMPLETIONS + 1,
                )
                found = [row["id"] for row in rows]
            else:
                source = known.get("source", "")
                files = (
                    await catalog.list_files(
                        tx, source, after="", limit=MAX_COMPLETIONS + 1, prefix=value
                    )
                    if source
                    else []
                )
                found = [it.key for it in files]
        return Completion(tuple(found[:MAX_COMPLETIONS]), has_more=len(found) > MAX_COMPLETIONS)


def _truncation_notice(uri: str, start: int, found: hydrate.ChunkWindow) -> EmbeddedResource:
    """A notice that the text is cut, under the URI of the next part."""
    assert found.next_start is not None
    after = part_uri(uri, found.next_start)
    notice = f"{part_note(found, start)}\n[Or with resources/read of {after}]"
    return EmbeddedResource(after, notice, PLAIN)


async def load_revisions(tx: Transaction, files: Sequence[FileAddress]) -> dict[FileAddress, int]:
    """The revisions of those files that the caller may see."""
    sources, keys = [it.source_id for it in files], [it.key for it in files]
    rows = await tx.fetch_all(SQL["revisions"], sources=sources, keys=keys)
    return {FileAddress(row["source_id"], row["key"]): row["revision_id"] for row in rows}


def file_resources(store: Store) -> tuple[Resource, ...]:
    """Our scheme, and the reference's, which is read but not listed."""
    it = FileResources(store)
    return (
        Resource(FEATURE, SCHEME, Scope.READ, it.list_page, it.read, read_part=it.read_part),
        Resource(
            FEATURE,
            REFERENCE_SCHEME,
            Scope.READ,
            it.list_nothing,
            it.read,
            read_part=it.read_part,
        ),
    )


def file_template(store: Store) -> ResourceTemplate:
    return ResourceTemplate(
        FEATURE,
        TEMPLATE,
        "file",
        Scope.READ,
        description="The text of a file.",
        mime_type=PLAIN,
        complete=FileResources(store).complete,
    )


def _decode_cursor(cursor: str) -> FileAddress:
    """The last file of the previous page."""
    try:
        return parse_file_uri(cursor)
    except InvalidFormat:
        raise InvalidFormat(
            "this is not a valid cursor",
            field="cursor",
            got=cursor[:100],
            expected="nextCursor of the previous page",
        ) from None
