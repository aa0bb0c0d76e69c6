"""Recordings: a cue a phrase, when the extra [asr] is installed. Captions are always better."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from pecia.adapters.extraction.readers.captions import format_time
from pecia.adapters.extraction.readers.input_file import InputFile, ReaderResult, UnreadableFile
from pecia.adapters.extraction.readers.version import version_of
from pecia.adapters.extraction.status import ExtractionStatus
from pecia.adapters.extraction.wire import About
from pecia.kernel.text.canonical import RawUnit, UnitKind

_FRAME_MS = 10
_PAUSE_MS = 300
_PHRASE_WORDS = 40
_CAPTIONS = "Put captions (.vtt or .srt) beside it"


@dataclass(frozen=True, slots=True)
class SpokenWord:
    text: str
    start_ms: int
    end_ms: int


def read_recording(file: InputFile, first: int, count: int) -> ReaderResult:
    speech = find_speech()
    if speech is None:
        raise UnreadableFile(
            ExtractionStatus.UNSUPPORTED,
            f"It is a recording. {_CAPTIONS}, or install the extra [asr] beside Pecia: "
            "pip install 'pocketsphinx>=5,<6'.",
        )
    if not (file.head.startswith(b"RIFF") and file.head[8:12] == b"WAVE"):
        raise UnreadableFile(
            ExtractionStatus.UNSUPPORTED,
            f"It is a recording. The extra [asr] reads WAV alone. {_CAPTIONS}.",
        )
    # It brings numpy, which no other reader needs.
    from pecia.adapters.extraction.media.wav import decode_wav

    cues = list(group_phrases(speech.words(decode_wav(file.data))))
    about = About(
        "",
        speech.name,
        version_of(speech.library),
        unit_count=len(cues),
        notes=("Its words were guessed by a basic speech engine.",),
        when_empty="No words were heard in it.",
    )
    return ReaderResult(about, cues)


@cache
def find_speech() -> "PocketSphinx | None":
    """The engine, loaded once a child. Nothing is fetched: its model is in its package."""
    return PocketSphinx() if find_spec("pocketsphinx") is not None else None


class PocketSphinx:
    name = "pocketsphinx"
    library = "pocketsphinx"

    def words(self, sound: bytes) -> Iterator[SpokenWord]:
        """The words in 16-bit samples, 16,000 a second, one channel."""
        engine: Any = import_module("pocketsphinx").Decoder(samprate=16_000, loglevel="FATAL")
        engine.start_utt()
        engine.process_raw(sound, full_utt=True)
        engine.end_utt()
        for it in engine.seg() or ():
            # Silence and noise stand in brackets, a second reading of a word behind its number.
            if not it.word.startswith(("<", "[")):
                word = it.word.partition("(")[0]
                yield SpokenWord(word, it.start_frame * _FRAME_MS, (it.end_frame + 1) * _FRAME_MS)


def group_phrases(words: Iterable[SpokenWord]) -> Iterator[RawUnit]:
    """The words between two pauses as one cue; a speaker without pauses is cut all the same."""
    number = 0
    held: list[SpokenWord] = []
    for word in words:
        is_pause = bool(held) and word.start_ms - held[-1].end_ms >= _PAUSE_MS
        if is_pause or len(held) == _PHRASE_WORDS:
            number += 1
            yield _cue(number, held)
            held = []
        held.append(word)
    if held:
        yield _cue(number + 1, held)


def _cue(number: int, words: list[SpokenWord]) -> RawUnit:
    start, end = words[0].start_ms, words[-1].end_ms
    text = " ".join(it.text for it in words)
    return RawUnit(number, UnitKind.CUE, text, format_time(start), start, end)
