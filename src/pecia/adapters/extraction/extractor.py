"""The entry point of extraction: a file in, its canonical text with locators out, or a reason.

No file is parsed in this process. Child processes do that, under limits.
"""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeAlias

import anyio
import anyio.to_thread

from pecia.adapters.extraction.assemble import ExtractionBuilder, assemble
from pecia.adapters.extraction.child_process import ExtractionJob
from pecia.adapters.extraction.model import ExtractedDocument, ExtractionLimits
from pecia.adapters.extraction.pool import ExtractorPool
from pecia.adapters.extraction.source_file import OpenSourceFile, SourceRefusal, open_source
from pecia.adapters.extraction.status import Confinement, ExtractionStatus
from pecia.adapters.extraction.wire import MAX_NAME_CHARS, MAX_REQUESTS, About, Ending, ReadRequest
from pecia.kernel.text.canonical import RawUnit

# A text this small is put together faster than a thread is asked to.
_BATCH_CHARS = 100_000
# A page that hangs or kills its reader is given up; the pages after it are not.
_RESUMABLE = frozenset({ExtractionStatus.OK, ExtractionStatus.TIMEOUT, ExtractionStatus.CRASHED})


# In a batch these are inconclusive: another file may have used up the limits.
_RETRIED_ALONE = frozenset(
    {ExtractionStatus.TOO_LARGE, ExtractionStatus.TIMEOUT, ExtractionStatus.CRASHED}
)

PageProgress: TypeAlias = Callable[[int, int], None]
NamedBytes: TypeAlias = tuple[str, str, bytes]
"""The name of a file, its content type if it has one, and its bytes."""


@asynccontextmanager
async def open_extractor(limits: ExtractionLimits | None = None) -> AsyncGenerator["FileExtractor"]:
    """An extractor with its children, which end with it."""
    pool = ExtractorPool(limits or ExtractionLimits())
    try:
        yield FileExtractor(pool, limits or ExtractionLimits())
    finally:
        await pool.close()


