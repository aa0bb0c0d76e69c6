"""Parses documents where a hostile one can be killed: large ones in compute workers.

Untrusted YAML and Markdown may take long for their size, and a thread cannot be stopped. Small
documents are parsed inline: cheaper than a round trip to a worker.
"""

from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeAlias
from uuid import UUID

import anyio
from anyio.streams.memory import MemoryObjectSendStream
from anyio.to_thread import run_sync

from pecia.features.wiki.core.document import (
    decode_any_charset,
    document_facts,
    extract_document,
    with_title,
)
from pecia.features.wiki.core.metadata import DocumentMetadata, parse_metadata
from pecia.features.wiki.storage.disk import FileStamp
from pecia.features.wiki.store import SpaceLocation
from pecia.kernel.compute.pool import compute
from pecia.kernel.compute.worker import ComputeLimits
from pecia.kernel.corpus.catalog.catalog import FileMetadata
from pecia.kernel.corpus.catalog.texts import ExtractedText, with_chunks
from pecia.kernel.errors import PayloadTooLarge, PeciaError, Unavailable
from pecia.kernel.text.canonical import build_canonical_text

MAX_INLINE_BYTES = 8_000
MAX_WHOLE_BYTES = 1_000_000
BATCH_DOCUMENTS = 250
"""Of many documents: enough for a statement to be cheap, few enough that none waits for all."""
PARSE_TIMEOUT_S = 30.0
"""For one document in the background. A call's own deadline may be shorter."""


ParsedBody: TypeAlias = tuple[ExtractedText, DocumentMetadata | None]
ParseOne: TypeAlias = Callable[[str, bytes], Awaitable[ParsedBody]]
"""A document by its path and body."""


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """A document for the corpus, and its metadata; None where it could not be parsed."""

    facts: FileMetadata
    text: ExtractedText
    metadata: DocumentMetadata | None = None


async def parse_document(
    place: SpaceLocation, path: str, body: bytes, stamp: FileStamp
) -> ParsedDocument:
    """On timeout it is stored as unread, with the reason."""
    text, metadata = await parse_body(place, path, body)
    return ParsedDocument(document_facts(place.source_id, place.key(path), stamp), text, metadata)


async def parse_body(place: SpaceLocation, path: str, body: bytes) -> ParsedBody:
    """The same of a text that is not a file yet."""
    key = place.key(path)
    if _is_inline(body):
        return extract_document(key, body)
    try:
        with anyio.fail_after(PARSE_TIMEOUT_S):
            if len(body) > MAX_WHOLE_BYTES:
                return await _parse_in_two(place.tenant_id, key, body)
            return await compute(place.tenant_id, _cut_document, key, body)
    except TimeoutError:
        reason = f"It was not parsed within {PARSE_TIMEOUT_S:g} seconds."
        return _unparsed_text("timeout", reason), None
    except (PayloadTooLarge, Unavailable) as error:
        return _unparsed_text("crashed", error.message), None


@asynccontextmanager
async def parse_ahead(
    place: SpaceLocation, bodies: Mapping[str, bytes], parse: ParseOne
) -> AsyncGenerator[AsyncIterable[Mapping[str, ParsedBody]]]:
    """Many documents in batches, parsed and cut while the caller does something else: a rename
    writes a thousand files meanwhile, and stores one batch while the next is cut. `parse` is for
    the large ones."""
    send, receive = anyio.create_memory_object_stream[Mapping[str, ParsedBody]](len(bodies))
    failure: Exception | None = None
    async with anyio.create_task_group() as tasks, receive:
        tasks.start_soon(_parse_batches, place, bodies, parse, send)
        try:
            yield receive
        except Exception as error:  # noqa: BLE001 - raised below: not as a group of this task's
            failure = error
        tasks.cancel_scope.cancel()
    if failure is not None:
        raise failure


async def _parse_batches(
    place: SpaceLocation,
    bodies: Mapping[str, bytes],
    parse: ParseOne,
    send: MemoryObjectSendStream[Mapping[str, ParsedBody]],
) -> None:
    async with send:
        paths = [*bodies]
        for start in range(0, len(paths), BATCH_DOCUMENTS):
            batch = {it: bodies[it] for it in paths[start : start + BATCH_DOCUMENTS]}
            keys = {it: place.key(it) for it, body in batch.items() if _is_inline(body)}
            found = await run_sync(_cut_all, {keys[it]: batch[it] for it in keys})
            parsed = {path: found[keys[path]] for path in keys}
            large = {it: body for it, body in batch.items() if it not in keys}
            await send.send(parsed | await _parse_large(large, parse))


async def _parse_large(bodies: Mapping[str, bytes], parse: ParseOne) -> dict[str, ParsedBody]:
    """By as many workers as one tenant may have: whoever waits for the write waits for all."""
    found: dict[str, ParsedBody] = {}
    slots = anyio.CapacityLimiter(ComputeLimits().share)

    async def parse_one(path: str, body: bytes) -> None:
        async with slots:
            found[path] = await parse(path, body)

    async with anyio.create_task_group() as tasks:
        for path, body in bodies.items():
            tasks.start_soon(parse_one, path, body)
    return found


def _cut_all(bodies: Mapping[str, bytes]) -> dict[str, ParsedBody]:
    return {key: _cut_document(key, body) for key, body in bodies.items()}


def _is_inline(body: bytes) -> bool:
    return len(body) <= MAX_INLINE_BYTES


async def parse_large_metadata(
    tenant_id: UUID, bodies: Mapping[str, bytes]
) -> dict[str, DocumentMetadata]:
    """The metadata of large documents, by path."""
    found: dict[str, DocumentMetadata] = {}
    for path, body in bodies.items():
        try:
            with anyio.fail_after(PARSE_TIMEOUT_S):
                found[path] = await compute(tenant_id, decode_metadata, body)
        except TimeoutError:
            found[path] = DocumentMetadata(
                problem=f"it was not parsed within {PARSE_TIMEOUT_S:g} seconds"
            )
        except (PayloadTooLarge, Unavailable) as error:
            found[path] = DocumentMetadata(problem=error.message)
    return found


async def _parse_in_two(
    tenant_id: UUID, key: str, body: bytes
) -> tuple[ExtractedText, DocumentMetadata]:
    """The same as `_cut_document`, by two workers at once: of a very large document the chunks take
    as long as its links."""
    cut: list[ExtractedText] = []
    parsed: list[DocumentMetadata] = []

    async def cut_text() -> None:
        cut.append(await compute(tenant_id, _cut_text, key, body))

    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(cut_text)
            parsed.append(await compute(tenant_id, decode_metadata, body))
    except* PeciaError as failed:
        raise _first_error(failed) from None
    return with_title(cut[0], key, parsed[0]), parsed[0]


def _first_error(group: BaseExceptionGroup[PeciaError]) -> PeciaError:
    first = group.exceptions[0]
    return _first_error(first) if isinstance(first, BaseExceptionGroup) else first


def decode_metadata(body: bytes) -> DocumentMetadata:
    text = decode_any_charset(body)
    return parse_metadata(text) if text is not None else DocumentMetadata()


def _cut_document(key: str, body: bytes) -> tuple[ExtractedText, DocumentMetadata]:
    text, metadata = extract_document(key, body)
    return with_chunks(text), metadata


def _cut_text(key: str, body: bytes) -> ExtractedText:
    return with_chunks(extract_document(key, body, DocumentMetadata())[0])


def _unparsed_text(status: str, reason: str) -> ExtractedText:
    return ExtractedText(build_canonical_text(()), status=status, reason=reason)
