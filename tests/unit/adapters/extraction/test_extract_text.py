"""Files that are text already stay as they are; captions, tables and notebooks get locators."""

import json

import pytest

from pecia.adapters.extraction.extractor import FileExtractor
from pecia.adapters.extraction.status import ExtractionStatus
from pecia.kernel.text.canonical import UnitKind
from pecia.kernel.text.chunks.chunk import TextMarkup

pytestmark = pytest.mark.anyio

NOTE = """---
title: Loan bikes
authors: [ana, bo]
date: 2026-03-03
---
# Rules

Bring it back by six in the evening, with the battery and both of its keys.
"""


async def test_markdown_stays_as_it_is_and_its_head_becomes_facts(extractor: FileExtractor) -> None:
    found = await extractor.extract(NOTE.encode(), name="loan.md")
    assert found.text == NOTE
    assert (found.title, found.facts.authors) == ("Loan bikes", ("ana", "bo"))
    assert (found.facts.date, found.facts.language) == ("2026-03-03", "en")
    assert found.facts.markup is TextMarkup.MARKDOWN
    assert [(it.kind, it.span.of(found.text)) for it in found.units] == [(UnitKind.SECTION, NOTE)]


async def test_markdown_with_a_broken_head_is_still_read(extractor: FileExtractor) -> None:
    text = "---\ntitle: [unclosed\n---\n# Rules\n"
    found = await extractor.extract(text.encode(), name="loan.md")
    assert (found.status, found.text, found.title) == (ExtractionStatus.OK, text, "Rules")


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("utf-8-sig", "Grüße aus dem Hafen"),
        ("utf-16", "Grüße aus dem Hafen"),
        ("utf-16-le", "Greetings from the harbour"),
        ("utf-32", "Grüße aus dem Hafen"),
        ("cp1252", "Grüße aus dem Hafen, wo die schönen Boote über Nacht für die Gäste liegen."),
        ("koi8-r", "Привет мир, это простой русский текст для проверки кодировки."),
        ("shift_jis", "これは日本語のテキストです。文字コードの検出を確認します。"),
        ("gb18030", "这是一个用于检测编码的中文文本。我们希望结果正确，因为它很重要。"),
    ],
)
async def test_text_is_read_in_the_encoding_it_was_written_in(
    extractor: FileExtractor, encoding: str, text: str
) -> None:
    found = await extractor.extract(text.encode(encoding), name="note.txt")
    assert (found.status, found.text) == (ExtractionStatus.OK, text)


async def test_a_page_that_names_its_encoding_is_believed(extractor: FileExtractor) -> None:
    page = '<html><head><meta charset="iso-8859-2"></head><body><p>Łódź, żółw</p></body></html>'
    found = await extractor.extract(page.encode("iso-8859-2"), name="page.html")
    assert found.text.strip() == "Łódź, żółw"


@pytest.mark.parametrize(
    ("told", "encoding", "text"),
    [
        ("text/html; charset=windows-1250", "cp1250", "Łódź, żółw"),
        ('text/html; Charset="ISO-8859-7"; q=1', "iso-8859-7", "Καλημέρα"),
        # The label of old pages means what their browsers took it for.
        ("text/html; charset=iso-8859-1", "cp1252", "“dash” – done"),
        # A charset of seven bits is valid UTF-8 as well, and says nothing as such.
        ("text/html; charset=iso-2022-jp", "iso-2022-jp", "日本語の本文"),
        # A server that says the same of every page is wrong about those in UTF-8.
        ("text/html; charset=iso-8859-1", "utf-8", "Łódź, żółw"),
        ("text/html; charset=no-such-thing", "utf-8", "Łódź, żółw"),
        ("text/html; charset=hex", "cp1252", "Grüße aus dem Hafen, wo die schönen Boote liegen."),
    ],
)
async def test_a_page_is_read_in_the_charset_it_came_with(
    extractor: FileExtractor, told: str, encoding: str, text: str
) -> None:
    page = f"<html><body><p>{text}</p></body></html>".encode(encoding)
    found = await extractor.extract(page, name="/page", content_type=told)
    assert (found.status, found.text.strip()) == (ExtractionStatus.OK, text)
    assert found.facts.content_type == "text/html"