class FileExtractor:
    def __init__(self, pool: ExtractorPool, limits: ExtractionLimits) -> None:
        self._pool = pool
        self._limits = limits

    @property
    def confinement(self) -> Confinement | None:
        """The sandbox of the children; not known before the first file."""
        return self._pool.confinement

    async def extract(
        self,
        source: Path | bytes,
        *,
        name: str = "",
        content_type: str = "",
        on_page: PageProgress | None = None,
    ) -> ExtractedDocument:
        """The text of a file, however bad it is. Raises only when no file can be read at all.

        `on_page` gets the progress of a paged document: pages done, and pages in all.
        """
        known_as = name or (source.name if isinstance(source, Path) else "")
        gathering = ExtractionBuilder(chars_left=self._limits.text_chars)
        opened = await _open_source(source, self._limits.file_bytes)
        if isinstance(opened, SourceRefusal):
            ending = Ending(opened.status, opened.reason)
        else:
            with opened:
                asked = _OpenRequest(opened.descriptor, known_as, content_type, on_page)
                ending = await self._read_ranges(asked, gathering)
                if opened.has_changed():
                    gathering.notes.append("The file changed while it was read.")
        return await self._assemble(gathering, ending)

    async def extract_together(self, files: Sequence[NamedBytes]) -> list[ExtractedDocument]:
        """The same for small files, in one batch for one child.

        A file that fails is read again alone, so that it costs no other.
        """
        found: list[ExtractedDocument] = []
        for start in range(0, len(files), MAX_REQUESTS):
            some = files[start : start + MAX_REQUESTS]
            for named, read in zip(some, await self._extract_batch(some), strict=True):
                found.append(read or await self._extract_one(*named))
        return found

    async def _extract_one(self, name: str, content_type: str, data: bytes) -> ExtractedDocument:
        return await self.extract(data, name=name, content_type=content_type)

    async def _extract_batch(self, files: Sequence[NamedBytes]) -> list[ExtractedDocument | None]:
        """What came out of each; None for one that must be read alone."""
        letters = self._limits.text_chars
        found: list[ExtractedDocument | None] = [None] * len(files)
        gatherings = [ExtractionBuilder(chars_left=letters) for _ in files]
        with ExitStack() as stack:
            wanted: list[ExtractionJob] = []
            for (name, content_type, data), gathering in zip(files, gatherings, strict=True):
                opened = open_source(data, self._limits.file_bytes)
                if isinstance(opened, SourceRefusal):
                    return found
                order = self._request(name, content_type, gathering)
                wanted.append(
                    ExtractionJob(order, stack.enter_context(opened).descriptor, gathering.add)
                )
            endings = await self._pool.read_many(wanted, letters)
        for number, (gathering, ending) in enumerate(zip(gatherings, endings, strict=False)):
            gathering.close_range(ending)
            if ending.status not in _RETRIED_ALONE and gathering.is_whole:
                found[number] = await self._assemble(gathering, ending)
        return found

    async def _assemble(self, gathering: ExtractionBuilder, ending: Ending) -> ExtractedDocument:
        if self._limits.text_chars - gathering.chars_left < _BATCH_CHARS:
            return assemble(gathering, ending)
        return await anyio.to_thread.run_sync(assemble, gathering, ending)

    def _request(self, name: str, content_type: str, gathering: ExtractionBuilder) -> ReadRequest:
        return ReadRequest(
            name[-MAX_NAME_CHARS:],
            content_type[:MAX_NAME_CHARS],
            gathering.next_no,
            self._limits.units_at_once,
            self._limits.cpu_s,
        )

    async def _read_ranges(self, asked: "_OpenRequest", gathering: ExtractionBuilder) -> Ending:
        """Range after range, until the last page is read or there is no use in going on."""
        limits = self._limits
        with anyio.move_on_after(limits.file_s):
            while True:
                order = self._request(asked.name, asked.content_type, gathering)
                hear = partial(_take_message, gathering, asked.on_page)
                ending = await self._pool.read(order, asked.descriptor, hear, gathering.chars_left)
                gathering.close_range(ending)
                if not self._should_continue(gathering, order.first, ending):
                    return _final_ending(gathering, ending)
        return Ending(
            ExtractionStatus.TIMEOUT, f"It was not read within {limits.file_s:g} seconds."
        )

    def _should_continue(self, gathering: ExtractionBuilder, first: int, ending: Ending) -> bool:
        """Whether to ask for more, after giving up the unit that let nothing come."""
        if gathering.is_whole or ending.status not in _RESUMABLE:
            return False
        if gathering.next_no > first:
            return True
        if (
            ending.status is ExtractionStatus.OK
            or len(gathering.skipped) == self._limits.lost_units
        ):
            return False
        gathering.skip_next(ending)
        return not gathering.is_whole


@dataclass(frozen=True, slots=True)
class _OpenRequest:
    descriptor: int
    name: str
    content_type: str
    on_page: PageProgress | None


def _take_message(
    gathering: ExtractionBuilder, on_page: PageProgress | None, message: About | RawUnit
) -> None:
    gathering.add(message)
    if on_page and gathering.about and gathering.about.has_ranges:
        on_page(gathering.next_no - 1, gathering.about.unit_count)


async def _open_source(source: Path | bytes, file_bytes: int) -> OpenSourceFile | SourceRefusal:
    if isinstance(source, bytes) and len(source) < _BATCH_CHARS:
        return open_source(source, file_bytes)
    return await anyio.to_thread.run_sync(open_source, source, file_bytes)


def _final_ending(gathering: ExtractionBuilder, ending: Ending) -> Ending:
    """A document is read when all its pages were, or were given up one by one."""
    if gathering.skipped and gathering.units and gathering.is_whole:
        return Ending(ExtractionStatus.OK, "It was read.")
    return ending
