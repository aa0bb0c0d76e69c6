"""WebVTT and SubRip captions: one unit a cue, with its times. Own reader of both."""

import re
from collections.abc import Iterator
from html import unescape

from pecia.adapters.extract.readers.file import File, Reading, Unreadable
from pecia.adapters.extract.readers.version import OURS, our_version
from pecia.adapters.extract.status import Status
from pecia.adapters.extract.wire import About
from pecia.kernel.text.canonical import RawUnit, UnitKind

_TIME = r"(?:(\d{1,4}):)?(\d{1,2}):(\d{1,2})[.,](\d{1,3})"
_TIMES = re.compile(rf"^\s*{_TIME}\s+-->\s+{_TIME}")
_VOICE = re.compile(r"<v(?:\.[^\s>]*)?\s+([^>]{1,100})>")
_TAG = re.compile(r"</?[a-zA-Z][^>]{0,200}>|<\d[\d:.]{0,20}>|\{\\[^}]{1,60}\}")
_BLANK = re.compile(r"\n[ \t]*\n")


def read_captions(file: File, first: int, count: int) -> Reading:
    text = file.text.text.replace("\r\n", "\n").replace("\r", "\n")
    cues = list(_cues(text))
    if not cues and text.strip().removeprefix("WEBVTT").strip():
        raise Unreadable(Status.CORRUPT, "It is named or marked as captions, but has no cue.")
    about = About(
        "",
        OURS,
        our_version(),
        title=_title(text),
        unit_count=len(cues),
        when_empty="There is no caption in it.",
    )
    return Reading(about, cues)


def _cues(text: str) -> Iterator[RawUnit]:
    number = 0
    for block in _BLANK.split(text):
        lines = block.strip("\n").split("\n")
        # A cue may have a name or a number above its times.
        for place, line in enumerate(lines[:2]):
            if times := _TIMES.match(line):
                number += 1
                start, end = _ms(*times.groups()[:4]), _ms(*times.groups()[4:])
                yield _cue(number, "\n".join(lines[place + 1 :]), start, max(start, end))
                break


def _cue(number: int, body: str, start_ms: int, end_ms: int) -> RawUnit:
    voice = _VOICE.search(body)
    words = unescape(_TAG.sub("", body)).strip()
    if voice is not None:
        words = f"{voice[1].strip()}: {words}"
    return RawUnit(number, UnitKind.CUE, words, clock(start_ms), start_ms, end_ms)


def clock(at_ms: int) -> str:
    """A moment as people write it."""
    seconds = at_ms // 1000
    return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def _ms(hours: str | None, minutes: str, seconds: str, thousandths: str) -> int:
    whole = int(hours or 0) * 3600 + int(minutes) * 60 + int(seconds)
    return whole * 1000 + int(thousandths.ljust(3, "0"))


def _title(text: str) -> str:
    first = text.lstrip("\ufeff").split("\n", 1)[0]
    return first.removeprefix("WEBVTT").strip(" -\t") if first.startswith("WEBVTT") else ""
