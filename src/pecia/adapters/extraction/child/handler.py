"""Handles one order: detects the file's kind, calls its reader, maps every failure."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Protocol

from pecia.adapters.extraction.detect.language import detect_language
from pecia.adapters.extraction.detect.sniff import DetectedKind, sniff, sniff_text
from pecia.adapters.extraction.readers.gzip_file import inflate, inflate_head, is_gzip
from pecia.adapters.extraction.readers.input_file import InputFile, ReaderResult, UnreadableFile
from pecia.adapters.extraction.readers.registry import READERS
from pecia.adapters.extraction.readers.version import OURS, our_version
from pecia.adapters.extraction.status import ExtractionStatus
from pecia.adapters.extraction.wire import About, Ending, Message, ReadRequest
from pecia.kernel.text.canonical import RawUnit
from pecia.kernel.text.language import normalize_language_tag

_SAMPLE_CHARS = 8_000


class SendMessages(Protocol):
    def __call__(self, *messages: Message) -> None: ...


def handle_request(file: InputFile, order: ReadRequest, tell: SendMessages) -> None:
    """Send what the file holds, then the outcome. Only a crash of the process sends none."""
    try:
        ending = _read(file, order, tell)
    except UnreadableFile as error:
        ending = Ending(error.status, error.reason)
    except MemoryError:
        ending = Ending(
            ExtractionStatus.TOO_LARGE, "Reading it takes more memory than a file may use."
        )
    except RecursionError:
        ending = Ending(ExtractionStatus.CORRUPT, "It is nested too deeply to be read.")
    # Readers stand on libraries that raise what they like; the file is to blame, not the server.
    except Exception as error:  # noqa: BLE001
        ending = Ending(ExtractionStatus.CORRUPT, f"It cannot be read: {_words(error)}.")
    tell(ending)


def _read(file: InputFile, order: ReadRequest, tell: SendMessages) -> Ending:
    if not file.size_bytes:
        return Ending(ExtractionStatus.EMPTY, "The file has no bytes.")
    sort, is_inside = _detect(file)
    try:
        content = inflate(file) if is_inside else file
        reading = READERS[sort.kind](content, order.first, order.count)
    except UnreadableFile:
        # The kind is known even of a file that is not read.
        tell(About(sort.content_type, OURS, our_version(), notes=sort.notes))
        raise
    notes = (*sort.notes, *reading.about.notes)
    about = replace(reading.about, content_type=sort.content_type, notes=notes)
    return _make_ending(reading, _send_units(about, reading.units, tell))


def _detect(file: InputFile) -> tuple[DetectedKind, bool]:
    """The kind of the file, or of the one text that it is the gzip of."""
    head = inflate_head(file) if is_gzip(file) else None
    inside = sniff_text(head) if head is not None else None
    return (sniff(file), False) if inside is None else (inside, True)


def _send_units(about: About, units: Iterable[RawUnit], tell: SendMessages) -> str:
    """The first message. Facts that need no more reading are sent at once."""
    if isinstance(units, list) and len(units) == 1:
        tell(about, *units)
        return units[0].text[:_SAMPLE_CHARS]
    tell(about)
    sample = ""
    for unit in units:
        tell(unit)
        if len(sample) < _SAMPLE_CHARS:
            sample += unit.text[:_SAMPLE_CHARS] + "\n"
    return sample


def _make_ending(reading: ReaderResult, sample: str) -> Ending:
    language = normalize_language_tag(reading.about.language) or detect_language(sample)
    return Ending(
        ExtractionStatus.OK, "It was read.", language, tuple(reading.notes), tuple(reading.headings)
    )


def _words(error: BaseException) -> str:
    said = " ".join(str(error).split()).rstrip(".")[:300]
    return f"{type(error).__name__}: {said}" if said else type(error).__name__
