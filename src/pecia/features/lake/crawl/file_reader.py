"""The files of one place, each fetched and read in a child process, with what is known of it.

Stores nothing. Whatever is wrong with a file is said of it, and costs no other.
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
from pecia.kernel.text.canonical import CanonicalText, Unit, build_canonical_text
from pecia.kernel.text.chunks.chunk import OutlineEntry, TextMarkup

SMALL_FILE_BYTES = 64_000


class ExtractionFacts(Protocol):
    """What reading noticed beside the text."""

    @property
    def content_type(self) -> str: ...
    @property
    def markup(self) -> TextMarkup: ...
    @property
    def language(self) -> str: ...
    @property
    def outline(self) -> tuple[OutlineEntry, ...]: ...


class ExtractorResult(Protocol):
    """What came out of a file. Whatever was wrong with it is in status and reason."""

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
"""Hears how many pages of a long document are read, of how many."""


class Extractor(Protocol):
    """Reads files, each where it can do no harm. Never raises for what a file holds."""

    async def extract(
        self,
        source: Path | bytes,
        *,
        name: str = "",
        content_type: str = "",
        told: PageProgress | None = None,
    ) -> ExtractorResult: ...

    async def extract_together(
        self, files: Sequence[tuple[str, str, bytes]]
    ) -> Sequence[ExtractorResult]:
        """Small files in one go: of each its name, its content type and its bytes."""
        ...


@runtime_checkable
class BulkReader(Protocol):
    """A place that gives several small files at once, which is far cheaper than one by one."""

    async def read_many(self, keys: Sequence[str], most_bytes: int) -> Mapping[str, bytes]:
        """Those that are there and no larger; the others are opened one by one."""
        ...


ReadFileResult: TypeAlias = tuple[FileMetadata, ExtractedText] | None
"""A file with what it says; None when it is gone since it was listed."""

OpenExtractor: TypeAlias = Callable[[], AbstractAsyncContextManager[Extractor]]


@dataclass(frozen=True, slots=True)
class FileReader:
    """The files of one source. `note` hears how many pages of a long one are read, of how many."""

    source_id: str
    most_bytes: int
    connector: Connector
    extractor: Extractor
    on_progress: Callable[[str, int, int], None]

    async def fetch_small(self, batch: Sequence[ListedFile]) -> dict[ListedFile, bytes]:
        """The small files of the batch in one go, where the place can do that."""
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
        """What each of these says; where they cannot be read together, one by one."""
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
                    told=partial(self.on_progress, seen.key),
                )
        except NotFound:
            return None
        except PayloadTooLarge as error:
            return facts, _unread("too_large", _unfetched(error))
        except PeciaError as error:
            # Without a stamp it counts as changed, so that the next crawl tries again.
            return replace(facts, etag=None), _unread("timeout", _unfetched(error))
        return _to_result(facts, read)


def mark_refused(facts: FileMetadata, error: PeciaError) -> tuple[FileMetadata, ExtractedText]:
    """The file without what the store does not accept, and why."""
    rule = error.fields.get("field", "")
    return facts, _unread("unsupported", f"The database does not accept a value of it ({rule}).")


def _to_result(facts: FileMetadata, read: ExtractorResult) -> ReadFileResult:
    facts = replace(facts, content_type=facts.content_type or read.facts.content_type)
    if len(read.text) > texts.MAX_TEXT_CHARS:
        # It would fail the whole batch, again and again.
        reason = (
            f"Its text has {len(read.text)} characters, at most {texts.MAX_TEXT_CHARS} are kept."
        )
        return facts, _unread("too_large", reason)
    return facts, _text(read)


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


def _unfetched(error: PeciaError) -> str:
    return f"It could not be fetched: {error}."
