"""Office documents, books, sheets, slides and mail become text that keeps its shape."""

from email.message import EmailMessage

import pytest

from pecia.adapters.extraction.extractor import FileExtractor
from pecia.adapters.extraction.model import ExtractedDocument
from pecia.adapters.extraction.status import ExtractionStatus
from pecia.kernel.text.canonical import UnitKind
from pecia.kernel.text.chunks.chunk import TextMarkup
from tests.unit.adapters.extraction import samples

pytestmark = pytest.mark.anyio

ROWS = [["Bike", "Load"], ["Wherry", "120 kg"]]
TABLE = "| Bike | Load |\n| --- | --- |\n| Wherry | 120 kg |"


def slices(found: ExtractedDocument) -> list[str]:
    return [it.span.of(found.text) for it in found.units]


async def test_a_word_document_keeps_headings_tables_and_facts(extractor: FileExtractor) -> None:
    body = (
        samples.paragraph("Brakes", "Heading1")
        + samples.paragraph("Check the pads.")
        + samples.word_table(ROWS)
    )
    found = await extractor.extract(
        samples.docx(body, title="Manual", author="ana"), name="manual.docx"
    )
    assert found.status is ExtractionStatus.OK
    assert "# Brakes\n\nCheck the pads.\n\n" + TABLE in found.text
    assert (found.title, found.facts.authors) == ("Manual", ("ana",))
    assert found.facts.date == "2026-03-03"
    assert found.facts.markup is TextMarkup.MARKDOWN
    assert [it.kind for it in found.units] == [UnitKind.SECTION]
    assert found.extractor == "kreuzberg"


async def test_an_opendocument_text_keeps_headings_and_tables(extractor: FileExtractor) -> None:
    body = '<text:h text:outline-level="1">Brakes</text:h><text:p>Check the pads.</text:p>'
    found = await extractor.extract(
        samples.odf("text", body + samples.odf_table("T", ROWS)), name="manual.odt"
    )
    assert found.text.strip() == "# Brakes\n\nCheck the pads.\n\n" + TABLE
    assert found.title == "Brakes"


@pytest.mark.parametrize("extension", ["xlsx", "ods"])
async def test_every_sheet_is_a_unit_under_its_name(
    extractor: FileExtractor, extension: str
) -> None:
    if extension == "xlsx":
        data = samples.xlsx({"Loads": ROWS, "Prices": [["EUR"], [4200.5]]})
    else:
        sheets = samples.odf_table("Loads", ROWS) + samples.odf_table(
            "Prices", [["EUR"], ["4200.5"]]
        )
        data = samples.odf("spreadsheet", sheets)
    found = await extractor.extract(data, name=f"book.{extension}")
    assert [(it.no, it.kind, it.label) for it in found.units] == [
        (1, UnitKind.SHEET, "Loads"),
        (2, UnitKind.SHEET, "Prices"),
    ]
    assert slices(found) == [
        f"## Loads\n\n{TABLE}",
        "## Prices\n\n| EUR |\n| --- |\n| 4200.5 |",
    ]


async def test_a_day_in_a_sheet_is_written_without_midnight_unless_there_are_times(
    extractor: FileExtractor,
) -> None:
    days = [["Key", "Since"], ["K-17", "2023-04-02 00:00:00"]]
    found = await extractor.extract(samples.xlsx({"Keys": days}), name="keys.xlsx")
    assert "| K-17 | 2023-04-02 |" in found.text
    times = [*days, ["K-18", "2023-04-02 00:05:00"]]
    found = await extractor.extract(samples.xlsx({"Keys": times}), name="keys.xlsx")
    assert "| K-17 | 2023-04-02 00:00:00 |" in found.text


@pytest.mark.parametrize("extension", ["pptx", "odp"])
async def test_every_slide_is_a_unit_under_its_title(
    extractor: FileExtractor, extension: str
) -> None:
    shown = [("Brakes", "Check the pads."), ("Chain", "Wax it.")]
    if extension == "pptx":
        data = samples.pptx(shown)
    else:
        pages = [samples.odf_slide(f"p{no}", *it) for no, it in enumerate(shown)]
        data = samples.odf("presentation", "".join(pages))
    found = await extractor.extract(data, name=f"talk.{extension}")
    assert [(it.no, it.kind, it.label) for it in found.units] == [
        (1, UnitKind.SLIDE, "Brakes"),
        (2, UnitKind.SLIDE, "Chain"),
    ]
    assert slices(found) == ["## Brakes\n\nCheck the pads.", "## Chain\n\nWax it."]
    assert found.title == "Brakes"


async def test_slides_come_in_the_order_of_the_show(extractor: FileExtractor) -> None:
    shown = [(f"Slide {number}", "Words.") for number in range(1, 13)]
    found = await extractor.extract(samples.pptx(shown), name="talk.pptx")
    assert [it.label for it in found.units] == [title for title, _ in shown]


async def test_a_book_keeps_its_chapters_and_author(extractor: FileExtractor) -> None:
    chapters = [("The sea", "It was calm."), ("The storm", "It was not.")]
    found = await extractor.extract(samples.epub("Harbour", "ana", chapters), name="b.epub")
    assert found.text.strip() == "# The sea\n\nIt was calm.\n\n# The storm\n\nIt was not."
    assert (found.title, found.facts.authors) == ("Harbour", ("ana",))


