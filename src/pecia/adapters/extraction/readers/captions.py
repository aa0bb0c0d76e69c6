"""WebVTT and SubRip captions: one unit a cue, with its times. Own reader of both."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape

from pecia.adapters.extraction.readers.input_file import InputFile, ReaderResult, UnreadableFile
from pecia.adapters.extraction.readers.version import OURS, our_version
from pecia.adapters.extraction.status import ExtractionStatus
from pecia.adapters.extraction.wire import About
from pecia.kernel.text.canonical import RawUnit, UnitKind

_TIME = r"(?:(\d{1,4}):)?(\d{1,2}):(\d{1,2})[.,](\d{1,3})"
_TIMES = re.compile(rf"^\s*{_TIME}\s+-->\s+{_TIME}")
_VOICE = re.compile(r"<v(?:\.[^\s>]*)?\s+([^>]{1,100})>")
_TAG = re.compile(r"</?[a-zA-Z][^>]{0,200}>|<\d[\d:.]{0,20}>|\{\\[^}]{1,60}\}")
_BLANK = re.compile(r"\n[ \t]*\n")
# Comments and styles; and the number of a cue, where every line has an empty one below.
_UNSAID = re.compile(r"\s*(?:(?:NOTE|STYLE|REGION)\b|\d*\s*$)")


def read_captions(file: InputFile, first: int, count: int) -> ReaderResult:
    text = file.text.text.replace("\r\n", "\n").replace("\r", "\n")
    cues = _cues(text)
    if not cues and text.strip().removeprefix("WEBVTT").strip():
        raise UnreadableFile(
            ExtractionStatus.CORRUPT, "It is named or marked as captions, but has no cue."
        )
    about = About(
        "",
        OURS,
        our_version(),
        title=_title(text),
        unit_count=len(cues),
        notes=tuple(_notes(cues)),
        when_empty="There is no caption in it.",
    )
    return ReaderResult(about, [_unit(number, it) for number, it in enumerate(cues, 1)])


@dataclass(frozen=True, slots=True)
class _Cue:
    """What is said, and from when to when; None where that cannot be read."""

    lines: list[str]
    times: tuple[int, int] | None


def _cues(text: str) -> list[_Cue]:
    found: list[_Cue] = []
    for block in _BLANK.split(text):
        lines = block.strip("\n").split("\n")
        # A cue may have a name or a number above its times.
        place = next((at for at, it in enumerate(lines[:2]) if "-->" in it), None)
        if place is not None:
            found.append(_Cue(lines[place + 1 :], _times(lines[place])))
        elif found and not _UNSAID.match(block):
            # Somebody left an empty line in what is said.
            found[-1].lines.extend(lines)
    return found


def _notes(cues: list[_Cue]) -> Iterator[str]:
    timeless = sum(it.times is None for it in cues)
    backwards = sum(it.times is not None and it.times[1] < it.times[0] for it in cues)
    if timeless:
        yield (
            f"{timeless:,} of {len(cues):,} cues have times that cannot be read:"
            " their words are kept without times."
        )
    if backwards:
        yield f"{backwards:,} of {len(cues):,} cues end before they begin: their start is kept."


def _unit(number: int, cue: _Cue) -> RawUnit:
    body = "\n".join(cue.lines)
    voice = _VOICE.search(body)
    words = unescape(_TAG.sub("", body)).strip()
    if voice is not None:
        words = f"{voice[1].strip()}: {words}"
    if cue.times is None:
        return RawUnit(number, UnitKind.CUE, words)
    start, end = cue.times
    return RawUnit(number, UnitKind.CUE, words, format_time(start), start, max(start, end))


def _times(line: str) -> tuple[int, int] | None:
    found = _TIMES.match(line)
    return (_ms(*found.groups()[:4]), _ms(*found.groups()[4:])) if found else None


def format_time(at_ms: int) -> str:
    """A moment as people write it."""
    seconds = at_ms // 1000
    return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def _ms(hours: str | None, minutes: str, seconds: str, thousandths: str) -> int:
    whole = int(hours or 0) * 3600 + int(minutes) * 60 + int(seconds)
    return whole * 1000 + int(thousandths.ljust(3, "0"))


def _title(text: str) -> str:
    first = text.lstrip("\ufeff").split("\n", 1)[0]
    return first.removeprefix("WEBVTT").strip(" -\t") if first.startswith("WEBVTT") else ""
