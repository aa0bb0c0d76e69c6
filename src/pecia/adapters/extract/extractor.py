"""The door to extraction: a file in, its canonical text with locators out, or the reason why not.

Nothing of a file is parsed in this process. The children do that, under limits.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.to_thread

from pecia.adapters.extract.gathering import Gathering, assemble
from pecia.adapters.extract.model import Extracted, Limits
from pecia.adapters.extract.opening import Opened, Refusal, open_source
from pecia.adapters.extract.pool import Pool
from pecia.adapters.extract.status import Confinement, Status
from pecia.adapters.extract.wire import NAME_LETTERS, Ending, Order

# A text this small is put together faster than a thread is asked to.
_SMALL_LETTERS = 100_000
# A page that hangs or kills its reader is given up; the pages after it are not.
_RESUMED = frozenset({Status.OK, Status.TIMEOUT, Status.CRASHED})


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
        self, source: Path | bytes, *, name: str = "", content_type: str = ""
    ) -> Extracted:
        """The text of a file, however bad it is. Raises only when no file can be read at all."""
        known_as = name or (source.name if isinstance(source, Path) else "")
        gathering = Gathering(letters_left=self._limits.text_letters)
        opened = await anyio.to_thread.run_sync(open_source, source, self._limits.file_bytes)
        if isinstance(opened, Refusal):
            ending = Ending(opened.status, opened.reason)
        else:
            with opened:
                ending = await self._read(opened, known_as, content_type, gathering)
                if opened.has_changed():
                    gathering.notes.append("The file changed while it was read.")
        if self._limits.text_letters - gathering.letters_left < _SMALL_LETTERS:
            return assemble(gathering, ending)
        return await anyio.to_thread.run_sync(assemble, gathering, ending)

    async def _read(
        self, opened: Opened, name: str, content_type: str, gathering: Gathering
    ) -> Ending:
        """Range after range, until the last page is read or there is no use in going on."""
        limits = self._limits
        with anyio.move_on_after(limits.file_s):
            while True:
                order = Order(
                    name[-NAME_LETTERS:],
                    content_type[:NAME_LETTERS],
                    gathering.next_no,
                    limits.units_at_once,
                    limits.cpu_s,
                )
                ending = await self._pool.read(
                    order, opened.descriptor, gathering.take, gathering.letters_left
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


def _last(gathering: Gathering, ending: Ending) -> Ending:
    """A document is read when all its pages were, or were given up one by one."""
    if gathering.lost and gathering.units and gathering.is_whole:
        return Ending(Status.OK, "It was read.")
    return ending