async def test_rich_text_keeps_its_letters(extractor: FileExtractor) -> None:
    data = rb"{\rtf1\ansi{\info{\title Menu}} \'c9clair for \b two\b0\par costs 5 \u8364?.}"
    found = await extractor.extract(data, name="menu.rtf")
    assert found.text.split() == ["Éclair", "for", "**two**", "costs", "5", "€."]
    assert found.title == "Menu"


async def test_a_mail_shows_its_headers_and_names_its_attachments(extractor: FileExtractor) -> None:
    data = samples.mail("Lost key", "It is under the mat.", attachment=("plan.pdf", b"%PDF-"))
    found = await extractor.extract(data, name="1.eml")
    assert "From: ana@example.org" in found.text
    assert "It is under the mat." in found.text
    assert (found.title, found.facts.date) == ("Lost key", "2026-03-03")
    assert found.facts.notes == ("Attachments are not opened: plan.pdf.",)


async def test_a_mailbox_has_a_section_for_each_message(extractor: FileExtractor) -> None:
    table = EmailMessage()
    table["From"], table["Subject"] = "Bo <bo@example.org>", "Größen"
    table.set_content("The sizes are attached.\n")
    table.add_attachment(
        b"frame,size\nWherry,52\n", maintype="text", subtype="csv", filename="sizes.csv"
    )
    box = samples.mailbox(
        samples.mail("Lost key", "From here on\nit is under the mat.\n"),
        table.as_bytes(),
        samples.mail("Plan", "See below.\n", attachment=("plan.pdf", b"%PDF-")),
    )
    found = await extractor.extract(box, name="list.mbox")
    first, second, third = slices(found)
    assert first.startswith("# Lost key\n\nFrom: ana@example.org")
    assert "\nFrom here on\nit is under the mat." in first
    assert second.startswith("# Größen\n\nFrom: Bo <bo@example.org>")
    assert "## sizes.csv\n\nframe,size\nWherry,52" in second
    assert third.startswith("# Plan\n")
    assert [it.label for it in found.units] == ["message 1", "message 2", "message 3"]
    assert (found.title, found.facts.authors) == ("", ("ana@example.org", "Bo"))
    assert found.facts.content_type == "application/mbox"
    assert found.facts.notes == ("Message 3: Attachments are not opened: plan.pdf.",)


async def test_a_mailbox_of_many_messages_is_read_whole(extractor: FileExtractor) -> None:
    box = samples.mailbox(*(samples.mail(f"No. {it}", f"Body {it}.\n") for it in range(600)))
    found = await extractor.extract(box, name="archive.txt")
    assert len(found.units) == 600
    assert "# No. 599\n" in found.text
    assert found.text.count("\nSubject: ") == 600


async def test_a_page_gives_its_body_and_its_head_gives_facts(extractor: FileExtractor) -> None:
    page = """<!doctype html><html><head><title>Brakes</title>
    <meta name="citation_author" content="Ana B"><meta name="date" content="2026-03-03">
    </head><body><h1>How to brake</h1><p>Gently.</p><script>steal()</script>
    <table><tr><th>Bike</th><th>Load</th></tr><tr><td>Wherry</td><td>120 kg</td></tr></table>"""
    found = await extractor.extract(page.encode(), name="brakes.html")
    assert found.text.strip() == f"# How to brake\n\nGently.\n\n{TABLE}"
    assert (found.title, found.facts.authors) == ("Brakes", ("Ana B",))
    assert found.facts.date == "2026-03-03"


async def test_a_picture_inside_a_page_gives_its_words_and_none_of_its_bytes(
    extractor: FileExtractor,
) -> None:
    drawing = '<svg width="9"><title>Rig</title><path d="M1 2"/><text>Mast</text></svg>'
    photo = f'<img alt="a crane" src="data:image/png;base64,{"QUFB" * 400}">'
    page = f"<html><body><p>Before {photo}</p>{drawing}<p>After</p></body></html>"
    found = await extractor.extract(page.encode(), name="rig.html")
    assert found.text.split() == ["Before", "a", "crane", "Rig", "Mast", "After"]


async def test_a_page_two_hundred_thousand_levels_deep_keeps_its_words(
    extractor: FileExtractor,
) -> None:
    page = b"<div>" * 200_000 + b"Deep words." + b"</div>" * 200_000
    found = await extractor.extract(page, name="deep.html")
    assert (found.status, found.text) == (ExtractionStatus.OK, "Deep words.")


async def test_the_text_of_a_drawing_is_read(extractor: FileExtractor) -> None:
    space = 'xmlns:draw="d" xmlns:text="t"'
    content = (
        f'<body {space}><draw:page draw:name="page1"><draw:custom-shape><text:p>Crane 7</text:p>'
        "</draw:custom-shape></draw:page></body>"
    )
    mimetype = "application/vnd.oasis.opendocument.graphics"
    found = await extractor.extract(
        samples.zipped({"mimetype": mimetype, "content.xml": content}), name="quay.odg"
    )
    assert (found.status, found.text.strip()) == (ExtractionStatus.OK, "Crane 7")
    assert found.facts.content_type == mimetype
