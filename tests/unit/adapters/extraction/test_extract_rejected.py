"""A file that cannot be read ends in a status, with a reason that people understand."""

import os
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from pecia.adapters.extraction.extractor import FileExtractor, open_extractor
from pecia.adapters.extraction.model import ExtractionLimits
from pecia.adapters.extraction.status import ExtractionStatus
from pecia.kernel.errors import NotFound
from tests.unit.adapters.extraction import samples

pytestmark = pytest.mark.anyio

PDF = samples.pdf([["Some words to lose."]] * 30)
DOCX = samples.docx(samples.paragraph("Words."))
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
ENCRYPTED_ODT = samples.zipped(
    {
        "mimetype": "application/vnd.oasis.opendocument.text",
        "META-INF/manifest.xml": "<m:manifest><m:encryption-data/></m:manifest>",
        "content.xml": "scrambled",
    }
)
LAUGHS = "<!DOCTYPE l [<!ENTITY a 'ha'><!ENTITY b '&a;&a;'>]><w:document/>"
# What takes long to make is made for the tests that read it: every worker collects this file.
REFUSED: dict[str, tuple[bytes | Callable[[], bytes], ExtractionStatus, str]] = {
    "zero.pdf": (b"", ExtractionStatus.EMPTY, "no bytes"),
    "blank.txt": (b" \n\t ", ExtractionStatus.EMPTY, "no text"),
    "password.pdf": (samples.encrypted_pdf("secret"), ExtractionStatus.ENCRYPTED, "password"),
    "password.docx": (
        OLE + "EncryptedPackage".encode("utf-16-le"),
        ExtractionStatus.ENCRYPTED,
        "password",
    ),
    "password.odt": (ENCRYPTED_ODT, ExtractionStatus.ENCRYPTED, "password"),
    "half.pdf": (PDF[: len(PDF) // 2], ExtractionStatus.CORRUPT, "cut off"),
    "half.docx": (DOCX[: len(DOCX) // 2], ExtractionStatus.CORRUPT, "cut off"),
    "bomb.docx": (
        lambda: samples.zipped(
            {"[Content_Types].xml": "", "word/document.xml": bytes(300_000_000)}
        ),
        ExtractionStatus.TOO_LARGE,
        "300 MB",
    ),
    "dense.docx": (
        samples.zipped({"[Content_Types].xml": "", "word/document.xml": bytes(20_000_000)}),
        ExtractionStatus.TOO_LARGE,
        "times its size",
    ),
    "parts.docx": (
        lambda: samples.zipped(
            {f"word/{number}.xml": "" for number in range(10_001)} | {"[Content_Types].xml": ""}
        ),
        ExtractionStatus.TOO_LARGE,
        "10,002 parts",
    ),
    "laughs.docx": (
        samples.office(
            "word/document.xml", "wordprocessingml.document", {"word/document.xml": LAUGHS}
        ),
        ExtractionStatus.CORRUPT,
        "entities",
    ),
    "laughs.pptx": (
        samples.office(
            "ppt/presentation.xml", "presentationml.presentation", {"ppt/presentation.xml": LAUGHS}
        ),
        ExtractionStatus.CORRUPT,
        "entities",
    ),
    "old.doc": (
        OLE + "WordDocument".encode("utf-16-le") + bytes(600),
        ExtractionStatus.CORRUPT,
        "Word 97",
    ),
    "notebook.ipynb": (b'{"nbformat": 4, "cells": 7}', ExtractionStatus.CORRUPT, "notebook"),
    "talk.vtt": (b"WEBVTT\n\nno cue at all\n", ExtractionStatus.CORRUPT, "no cue"),
    "all.zip": (samples.zipped({"a.txt": "words"}), ExtractionStatus.UNSUPPORTED, "archive"),
    "run.exe": (b"MZ\x90\x00\x03" + bytes(range(256)) * 4, ExtractionStatus.UNSUPPORTED, "binary"),
}


@cache
def refused_data(name: str) -> bytes:
    data = REFUSED[name][0]
    return data if isinstance(data, bytes) else data()


@pytest.mark.parametrize("name", REFUSED)
async def test_a_bad_file_ends_in_a_status_with_a_reason(
    extractor: FileExtractor, name: str
) -> None:
    _, status, words = REFUSED[name]
    found = await extractor.extract(refused_data(name), name=name)
    assert (found.status, found.text.strip()) == (status, "")
    assert words in found.reason
    assert found.reason.endswith(".")


async def test_files_read_together_are_what_they_are_alone(extractor: FileExtractor) -> None:
    good = {f"{number}.md": f"# Note {number}\n\nFine.\n".encode() for number in range(9)}
    bad = {name: refused_data(name) for name in REFUSED}
    # More than one message holds, good and bad in turn, with more pages than one order asks for.
    long = {"long.pdf": samples.pdf([["A page."]] * 300)}
    mixed = sorted((good | bad | long).items(), key=lambda it: it[0][::-1])
    together = await extractor.extract_together([(name, "", data) for name, data in mixed])
    for (name, data), found in zip(mixed, together, strict=True):
        assert found == await extractor.extract(data, name=name)


async def test_one_that_floods_among_others_costs_none_of_them() -> None:
    files = [("a.md", b"# A\n"), ("long.txt", b"word " * 100_000), ("b.md", b"# B\n")]
    async with open_extractor(ExtractionLimits(children=1, text_chars=10_000)) as small:
        found = await small.extract_together([(name, "", data) for name, data in files])
    assert [it.status for it in found] == [
        ExtractionStatus.OK,
        ExtractionStatus.TOO_LARGE,
        ExtractionStatus.OK,
    ]
    assert [it.text for it in found] == ["# A\n", "", "# B\n"]


@pytest.mark.parametrize(
    ("name", "data", "note"),
    [
        ("report.pdf", DOCX, "It is named .pdf, but it is a Word document."),
        ("notes.txt", samples.pdf([["Words."]]), "It is named .txt, but it is a PDF."),
        ("table.xlsx", b"just words, no table", "It is named .xlsx, but it is plain text."),
    ],
)
async def test_a_wrong_extension_is_noticed_and_does_no_harm(
    extractor: FileExtractor, name: str, data: bytes, note: str
) -> None:
    found = await extractor.extract(data, name=name)
    assert found.status is ExtractionStatus.OK
    assert found.text.strip()
    assert found.facts.notes == (note,)


async def test_a_refused_file_still_says_what_it_is(extractor: FileExtractor) -> None:
    found = await extractor.extract(samples.encrypted_pdf("secret"), name="notes.txt")
    assert found.facts.content_type == "application/pdf"
    assert found.facts.notes == ("It is named .txt, but it is a PDF.",)


@pytest.mark.parametrize("name", ["", "a\nb.pdf", "\u202efdp.exe", "\udcff\udcfe.pdf", "x" * 9_000])
async def test_any_name_will_do(extractor: FileExtractor, name: str) -> None:
    assert (await extractor.extract(PDF, name=name)).status is ExtractionStatus.OK


async def test_a_folder_a_pipe_and_a_device_are_no_files(
    extractor: FileExtractor, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "pipe")
    for place in (tmp_path, tmp_path / "pipe", Path("/dev/zero")):
        found = await extractor.extract(place)
        assert (found.status, found.text) == (ExtractionStatus.UNSUPPORTED, "")
        assert "no file" in found.reason


async def test_a_file_that_is_gone_is_not_found(extractor: FileExtractor, tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        await extractor.extract(tmp_path / "gone.pdf")


async def test_a_loop_of_links_is_said(extractor: FileExtractor, tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    found = await extractor.extract(tmp_path / "loop")
    assert found.status is ExtractionStatus.UNSUPPORTED
    assert "cannot be opened" in found.reason


async def test_a_file_over_the_size_limit_is_not_even_opened() -> None:
    async with open_extractor(ExtractionLimits(file_bytes=1_000)) as small:
        found = await small.extract(bytes(2_000_000), name="big.bin")
        assert small.confinement is None
    assert (found.status, "2 MB" in found.reason) == (ExtractionStatus.TOO_LARGE, True)


async def test_more_text_than_allowed_is_said_and_not_cut_in_silence() -> None:
    async with open_extractor(ExtractionLimits(children=1, text_chars=10_000)) as small:
        flood = await small.extract(b"word " * 100_000, name="long.txt")
        pages = await small.extract(
            samples.pdf([["Words and words and words."] * 40] * 20), name="long.pdf"
        )
    assert (flood.status, flood.text) == (ExtractionStatus.TOO_LARGE, "")
    assert pages.status is ExtractionStatus.TOO_LARGE
    assert f"The first {len(pages.units)} of 20 pages are kept" in pages.reason
    assert 0 < len(pages.text) <= 10_000
