"""Fetches and extracts the files of one source, each in a child process.

Stores nothing. An error in one file is recorded for that file, and affects no other.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Protocol, TypeAlias, runtime_checkable

from pecia.kernel.corpus.catalog import texts
from pecia.kernel.corpus.catalog.catalog import FileMetadata
from pecia.kernel.corpus.catalog.texts import ExtractedText
from pecia.kernel.corpus.connector import Connector, ListedFile
from pecia.kernel.errors import NotFound, PayloadTooLarge, PeciaError
from pecia.kernel.text.canonical import CanonicalText, Unit, build_canonical_text, hash_text
from pecia.kernel.text.chunks.chunk import OutlineEntry, TextMarkup
from pecia.kernel.text.span import Span

SMALL_FILE_BYTES = 64_000
_LAST_LINE_CHARS = 2_000


class ExtractionFacts(Protocol):
    """What extraction found beside the text."""

    @property
    def content_type(self) -> str: ...
    @property
    def markup(self) -> TextMarkup: ...
    @property
    def language(self) -> str: ...
    @property
    def outline(self) -> tuple[OutlineEntry, ...]: ...


class ExtractorResult(Protocol):
    """The result for one file. Errors are in status and reason."""

    @property
    def text(self) -> str: ...
    @property
    def units(self) -> tuple[Unit, ...]: ...
    @property
    def sha256(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def facts(self) -> ExtractionFacts: ...
    @property
    def status(self) -> str: ...
    @property
    def reason(self) -> str: ...
    @property
    def extractor(self) -> str: ...
    @property
    def version(self) -> str: ...


PageProgress: TypeAlias = Callable[[int, int], None]
"""Receives the pages read of a long document, and their total."""


class Extractor(Protocol):
    """Extracts text, isolated from this process. Never raises because of a file's content."""

    async def extract(
        self,
        source: Path | bytes,
        *,
        name: str = "",
        content_type: str = "",
        on_page: PageProgress | None = None,
    ) -> ExtractorResult: ...

    async def extract_together(
        self, files: Sequence[tuple[str, str, bytes]]
    ) -> Sequence[ExtractorResult]:
        """A batch of small files: the name, content type and bytes of each."""
        ...


@runtime_checkable
class BulkReader(Protocol):
    """A connector that returns several small files at once, far cheaper than one by one."""

    async def read_many(self, keys: Sequence[str], most_bytes: int) -> Mapping[str, bytes]:
        """The files that exist and are within the limit; the others are opened one by one."""
        ...


ReadFileResult: TypeAlias = tuple[FileMetadata, ExtractedText] | None
"""A file with its text; None if it has disappeared since it was listed."""

OpenExtractor: TypeAlias = Callable[[], AbstractAsyncContextManager[Extractor]]


@dataclass(frozen=True, slots=True)
class FileReader:
    """The files of one source. `note` receives the pages read of a long one, and their total."""

    source_id: str
    most_bytes: int
    connector: Connector
    extractor: Extractor
    on_progress: Callable[[str, int, int], None]

    async def fetch_small(self, batch: Sequence[ListedFile]) -> dict[ListedFile, bytes]:
        """The small files of the batch in one request, if the connector supports it."""
        if not isinstance(self.connector, BulkReader):
            return {}
        small = {
            it.key: it
            for it in batch
            if it.size_bytes is not None and it.size_bytes <= SMALL_FILE_BYTES
        }
        found = await self.connector.read_many([*small], min(SMALL_FILE_BYTES, self.most_bytes))
        return {small[key]: data for key, data in found.items()}

    async def read_many(
        self, files: Mapping[ListedFile, bytes]
    ) -> dict[ListedFile, ReadFileResult]:
        """The text of each; one by one where they cannot be extracted together."""
        asked = [(seen.key, seen.content_type or "", data) for seen, data in files.items()]
        try:
            reads = await self.extractor.extract_together(asked)
        except PeciaError:
            return {seen: await self.read(seen) for seen in files}
        found = zip(files, reads, strict=True)
        return {seen: _to_result(_facts(self.source_id, seen), read) for seen, read in found}

    async def read(self, seen: ListedFile) -> ReadFileResult:
        facts = _facts(self.source_id, seen)
        try:
            async with self.connector.opening(seen.key, self.most_bytes) as original:
                read = await self.extractor.extract(
                    original.path,
                    name=seen.key,
                    content_type=original.content_type or seen.content_type or "",
                    on_page=partial(self.on_progress, seen.key),
                )
        except NotFound:
            return None
        except PayloadTooLarge as error:
            return facts, _unread("too_large", _describe_fetch_error(error))
        except PeciaError as error:
            # Without a stamp it counts as changed, so the next crawl retries it.
            return replace(facts, etag=None), _unread("timeout", _describe_fetch_error(error))
        return _to_result(facts, read)


def mark_refused(facts: FileMetadata, error: PeciaError) -> tuple[FileMetadata, ExtractedText]:
    """The file without the value that the database refused, and why."""
    rule = error.fields.get("field", "")
    return facts, _unread("unsupported", f"The database does not accept a value of it ({rule}).")


def _to_result(facts: FileMetadata, read: ExtractorResult) -> ReadFileResult:
    facts = replace(facts, content_type=facts.content_type or read.facts.content_type)
    # More would fail the whole batch, on every retry.
    is_long = len(read.text) > texts.MAX_TEXT_CHARS
    return facts, _first_part(read) if is_long else _text(read)


def _first_part(read: ExtractorResult) -> ExtractedText:
    """As much as the store holds, up to the end of a line, and a reason that says so."""
    limit = texts.MAX_TEXT_CHARS
    end = read.text.rfind("\n", limit - _LAST_LINE_CHARS, limit) + 1 or limit
    text = read.text[:end]
    units = tuple(
        replace(it, span=Span(it.span.start, min(it.span.end, end)))
        for it in read.units
        if it.span.start < end
    )
    return replace(
        _text(read),
        canonical=CanonicalText(text, units, hash_text(text)),
        outline=tuple(it for it in read.facts.outline if it.start < end),
        status="too_large",
        reason=f"Its text has {len(read.text):,} characters; the first {end:,} are kept.",
    )


def _facts(source_id: str, seen: ListedFile) -> FileMetadata:
    return FileMetadata(
        source_id,
        seen.key,
        size_bytes=seen.size_bytes,
        modified_at=seen.modified_at,
        etag=seen.stamp,
        content_type=seen.content_type,
        storage_class=seen.storage_class,
        owner=seen.owner,
        posix_mode=seen.posix.mode if seen.posix else None,
        posix_uid=seen.posix.uid if seen.posix else None,
        posix_gid=seen.posix.gid if seen.posix else None,
    )


def _text(read: ExtractorResult) -> ExtractedText:
    return ExtractedText(
        CanonicalText(read.text, read.units, read.sha256),
        title=read.title,
        language=read.facts.language,
        markup=read.facts.markup,
        outline=read.facts.outline,
        extractor=f"{read.extractor} {read.version}",
        status=str(read.status),
        reason=read.reason,
    )


def _unread(status: str, reason: str) -> ExtractedText:
    return ExtractedText(build_canonical_text(()), status=status, reason=reason)


def _describe_fetch_error(error: PeciaError) -> str:
    return f"It could not be fetched: {error}."
