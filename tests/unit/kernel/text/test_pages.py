"""What stands above a page, and which lines are only the report's own."""

from pecia.kernel.text.canonical import RawUnit, UnitKind, build_canonical_text
from pecia.kernel.text.chunks.chunk import ChunkSource, OutlineEntry, TextMarkup, chunk_text
from pecia.kernel.text.chunks.page_titles import find_page_titles

PROSE = "The harbour was rebuilt in stages, and each of them took longer than had been planned.\n"


def heads(*pages: str) -> list[tuple[str, ...]]:
    made = build_canonical_text(RawUnit(no, UnitKind.PAGE, it) for no, it in enumerate(pages, 1))
    found = find_page_titles(made.text, made.units)
    return [found.get(it.span.start, ()) for it in made.units]


def test_the_first_short_lines_are_the_title_of_a_page() -> None:
    page = f"Statement of Cash  Flows\n(In thousands)\n\n{PROSE}"
    assert heads(page) == [("Statement of Cash Flows", "(In thousands)")]


def test_prose_and_rows_of_tables_are_no_title() -> None:
    assert heads(PROSE, "and so it went on.\nThe End", "Sales 2021 2022 2023\n") == [(), (), ()]
    assert heads("The harbour was rebuilt and\nnobody was told of it.\n") == [()]


def test_lines_that_many_pages_have_are_left_out_whatever_their_number() -> None:
    pages = [f"Annual Report {no}\nChapter {letter}\n{PROSE}" for no, letter in enumerate("ABCDEF")]
    assert heads(*pages) == [(f"Chapter {letter}",) for letter in "ABCDEF"]


def test_every_chunk_of_a_page_stands_under_its_title() -> None:
    made = build_canonical_text(
        [
            RawUnit(1, UnitKind.PAGE, f"Balance Sheet\n\n{PROSE * 20}"),
            RawUnit(2, UnitKind.PAGE, PROSE),
        ]
    )
    outline = (OutlineEntry(0, 1, "Part II"),)
    chunks = chunk_text(ChunkSource(made.text, made.units, TextMarkup.PLAIN, outline))
    assert len(chunks) > 2
    assert {it.heading_path for it in chunks[:-1]} == {("Part II", "Balance Sheet")}
    assert chunks[-1].heading_path == ("Part II",)


def test_a_title_that_the_outline_knows_is_not_said_twice() -> None:
    made = build_canonical_text([RawUnit(1, UnitKind.PAGE, f"Balance Sheet\n\n{PROSE}")])
    outline = (OutlineEntry(0, 1, "Balance Sheet"),)
    [chunk] = chunk_text(ChunkSource(made.text, made.units, TextMarkup.PLAIN, outline))
    assert chunk.heading_path == ("Balance Sheet",)


def test_markup_says_itself_what_its_headings_are() -> None:
    made = build_canonical_text([RawUnit(1, UnitKind.PAGE, f"Balance Sheet\n\n{PROSE}")])
    [chunk] = chunk_text(ChunkSource(made.text, made.units, TextMarkup.MARKDOWN))
    assert chunk.heading_path == ()
