"""The door to extraction: a file in, its canonical text with locators out, or the reason why not.

Nothing of a file is parsed in this process. The children do that, under limits.
"""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeAlias

import anyio
import anyio.to_thread

from pecia.adapters.extract.gathering import Gathering, assemble
from pecia.adapters.extract.model import Extracted, Limits
from pecia.adapters.extract.opening import Opened, Refusal, open_source
from pecia.adapters.extract.pool import Pool
from pecia.adapters.extract.process import Wanted
from pecia.adapters.extract.status import Confinement, Status
from pecia.adapters.extract.wire import NAME_LETTERS, ORDERS, About, Ending, Order
from pecia.kernel.text.canonical import RawUnit

# A text this small is put together faster than a thread is asked to.
_SMALL_LETTERS = 100_000
# A page that hangs or kills its reader is given up; the pages after it are not.
_RESUMED = frozenset({Status.OK, Status.TIMEOUT, Status.CRASHED})


# Of one among others these say nothing certain: another may have used up what there was.
_DOUBTFUL = frozenset({Status.TOO_LARGE, Status.TIMEOUT, Status.CRASHED})

Told: TypeAlias = Callable[[int, int], None]
Named: TypeAlias = tuple[str, str, bytes]
"""The name of a file, its content type if it has one, and its bytes."""


@asynccontextmanager
async def open_extractor(limits: Limits | None = None) -> AsyncGenerator["Extractor"]:
    """An extractor with its children, which end with it."""
    pool = Pool(limits or Limits())
    try:
        yield Extractor(pool, limits or Limits())
    finally:
        await pool.close()


class Extractor:
    def __init__(self, pool: Pool, limits: Limits) -> None:
        self._pool = pool
        self._limits = limits

    @property
    def confinement(self) -> Confinement | None:
        """The walls around the children; not known before the first file."""
        return self._pool.confinement

    async def extract(
        self,
        source: Path | bytes,
        *,
        name: str = "",
        content_type: str = "",
        told: Told | None = None,
    ) -> Extracted:
        """The text of a file, however bad it is. Raises only when no file can be read at all.

        `told` hears of a document that is read page by page: pages done, and pages in all.
        """
        known_as = name or (source.name if isinstance(source, Path) else "")
        gathering = Gathering(letters_left=self._limits.text_letters)
        opened = await _opened(source, self._limits.file_bytes)
        if isinstance(opened, Refusal):
            ending = Ending(opened.status, opened.reason)
        else:
            with opened:
                asked = _Asked(opened.descriptor, known_as, content_type, told)
                ending = await self._read(asked, gathering)
                if opened.has_changed():
                    gathering.notes.append("The file changed while it was read.")
        return await self._assembled(gathering, ending)

    async def extract_together(self, files: Sequence[Named]) -> list[Extracted]:
        """The same for small files, in one go: a child is asked once for many of them.

        What goes wrong with one is found out by reading it again alone, and costs no other.
        """
        found: list[Extracted] = []
        for start in range(0, len(files), ORDERS):
            some = files[start : start + ORDERS]
            for named, read in zip(some, await self._bundle(some), strict=True):
                found.append(read or await self._alone(*named))
        return found

    async def _alone(self, name: str, content_type: str, data: bytes) -> Extracted:
        return await self.extract(data, name=name, content_type=content_type)

    async def _bundle(self, files: Sequence[Named]) -> list[Extracted | None]:
        """What came out of each; None for one that must be read alone."""
        letters = self._limits.text_letters
        found: list[Extracted | None] = [None] * len(files)
        gatherings = [Gathering(letters_left=letters) for _ in files]
        with ExitStack() as stack:
            wanted: list[Wanted] = []
            for (name, content_type, data), gathering in zip(files, gatherings, strict=True):
                opened = open_source(data, self._limits.file_bytes)
                if isinstance(opened, Refusal):
                    return found
                order = self._order(name, content_type, gathering)
                wanted.append(Wanted(order, stack.enter_context(opened).descriptor, gathering.take))
            endings = await self._pool.read_together(wanted, letters)
        for number, (gathering, ending) in enumerate(zip(gatherings, endings, strict=False)):
            gathering.close_range(ending)
            if ending.status not in _DOUBTFUL and gathering.is_whole:
                found[number] = await self._assembled(gathering, ending)
        return found

    async def _assembled(self, gathering: Gathering, ending: Ending) -> Extracted:
        if self._limits.text_letters - gathering.letters_left < _SMALL_LETTERS:
            return assemble(gathering, ending)
        return await anyio.to_thread.run_sync(assemble, gathering, ending)

    def _order(self, name: str, content_type: str, gathering: Gathering) -> Order:
        return Order(
            name[-NAME_LETTERS:],
            content_type[:NAME_LETTERS],
            gathering.next_no,
            self._limits.units_at_once,
            self._limits.cpu_s,
        )

    async def _read(self, asked: "_Asked", gathering: Gathering) -> Ending:
        """Range after range, until the last page is read or there is no use in going on."""
        limits = self._limits
        with anyio.move_on_after(limits.file_s):
            while True:
                order = self._order(asked.name, asked.content_type, gathering)
                hear = partial(_hear, gathering, asked.told)
                ending = await self._pool.read(
                    order, asked.descriptor, hear, gathering.letters_left
                )
                gathering.close_range(ending)
                if not self._goes_on(gathering, order.first, ending):
                    return _last(gathering, ending)
        return Ending(Status.TIMEOUT, f"It was not read within {limits.file_s:g} seconds.")

    def _goes_on(self, gathering: Gathering, first: int, ending: Ending) -> bool:
        """Whether to ask for more, after giving up the unit that let nothing come."""
        if gathering.is_whole or ending.status not in _RESUMED:
            return False
        if gathering.next_no > first:
            return True
        if ending.status is Status.OK or len(gathering.lost) == self._limits.lost_units:
            return False
        gathering.give_up_next(ending)
        return not gathering.is_whole


@dataclass(frozen=True, slots=True)
class _Asked:
    descriptor: int
    name: str
    content_type: str
    told: Told | None


def _hear(gathering: Gathering, told: Told | None, message: About | RawUnit) -> None:
    gathering.take(message)
    if told and gathering.about and gathering.about.has_ranges:
        told(gathering.next_no - 1, gathering.about.unit_count)


async def _opened(source: Path | bytes, file_bytes: int) -> Opened | Refusal:
    if isinstance(source, bytes) and len(source) < _SMALL_LETTERS:
        return open_source(source, file_bytes)
    return await anyio.to_thread.run_sync(open_source, source, file_bytes)


def _last(gathering: Gathering, ending: Ending) -> Ending:
    """A document is read when all its pages were, or were given up one by one."""
    if gathering.lost and gathering.units and gathering.is_whole:
        return Ending(Status.OK, "It was read.")
    return ending
