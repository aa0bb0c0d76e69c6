"""The rows of documents in the catalog while a writer moves or removes their files.

The lake crawls the same folder and takes no lock of ours: it removes the row of a file that is
missing when it looks, and puts one where it finds a file. So rows change before files do, and a row
that is missing is no reason to refuse a change of a file that is there.
"""

from collections.abc import Sequence
from contextlib import suppress
from uuid import UUID

from anyio.to_thread import run_sync

from pecia.features.wiki.core.document import CONTENT_TYPE
from pecia.features.wiki.core.names import split_extension
from pecia.features.wiki.parse import parse_document
from pecia.features.wiki.storage import disk
from pecia.features.wiki.store import SQL, SpaceLocation
from pecia.kernel.corpus.catalog import texts
from pecia.kernel.corpus.catalog.catalog import FileMetadata
from pecia.kernel.errors import NotFound, PayloadTooLarge
from pecia.kernel.store.store import Transaction
from pecia.kernel.text.canonical import normalize


async def move_rows(
    tx: Transaction,
    place: SpaceLocation,
    documents: Sequence[tuple[str, str]],
    tenant_id: UUID | None,
) -> None:
    """Give rows the new paths of their documents, whose files are still where they were."""
    keys = [(place.key(old), place.key(new)) for old, new in documents]
    await tx.execute(
        SQL["drop_stale_rows"],
        source_id=place.source_id,
        tenant_id=tenant_id,
        old=[it for it, _ in keys],
        new=[it for _, it in keys],
    )
    for (key, to), (path, new) in zip(keys, documents, strict=True):
        try:
            await texts.move(tx, place.source_id, key, to, tenant_id=tenant_id)
        except NotFound:
            # Put and moved, not put at its new place: suggestions follow the row.
            await _put_row(tx, place, path, path, tenant_id)
            await texts.move(tx, place.source_id, key, to, tenant_id=tenant_id)
        if _leaf(path) != _leaf(new):
            await _retitle(tx, place, (path, new), tenant_id)


async def _retitle(
    tx: Transaction, place: SpaceLocation, renamed: tuple[str, str], tenant_id: UUID | None
) -> None:
    """A document without a title of its own is called by its name, so by its new one now."""
    path, new = renamed
    row = {"source_id": place.source_id, "key": place.key(new), "tenant_id": tenant_id}
    if await tx.fetch_value(SQL["row_title"], **row) == normalize(_leaf(path)):
        await _put_row(tx, place, path, new, tenant_id)


async def _put_row(
    tx: Transaction, place: SpaceLocation, path: str, name: str, tenant_id: UUID | None
) -> None:
    """Store the text of a file, as a document of that path."""
    try:
        body, stamp = await run_sync(disk.read_with_stamp, place.root, path)
    except PayloadTooLarge:
        # The lake lists it with that reason.
        facts = FileMetadata(place.source_id, place.key(name), content_type=CONTENT_TYPE)
        await texts.put(tx, facts, None, tenant_id=tenant_id)
        return
    parsed = await parse_document(place, name, body, stamp)
    await texts.put(tx, parsed.facts, parsed.text, tenant_id=tenant_id)


def _leaf(path: str) -> str:
    return split_extension(path)[0].rpartition("/")[2]


async def remove_row(
    tx: Transaction, place: SpaceLocation, path: str, tenant_id: UUID | None
) -> None:
    """Remove the row of a file, if the lake has read it and has not removed it already."""
    with suppress(NotFound):
        await texts.remove(tx, place.source_id, place.key(path), tenant_id=tenant_id)