@pytest.mark.parametrize(
    ("extension", "language", "text"),
    [
        ("txt", "de", "Das Boot liegt im Hafen und wartet auf die Flut, die am Abend kommt.\n"),
        ("txt", "fr", "Le bateau est dans le port et attend la marée qui vient avec le soir.\n"),
        ("md", "es", "# Barco\n\nEl barco está en el puerto y espera la marea de la noche.\n"),
    ],
)
async def test_the_language_of_a_text_is_noticed(
    extractor: FileExtractor, extension: str, language: str, text: str
) -> None:
    found = await extractor.extract(text.encode(), name=f"note.{extension}")
    assert found.facts.language == language


async def test_form_feeds_part_a_plain_text_into_pages(extractor: FileExtractor) -> None:
    found = await extractor.extract(b"One page.\n\fAnother.\n\f\n", name="report.txt")
    assert [(it.kind, it.page_no, it.span.of(found.text)) for it in found.units] == [
        (UnitKind.PAGE, 1, "One page.\n"),
        (UnitKind.PAGE, 2, "Another.\n"),
    ]
    alone = await extractor.extract(b"One page.\n\f", name="report.txt")
    assert [it.kind for it in alone.units] == [UnitKind.SECTION]


async def test_code_is_plain_text_of_its_own_type(extractor: FileExtractor) -> None:
    found = await extractor.extract(b"# not a heading\nprint('hi')\n", name="run.py")
    assert found.text == "# not a heading\nprint('hi')\n"
    assert (found.facts.content_type, found.facts.markup) == ("text/x-python", TextMarkup.PLAIN)


@pytest.mark.parametrize("sign", [",", ";", "\t"])
async def test_separated_values_become_a_table_with_a_header(
    extractor: FileExtractor, sign: str
) -> None:
    rows = [["Bike", "Note"], ["Wherry", f'"a {sign} or |"'], ["Skiff", "small"]]
    data = "\r\n".join(sign.join(it) for it in rows).encode()
    found = await extractor.extract(data, name="bikes.csv")
    lines = found.text.split("\n")
    assert lines[:2] == ["| Bike | Note |", "| --- | --- |"]
    assert lines[3] == "| Skiff | small |"
    assert "\\|" in lines[2]
    assert [it.kind for it in found.units] == [UnitKind.SHEET]


async def test_json_on_one_endless_line_is_broken_between_values(extractor: FileExtractor) -> None:
    value = {"bikes": [{"name": "Wherry, the [big] one", "load": 120}] * 100}
    found = await extractor.extract(json.dumps(value).encode(), name="bikes.json")
    assert json.loads(found.text) == value
    assert max(map(len, found.text.split("\n"))) < 100
    assert found.facts.notes == ("Its lines were too long to read, and are broken between values.",)


async def test_xml_is_kept_and_never_expanded(extractor: FileExtractor) -> None:
    laughs = '<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><l>&b;</l>'
    found = await extractor.extract(laughs.encode(), name="laughs.xml")
    assert (found.status, found.text) == (ExtractionStatus.OK, laughs)


async def test_output_of_a_notebook_that_is_left_out_is_told(extractor: FileExtractor) -> None:
    output = {"output_type": "stream", "text": "x" * 21_500}
    cell = {"cell_type": "code", "source": "print()", "outputs": [output]}
    data = json.dumps({"cells": [cell], "nbformat": 4})
    found = await extractor.extract(data.encode(), name="a.ipynb")
    assert "… and 1,500 more letters of output" in found.text


async def test_a_notebook_is_a_section_a_cell(extractor: FileExtractor) -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# Café\n", "Sums."]},
        {
            "cell_type": "code",
            "source": "1 + 1",
            "outputs": [{"data": {"text/plain": ["2"]}}],
        },
    ]
    data = json.dumps({"nbformat": 4, "cells": cells, "metadata": {}}, ensure_ascii=False)
    found = await extractor.extract(data.encode(), name="sums.ipynb")
    assert [(it.label, it.span.of(found.text)) for it in found.units] == [
        ("cell 1", "# Café\nSums."),
        ("cell 2", "```python\n1 + 1\n```\n\n```\n2\n```"),
    ]
    assert found.title == "Café"


async def test_captions_are_cues_with_times(extractor: FileExtractor) -> None:
    captions = """WEBVTT - Harbour talk

    NOTE nothing to see

    intro
    00:01.000 --> 00:02.500 align:start
    <v Ana>Good <i>evening</i> &amp; welcome

    01:00:03.000 --> 01:00:04.000
    Bye
    """.replace("    ", "")
    found = await extractor.extract(captions.encode(), name="talk.vtt")
    assert [
        (it.kind, it.label, it.ts_start_ms, it.ts_end_ms, it.span.of(found.text))
        for it in found.units
    ] == [
        (UnitKind.CUE, "0:00:01", 1_000, 2_500, "Ana: Good evening & welcome"),
        (UnitKind.CUE, "1:00:03", 3_603_000, 3_604_000, "Bye"),
    ]
    assert found.title == "Harbour talk"


