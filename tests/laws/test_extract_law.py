"""Whatever the bytes and the name, a file ends in a status with a reason, and its units fit."""

from collections.abc import Callable, Iterator
from typing import TypeAlias

import pytest
from anyio.from_thread import start_blocking_portal
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pecia.adapters.extraction.extractor import open_extractor
from pecia.adapters.extraction.model import ExtractedDocument, ExtractionLimits
from pecia.adapters.extraction.status import ExtractionStatus
from pecia.kernel.text.canonical import UNIT_SEPARATOR, hash_text, normalize
from tests.soak import SOAK
from tests.unit.adapters.extraction import samples

Extract: TypeAlias = Callable[[bytes, str], ExtractedDocument]

SOUND = (
    samples.pdf([["# Head", "Words."], ["More words."]], outline=[("Head", 1)]),
    samples.docx(samples.paragraph("Words.", "Heading1") + samples.word_table([["a"], ["b"]])),
    samples.xlsx({"One": [["a", 1.5]], "Two": [["b"]]}),
    samples.pptx([("Title", "Body")]),
    samples.odf("text", "<text:p>Words.</text:p>"),
    samples.odf("presentation", samples.odf_slide("one", "Title", "Body")),
    samples.epub("Book", "ana", [("One", "Words.")]),
    samples.mail("Subject", "Body"),
    b"WEBVTT\n\n00:01.000 --> 00:02.000\nHi\n\n00:03.000 --> 00:04.000\nBye\n",
    b"---\ntitle: x\n---\n# Head\n\nWords.\n\n## References\n\n[1] One. 2020.\n[2] Two. 2021.\n",
    b'{"nbformat": 4, "cells": [{"cell_type": "code", "source": "1", "outputs": []}]}',
    b"a;b\n1;2\n",
    rb"{\rtf1 Words \b bold\b0 .}",
    b"<html><body><p>Words.</p></body></html>",
)
EXTENSIONS = ("pdf", "docx", "xlsx", "pptx", "odt", "odp", "epub", "eml", "vtt", "srt", "md", "rtf")
MORE = ("ipynb", "csv", "json", "xml", "html", "txt", "py", "png", "mp3", "mp4", "zip", "doc", "")


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A sound file after a cut, a few other bytes, or a piece in the wrong place."""
    data = bytearray(draw(st.sampled_from(SOUND)))
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(data)))
        piece = draw(st.binary(max_size=8))
        if draw(st.booleans()):
            data[at : at + len(piece)] = piece
        else:
            data[at:at] = piece
    return bytes(data[: draw(st.integers(0, len(data)))]) if draw(st.booleans()) else bytes(data)


contents = (
    st.binary(max_size=300)
    | st.text(max_size=300).map(lambda it: it.encode("utf-8", "surrogatepass"))
    | st.text(" \n\t", max_size=3).map(str.encode)
    | damaged()
)
names = st.tuples(st.text(max_size=12), st.sampled_from(EXTENSIONS + MORE)).map(".".join)


@pytest.fixture(scope="module")
def extract() -> Iterator[Extract]:
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(
            open_extractor(ExtractionLimits(children=1))
        ) as extractor,
    ):
        yield lambda data, name: portal.call(lambda: extractor.extract(data, name=name))


@given(data=contents, name=names)
@settings(
    max_examples=5_000 if SOAK else 60,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
def test_any_bytes_under_any_name_end_in_a_status_with_a_reason(
    extract: Extract, data: bytes, name: str
) -> None:
    found = extract(data, name)
    assert found.status in ExtractionStatus
    assert found.reason.endswith(".")
    assert (found.status is ExtractionStatus.OK) == bool(found.text.strip())
    assert found.extractor
    assert found.version
    assert_units_fit(found)


@given(name=names)
@settings(max_examples=30 if SOAK else 3, deadline=None)
def test_a_sound_file_is_read_under_any_name(extract: Extract, name: str) -> None:
    for data in SOUND[:8]:
        assert extract(data, name).status is ExtractionStatus.OK


def assert_units_fit(found: ExtractedDocument) -> None:
    text = found.text
    assert normalize(text.replace(UNIT_SEPARATOR, "")) == text.replace(UNIT_SEPARATOR, "")
    assert UNIT_SEPARATOR.join(it.span.of(text) for it in found.units) == text
    assert hash_text(text) == found.sha256
    at = 0
    for unit in found.units:
        assert unit.span.start == at
        assert unit.span.end <= len(text)
        at = unit.span.end + len(UNIT_SEPARATOR)
    starts_line = [it.start == 0 or text[it.start - 1] == "\n" for it in found.facts.outline]
    assert all(starts_line)
    assert all(it.start <= len(text) for it in found.facts.outline)
