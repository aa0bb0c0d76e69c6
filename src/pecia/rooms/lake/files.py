"""The files of one place, each fetched and read in a child process, with what is known of it.

Stores nothing. Whatever is wrong with a file is said of it, and costs no other.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Protocol, TypeAlias, runtime_checkable

from pecia.kernel.corpus import texts
from pecia.kernel.corpus.catalog import FileFacts
from pecia.kernel.corpus.connector import Connector, Seen
from pecia.kernel.corpus.texts import Text
from pecia.kernel.errors import NotFound, PayloadTooLarge, PeciaError
from pecia.kernel.text.canonical import CanonicalText, Unit, canonical_text
from pecia.kernel.text.chunk import Markup, OutlineEntry

SMALL = 64_000


class Noticed(Protocol):
    """What reading noticed beside the text."""

    @property
    def content_type(self) -> str: ...
    @property
    def markup(self) -> Markup: ...
    @property
    def language(self) -> str: ...
    @property
    def outline(self) -> tuple[OutlineEntry, ...]: ...


class Read(Protocol):
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
    def facts(self) -> Noticed: ...
    @property
    def status(self) -> str: ...
    @property
    def reason(self) -> str: ...
    @property
    def extractor(self) -> str: ...
    @property
    def version(self) -> str: ...


Told: TypeAlias = Callable[[int, int], None]
"""Hears how many pages of a long document are read, of how many."""


class Extractor(Protocol):
    """Reads files, each where it can do no harm. Never raises for what a file holds."""

    async def extract(
        self,
        source: Path | bytes,
        *,
        name: str = "",
        content_type: str = "",
        told: Told | None = None,
    ) -> Read: ...

    async def extract_together(self, files: Sequence[tuple[str, str, bytes]]) -> Sequence[Read]:
        """Small files in one go: of each its name, its content type and its bytes."""
        ...


@runtime_checkable
class Handing(Protocol):
    """A place that gives several small files at once, which is far cheaper than one by one."""

    async def handful(self, keys: Sequence[str], most_bytes: int) -> Mapping[str, bytes]:
        """Those that are there and no larger; the others are opened one by one."""
        ...


Found: TypeAlias = tuple[FileFacts, Text] | None
"""A file with what it says; None when it is gone since it was listed."""

Extraction: TypeAlias = Callable[[], AbstractAsyncContextManager[Extractor]]


@dataclass(frozen=True, slots=True)
class Files:
    """The files of one source. `note` hears how many pages of a long one are read, of how many."""

    source_id: str
    most_bytes: int
    connector: Connector
    extractor: Extractor
    note: Callable[[str, int, int], None]

    async def fetch_small(self, batch: Sequence[Seen]) -> dict[Seen, bytes]:
        """The small files of the batch in one go, where the place can do that."""
        if not isinstance(self.connector, Handing):
            return {}
        small = {it.key: it for it in batch if it.size_bytes is not None and it.size_bytes <= SMALL}
        found = await self.connector.handful([*small], min(SMALL, self.most_bytes))
        return {small[key]: data for key, data in found.items()}

    async def read_together(self, files: Mapping[Seen, bytes]) -> dict[Seen, Found]:
        """What each of these says; where they cannot be read together, one by one."""
        asked = [(seen.key, seen.content_type or "", data) for seen, data in files.items()]
        try:
            reads = await self.extractor.extract_together(asked)
        except PeciaError:
            return {seen: await self.read(seen) for seen in files}
        found = zip(files, reads, strict=True)
        return {seen: _found(_facts(self.source_id, seen), read) for seen, read in found}

    async def read(self, seen: Seen) -> Found:
        facts = _facts(self.source_id, seen)
        try:
            async with self.connector.opening(seen.key, self.most_bytes) as original:
                read = await self.extractor.extract(
                    original.path,
                    name=seen.key,
                    content_type=original.content_type or seen.content_type or "",
                    told=partial(self.note, seen.key),
                )
        except NotFound:
            return None
        except PayloadTooLarge as error:
            return facts, _unread("too_large", _unfetched(error))
        except PeciaError as error:
            # Without a stamp it counts as changed, so that the next crawl tries again.
            return replace(facts, etag=None), _unread("timeout", _unfetched(error))
        return _found(facts, read)


def refused(facts: FileFacts, error: PeciaError) -> tuple[FileFacts, Text]:
    """The file without what the store does not accept, and why."""
    rule = error.fields.get("field", "")
    return facts, _unread("unsupported", f"The database does not accept a value of it ({rule}).")


def _found(facts: FileFacts, read: Read) -> Found:
    facts = replace(facts, content_type=facts.content_type or read.facts.content_type)
    if len(read.text) > texts.LONGEST_TEXT:
        # It would fail the whole batch, again and again.
        reason = f"Its text has {len(read.text)} characters, at most {texts.LONGEST_TEXT} are kept."
        return facts, _unread("too_large", reason)
    return facts, _text(read)


def _facts(source_id: str, seen: Seen) -> FileFacts:
    return FileFacts(
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


def _text(read: Read) -> Text:
    return Text(
        CanonicalText(read.text, read.units, read.sha256),
        title=read.title,
        language=read.facts.language,
        markup=read.facts.markup,
        outline=read.facts.outline,
        extractor=f"{read.extractor} {read.version}",
        status=str(read.status),
        reason=read.reason,
    )


def _unread(status: str, reason: str) -> Text:
    return Text(canonical_text(()), status=status, reason=reason)


def _unfetched(error: PeciaError) -> str:
    return f"It could not be fetched: {error}."
