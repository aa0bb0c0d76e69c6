"""PDFs are read page by page, with their own headings, numbers and facts."""

from pathlib import Path

import pytest

from pecia.adapters.extraction.extractor import FileExtractor, open_extractor
from pecia.adapters.extraction.model import ExtractionLimits
from pecia.adapters.extraction.status import ExtractionStatus
from pecia.kernel.text.canonical import UnitKind
from pecia.kernel.text.chunks.chunk import ChunkSource, chunk_text
from tests.unit.adapters.extraction import samples

pytestmark = pytest.mark.anyio

HANDBOOK = Path(__file__).parents[4] / "examples" / "handbook"
PAGES = [
    ["# Loads", "A Wherry carries 120 kg when it is dry."],
    ["2 Brakes", "Check the pads on every Monday morning."],
]


async def test_every_page_is_a_unit_with_its_number(extractor: FileExtractor) -> None:
    found = await extractor.extract(samples.pdf(PAGES), name="manual.pdf")
    assert found.status is ExtractionStatus.OK
    assert [(it.no, it.kind, it.page_no, it.span.of(found.text)) for it in found.units] == [
        (1, UnitKind.PAGE, 1, "Loads\nA Wherry carries 120 kg when it is dry."),
        (2, UnitKind.PAGE, 2, "2 Brakes\nCheck the pads on every Monday morning."),
    ]
    assert (found.extractor, found.facts.unit_count) == ("pypdfium2", 2)


async def test_its_pages_are_told_as_they_are_read(extractor: FileExtractor) -> None:
    told: list[tuple[int, int]] = []

    def hear(done: int, of: int) -> None:
        told.append((done, of))

    await extractor.extract(samples.pdf(PAGES), name="a.pdf", on_page=hear)
    assert told == [(0, 2), (1, 2), (2, 2)]
    await extractor.extract(b"# A note", name="a.md", on_page=hear)
    assert len(told) == 3


async def test_its_outline_gives_chunks_their_headings(extractor: FileExtractor) -> None:
    data = samples.pdf(PAGES, outline=[("Loads", 1), ("Brakes", 2)])
    found = await extractor.extract(data, name="manual.pdf")
    assert [(it.title, found.text[it.start :][:8]) for it in found.facts.outline] == [
        ("Loads", "Loads\nA "),
        ("Brakes", "2 Brakes"),
    ]
    source = ChunkSource(found.text, found.units, found.facts.markup, found.facts.outline)
    assert [it.heading_path for it in chunk_text(source)] == [("Loads",), ("Brakes",)]


async def test_without_an_outline_large_lines_are_headings(extractor: FileExtractor) -> None:
    found = await extractor.extract(samples.pdf(PAGES), name="manual.pdf")
    assert [(it.start, it.level, it.title) for it in found.facts.outline] == [(0, 1, "Loads")]
    assert found.title == "Loads"


async def test_what_it_says_about_itself_becomes_facts(extractor: FileExtractor) -> None:
    about = {"Title": "Manual", "Author": "Ana B; Bo C", "CreationDate": "D:20260303100000Z"}
    found = await extractor.extract(samples.pdf(PAGES, about=about), name="manual.pdf")
    assert (found.title, found.facts.authors) == ("Manual", ("Ana B", "Bo C"))
    assert found.facts.date == "2026-03-03"


async def test_a_title_that_is_a_file_name_is_not_believed(extractor: FileExtractor) -> None:
    data = samples.pdf(PAGES, about={"Title": "Microsoft Word - final2.doc"})
    assert (await extractor.extract(data, name="manual.pdf")).title == "Loads"


async def test_a_page_spelled_letter_by_letter_is_read_again(extractor: FileExtractor) -> None:
    spaced = samples.spaced_pdf("Consolidated statements of income and of cash flows")
    found = await extractor.extract(spaced, name="spaced.pdf")
    assert "Consolidated statements" in found.text


async def test_what_its_owner_forbids_is_noted(extractor: FileExtractor) -> None:
    found = await extractor.extract(samples.encrypted_pdf(""), name="owner.pdf")
    assert (found.status, found.text) == (ExtractionStatus.OK, "Locked words.")
    assert found.facts.notes == ("Its owner forbids copying from it.",)


async def test_ranges_give_the_same_text_as_one_reading(extractor: FileExtractor) -> None:
    data = samples.pdf(
        [[f"# Part {number}", f"Words of page {number}."] for number in range(1, 24)]
    )
    whole = await extractor.extract(data, name="long.pdf")
    async with open_extractor(ExtractionLimits(children=1, units_at_once=5)) as by_fives:
        assert await by_fives.extract(data, name="long.pdf") == whole
    assert [it.no for it in whole.units] == list(range(1, 24))


@pytest.mark.parametrize(
    ("key", "pages", "title"),
    [
        ("manuals/wherry-service-manual.pdf", 6, "Wherry QL-W3: Service manual"),
        ("reports/annual-report-2025.pdf", 3, "Annual report 2025"),
    ],
)
async def test_the_handbook_s_pdfs_are_read(
    extractor: FileExtractor, key: str, pages: int, title: str
) -> None:
    found = await extractor.extract(HANDBOOK / key)
    assert (found.status, len(found.units)) == (ExtractionStatus.OK, pages)
    assert title in found.title
    assert found.facts.language == "en"
    assert found.facts.outline
