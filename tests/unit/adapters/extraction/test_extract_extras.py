"""Pictures and recordings are read with the extras, and without them say which one is missing."""

import re
import shutil
from importlib.metadata import requires
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import anyio
import pypdfium2
import pytest

from pecia.adapters.extraction.extractor import FileExtractor
from pecia.adapters.extraction.media.wav import decode_wav as sound_of
from pecia.adapters.extraction.readers.speech import SpokenWord, group_phrases
from pecia.adapters.extraction.status import ExtractionStatus
from pecia.kernel.text.canonical import UnitKind
from tests.unit.adapters.extraction import samples

pytestmark = pytest.mark.anyio

with_ocr = pytest.mark.skipif(find_spec("rapidocr") is None, reason="[ocr] is not installed")
without_ocr = pytest.mark.skipif(find_spec("rapidocr") is not None, reason="[ocr] is installed")
with_asr = pytest.mark.skipif(find_spec("pocketsphinx") is None, reason="[asr] is not installed")
with_voice = pytest.mark.skipif(
    shutil.which("flite") is None, reason="nothing speaks here: flite is a package of Debian"
)
without_asr = pytest.mark.skipif(find_spec("pocketsphinx") is not None, reason="[asr] is installed")


def photograph() -> tuple[bytes, int]:
    """A page of print as grey dots, and how many of them make a row."""
    document: Any = pypdfium2.PdfDocument(samples.pdf([["# Invoice 4711", "Total 250 euro"]]))
    picture = document[0].render(scale=2, grayscale=True)
    rows, width = bytes(picture.buffer), picture.width
    starts = range(0, picture.stride * picture.height, picture.stride)
    return b"".join(rows[at : at + width] for at in starts), width


@without_ocr
@pytest.mark.parametrize(
    ("name", "data", "status"),
    [
        ("scan.pdf", samples.scanned_pdf(), ExtractionStatus.EMPTY),
        ("photo.png", samples.png(bytes(100), 10), ExtractionStatus.UNSUPPORTED),
    ],
)
async def test_a_picture_says_which_extra_would_read_it(
    extractor: FileExtractor, name: str, data: bytes, status: ExtractionStatus
) -> None:
    found = await extractor.extract(data, name=name)
    assert found.status is status
    assert "the extra [ocr]" in found.reason
    assert _advised(found.reason) == _extra("ocr")


@with_ocr
async def test_letters_in_pictures_are_read(extractor: FileExtractor) -> None:
    for data, name in (
        (samples.scanned_pdf(*photograph()), "scan.pdf"),
        (samples.png(*photograph()), "photo.png"),
    ):
        found = await extractor.extract(data, name=name)
        assert found.status is ExtractionStatus.OK
        assert "Invoice 4711" in found.text
        assert [(it.no, it.kind) for it in found.units] == [(1, UnitKind.PAGE)]


@without_asr
@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("talk.wav", samples.wav(bytes(100))),
        ("talk.mp3", b"ID3\x04...."),
        ("film.mp4", b"\x00\x00\x00\x20ftypisom...."),
    ],
)
async def test_a_recording_asks_for_captions_or_an_extra(
    extractor: FileExtractor, name: str, data: bytes
) -> None:
    found = await extractor.extract(data, name=name)
    assert found.status is ExtractionStatus.UNSUPPORTED
    assert "captions" in found.reason
    assert "the extra [asr]" in found.reason
    assert _advised(found.reason) == _extra("asr")


def _advised(reason: str) -> set[str]:
    """What the reason says to install, in pieces: a name and its bounds."""
    found = re.search(r"pip install '([^']+)'", reason)
    assert found is not None, reason
    return {*re.split(r",|(?=[<>])", found[1])} - {""}


def _extra(name: str) -> set[str]:
    """What that extra of ours consists of: nobody has to find us on a registry to install it."""
    held = [it.partition(";") for it in requires("pecia") or ()]
    wanted = next(it for it, _, when in held if f"extra == '{name}'" in when.replace('"', "'"))
    return {*re.split(r",|(?=[<>])", wanted.strip())} - {""}


@with_asr
async def test_what_is_heard_is_cues_and_said_to_be_a_guess(extractor: FileExtractor) -> None:
    found = await extractor.extract(samples.wav(bytes(32_000)), name="silence.wav")
    assert found.extractor == "pocketsphinx"
    assert {it.kind for it in found.units} <= {UnitKind.CUE}
    assert "guessed" in found.facts.notes[0]


@with_asr
@with_voice
async def test_words_that_are_spoken_are_heard_when_they_are_said(
    extractor: FileExtractor, tmp_path: Path
) -> None:
    said, wav = "the weather was cold and it rained all day", tmp_path / "said.wav"
    await anyio.run_process(["flite", "-t", said, "-o", str(wav)])
    found = await extractor.extract(wav.read_bytes(), name="said.wav")
    assert found.status is ExtractionStatus.OK
    # The engine guesses, so not every word need be the right one.
    assert {"weather", "cold", "rained"} <= {*found.text.split()}
    first, last = found.units[0], found.units[-1]
    assert first.ts_start_ms is not None
    assert last.ts_end_ms is not None
    assert 0 <= first.ts_start_ms < 1_000 < last.ts_end_ms < 5_000


def test_a_pause_ends_a_phrase() -> None:
    words = [
        SpokenWord("ten", 100, 300),
        SpokenWord("of", 310, 400),
        SpokenWord("clubs", 800, 1_200),
    ]
    assert [(it.no, it.text, it.ts_start_ms, it.ts_end_ms) for it in group_phrases(words)] == [
        (1, "ten of", 100, 400),
        (2, "clubs", 800, 1_200),
    ]


def test_a_speaker_without_pauses_is_cut_all_the_same() -> None:
    words = [SpokenWord("word", at, at + 10) for at in range(0, 1_000, 10)]
    assert [len(it.text.split()) for it in group_phrases(words)] == [40, 40, 20]


@pytest.mark.parametrize(("rate", "channels"), [(16_000, 1), (8_000, 1), (44_100, 2)])
def test_sound_of_any_rate_comes_at_one(rate: int, channels: int) -> None:
    second = (1_000).to_bytes(2, "little") * rate * channels
    found = sound_of(samples.wav(second, rate, channels))
    assert found == (1_000).to_bytes(2, "little") * 16_000
