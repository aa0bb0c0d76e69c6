"""One order carried out: the file's kind found, its reader called, every failure given a name."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Protocol

from pecia.adapters.extract.readers.file import File, Reading, Unreadable
from pecia.adapters.extract.readers.language import language_of
from pecia.adapters.extract.readers.registry import READERS
from pecia.adapters.extract.readers.sniff import sniff
from pecia.adapters.extract.readers.version import OURS, our_version
from pecia.adapters.extract.status import Status
from pecia.adapters.extract.wire import About, Ending, Message, Order
from pecia.kernel.text.canonical import RawUnit
from pecia.kernel.text.language import language_tag

_SAMPLE_LETTERS = 8_000


class Tell(Protocol):
    def __call__(self, *messages: Message) -> None: ...


def read_file(file: File, order: Order, tell: Tell) -> None:
    """Tell what the file holds, then how it ended. Only a death of the process is not told."""
    try:
        ending = _read(file, order, tell)
    except Unreadable as error:
        ending = Ending(error.status, error.reason)
    except MemoryError:
        ending = Ending(Status.TOO_LARGE, "Reading it takes more memory than a file may use.")
    except RecursionError:
        ending = Ending(Status.CORRUPT, "It is nested too deeply to be read.")
    # Readers stand on libraries that raise what they like; the file is to blame, not the server.
    except Exception as error:  # noqa: BLE001
        ending = Ending(Status.CORRUPT, f"It cannot be read: {_words(error)}.")
    tell(ending)


def _read(file: File, order: Order, tell: Tell) -> Ending:
    if not file.size_bytes:
        return Ending(Status.EMPTY, "The file has no bytes.")
    sort = sniff(file)
    try:
        reading = READERS[sort.kind](file, order.first, order.count)
    except Unreadable:
        # What it is can be told even of a file that is not read.
        tell(About(sort.content_type, OURS, our_version(), notes=sort.notes))
        raise
    notes = (*sort.notes, *reading.about.notes)
    about = replace(reading.about, content_type=sort.content_type, notes=notes)
    return _ending(reading, _tell_units(about, reading.units, tell))


def _tell_units(about: About, units: Iterable[RawUnit], tell: Tell) -> str:
    """The opening words of what was told. What needs no more reading is told at once."""
    if isinstance(units, list) and len(units) == 1:
        tell(about, *units)
        return units[0].text[:_SAMPLE_LETTERS]
    tell(about)
    sample = ""
    for unit in units:
        tell(unit)
        if len(sample) < _SAMPLE_LETTERS:
            sample += unit.text[:_SAMPLE_LETTERS] + "\n"
    return sample


def _ending(reading: Reading, sample: str) -> Ending:
    language = language_tag(reading.about.language) or language_of(sample)
    return Ending(
        Status.OK, "It was read.", language, tuple(reading.notes), tuple(reading.headings)
    )


def _words(error: BaseException) -> str:
    said = " ".join(str(error).split()).rstrip(".")[:300]
    return f"{type(error).__name__}: {said}" if said else type(error).__name__