async def test_subrip_captions_are_known_by_their_bytes(extractor: FileExtractor) -> None:
    cues = "1\n00:00:01,000 --> 00:00:02,500\nGood evening\n\n2\n00:00:03,000 --> 0:0:4,0\nBye"
    data = cues.replace("\n", "\r\n").encode()
    found = await extractor.extract(data, name="talk")
    assert [(it.kind, it.ts_start_ms, it.ts_end_ms) for it in found.units] == [
        (UnitKind.CUE, 1_000, 2_500),
        (UnitKind.CUE, 3_000, 4_000),
    ]


@pytest.mark.parametrize(
    ("times", "kept", "told"),
    [
        ("10000:00:01.000 --> 10000:00:02.000", (None, None), "without times"),
        ("00:00:01 --> 00:00:02", (None, None), "without times"),
        ("-00:00:01.000 --> 00:00:02.000", (None, None), "without times"),
        ("soon --> later", (None, None), "without times"),
        ("00:00:09.000 --> 00:00:02.000", (9_000, 9_000), "end before they begin"),
    ],
)
async def test_a_cue_with_times_that_cannot_be_keeps_its_words_and_says_so(
    extractor: FileExtractor, times: str, kept: tuple[int | None, int | None], told: str
) -> None:
    good = "00:00:03.000 --> 00:00:04.000\nBye"
    for body in (f"{times}\nGood evening\n\n{good}", f"7\n{times}\nGood evening\n\n{good}"):
        found = await extractor.extract(f"WEBVTT\n\n{body}\n".encode(), name="talk.vtt")
        assert [it.span.of(found.text) for it in found.units] == ["Good evening", "Bye"]
        assert [(it.ts_start_ms, it.ts_end_ms) for it in found.units] == [kept, (3_000, 4_000)]
        assert found.status == "ok"
        assert told in found.reason


async def test_words_after_an_empty_line_stay_with_their_cue_and_comments_are_none(
    extractor: FileExtractor,
) -> None:
    captions = (
        "WEBVTT\nKind: captions\n\nSTYLE\n::cue { color: red }\n\n"
        "1\n00:01.000 --> 00:02.000\nGood evening\n\nand welcome\n\n2\n\n"
        "NOTE\nnot said\n\n00:03.000 --> 00:04.000\nBye\n"
    )
    found = await extractor.extract(captions.encode(), name="talk.vtt")
    assert [it.span.of(found.text) for it in found.units] == ["Good evening\nand welcome", "Bye"]
    assert found.reason == "It was read."


async def test_the_same_bytes_give_the_same_text(extractor: FileExtractor) -> None:
    once = await extractor.extract(NOTE.encode(), name="loan.md")
    assert await extractor.extract(NOTE.encode(), name="loan.md") == once


async def test_a_short_text_with_a_stray_control_character_is_text(
    extractor: FileExtractor,
) -> None:
    found = await extractor.extract(b"The key hangs\x00 beside the clock.\n", name="keys.txt")
    assert (found.status, found.text) == (
        ExtractionStatus.OK,
        "The key hangs\ufffd beside the clock.\n",
    )


async def test_a_comment_before_a_table_does_not_hide_its_columns(extractor: FileExtractor) -> None:
    table = "# Berths, one a line; north, south\n#\n#berth\tname\nA\tNordkai, east\nB\tSüdkai\n"
    found = await extractor.extract(table.encode(), name="berths.tab")
    assert found.text == (
        "Berths, one a line; north, south\n\n| berth | name |\n| --- | --- |\n"
        "| A | Nordkai, east |\n| B | Südkai |"
    )
    plain = await extractor.extract(b"# Made by hand\nname,town\nana,Kiel\n", name="people.csv")
    assert plain.text == "Made by hand\n\n| name | town |\n| --- | --- |\n| ana | Kiel |"
    numbers = await extractor.extract(b"#1,first\n#2,second\n", name="places.csv")
    assert numbers.text == "| #1 | first |\n| --- | --- |\n| #2 | second |"
