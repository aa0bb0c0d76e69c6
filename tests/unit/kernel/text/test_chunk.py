"""Canonical texts, chunks and windows."""

import pytest

from pecia.kernel.corpus.search.excerpt import WindowSize, build_window
from pecia.kernel.text.canonical import RawUnit, UnitKind, build_canonical_text
from pecia.kernel.text.chunks.chunk import (
    MAX_HEADING_CHARS,
    Chunk,
    ChunkSource,
    OutlineEntry,
    TextMarkup,
    chunk_text,
)
from pecia.kernel.text.chunks.tables import find_plain_tables, is_caption, is_row
from pecia.kernel.text.span import Span

SENTENCE = "The quick brown fox jumps over the lazy dog near the river. "


def pages(*texts: str) -> ChunkSource:
    made = build_canonical_text(RawUnit(i, UnitKind.PAGE, it) for i, it in enumerate(texts, 1))
    return ChunkSource(made.text, made.units, TextMarkup.PLAIN)


def test_a_canonical_text_has_one_way_to_be_written() -> None:
    made = build_canonical_text(
        [
            RawUnit(1, UnitKind.PAGE, "e\u0301\r\nb\rc\fd\0\ud800"),
            RawUnit(2, UnitKind.CUE, "x", "0:01", 1000, 2500),
        ]
    )
    assert made.text == "é\nb\nc\nd\ufffd\ufffd\n\f\nx"
    assert [it.span for it in made.units] == [Span(0, 9), Span(12, 13)]
    assert (made.units[1].ts_start_ms, made.units[1].ts_end_ms) == (1000, 2500)
    assert [it.page_no for it in made.units] == [1, None]


def test_a_place_is_in_the_unit_that_holds_it() -> None:
    made = build_canonical_text([RawUnit(1, UnitKind.PAGE, "ab"), RawUnit(2, UnitKind.PAGE, "c")])
    found = [made.unit_at(it) for it in (0, 1, 3, 5)]
    assert [it.no if it else None for it in found] == [1, 1, 1, 2]
    assert build_canonical_text([]).unit_at(0) is None


def test_an_empty_text_has_no_chunks() -> None:
    assert chunk_text(ChunkSource("")) == []
    assert build_canonical_text([]).text == ""


def test_prose_is_cut_between_sentences_at_a_good_length() -> None:
    chunks = chunk_text(ChunkSource(SENTENCE * 60))
    assert all(700 <= len(it.text) <= 1200 for it in chunks)
    assert all(it.text.endswith("river. ") for it in chunks)


def test_a_paragraph_end_is_a_better_place_than_a_sentence_end() -> None:
    text = SENTENCE * 13 + "\n\n" + SENTENCE * 13
    assert chunk_text(ChunkSource(text))[0].text == SENTENCE * 13 + "\n\n"


def test_a_heading_starts_a_chunk_unless_what_is_before_it_is_tiny() -> None:
    text = f"# Title\n\n## One\n\n{SENTENCE * 5}\n\n## Two\n\n{SENTENCE}\n"
    chunks = chunk_text(ChunkSource(text))
    assert [it.text.split("\n")[0] for it in chunks] == ["# Title", "## Two"]
    assert [it.heading_path for it in chunks] == [("Title", "One"), ("Title", "Two")]


def test_a_heading_is_never_left_at_the_end() -> None:
    table = "|a|b|\n|-|-|\n" + "|cell one|cell two|\n" * 100
    text = f"{SENTENCE * 12}\n\n## Sums\n\n{table}"
    chunks = chunk_text(ChunkSource(text))
    assert [it.text[:7] for it in chunks] == ["The qui", "## Sums"]


def test_a_long_heading_stays_with_what_follows_it() -> None:
    table = "|a|b|\n|-|-|\n" + "|cell one|cell two|\n" * 45
    (chunk,) = chunk_text(ChunkSource(f"# {'Heading ' * 40}\n\n{table}"))
    assert len(chunk.text) > 1000


def test_a_heading_without_end_is_not_repeated_whole_by_every_chunk() -> None:
    """A line of a megabyte would be stored a thousand times."""
    heading = "otter " * 20_000
    chunks = chunk_text(ChunkSource(f"# {heading}\n\nBody.\n"))
    assert "".join(it.text for it in chunks) == f"# {heading}\n\nBody.\n"
    assert chunks[-1].heading_path == (f"{heading[:MAX_HEADING_CHARS]}…",)


def test_the_header_of_a_table_is_never_left_at_the_end() -> None:
    header = "| " + "column " * 15 + "| b |\n|---|---|\n"
    text = SENTENCE * 11 + "\n\n" + header + ("| " + "cell " * 60 + "| x |\n") * 20
    assert chunk_text(ChunkSource(text))[1].text.startswith(header)


def test_a_rule_belongs_to_what_it_ends() -> None:
    text = f"# A\n\n{SENTENCE * 5}\n\n---\n\n# B\n\n{SENTENCE * 5}"
    assert [it.heading_path for it in chunk_text(ChunkSource(text))] == [("A",), ("B",)]


def test_a_table_up_to_the_limit_stays_whole() -> None:
    table = "| name | sum |\n|---|---|\n" + "| some name | 12345 |\n" * 150
    (before, whole, after) = chunk_text(ChunkSource(f"{SENTENCE * 8}\n\n{table}\n{SENTENCE * 5}"))
    assert whole.text.strip() == table.strip()
    assert (before.prefix, whole.prefix, after.prefix) == ("", "", "")


def test_a_longer_table_repeats_its_caption_and_header() -> None:
    head = "Table 3: sums\n\n| name | sum |\n|---|---|\n"
    text = head + "".join(f"| some name {i} | 12345 |\n" for i in range(300))
    first, *rest = chunk_text(ChunkSource(text))
    assert (first.prefix, first.text[: len(head)]) == ("", head)
    assert {it.prefix for it in rest} == {head}
    assert all(it.text.startswith("| some name") for it in rest)
    assert rest[0].readable == head + rest[0].text


def test_a_header_longer_than_a_chunk_is_not_repeated() -> None:
    header = "|" + "|".join(f"column {i}" for i in range(200)) + "|\n"
    text = header + "|-" * 200 + "|\n" + ("|" + "x|" * 200 + "\n") * 20
    assert {it.prefix for it in chunk_text(ChunkSource(text))} == {""}


def test_columns_of_numbers_in_plain_text_are_a_table() -> None:
    head = "CONSOLIDATED STATEMENTS OF INCOME\n(In millions)\nYEAR ENDED MAY 31, 2022 2021\n"
    rows = "".join(f"Line item {i} $ {i * 37:,} ({i * 41:,})\n" for i in range(200))
    text = f"Some words before it end here.\n{head}{rows}Then there are words again."
    (table,) = find_plain_tables(text, Span(0, len(text)))
    assert table.span.of(text) == head + rows
    chunks = chunk_text(ChunkSource(text, markup=TextMarkup.PLAIN))
    assert chunks[2].prefix.startswith("CONSOLIDATED STATEMENTS OF INCOME\n")


def test_tables_that_follow_each_other_do_not_overlap() -> None:
    rows = "Sales 1 2\nCosts 3 4\nTotal 5 6\n"
    text = f"{rows}one\n\ntwo\n\nthree\n{rows}"
    first, second = find_plain_tables(text, Span(0, len(text)))
    assert (first.span.of(text), second.head.of(text)) == (rows, "one\n\ntwo\n\nthree\n")
    assert second.span == Span(first.span.end, len(text))


def test_a_title_stays_with_its_table() -> None:
    title = "3M Company\nStatement of Income\nYears ended December 31\n\n"
    text = title + "".join(f"Line item {i} $ {i * 37:,} ({i * 41:,})\n" for i in range(50))
    (chunk,) = chunk_text(ChunkSource(text, markup=TextMarkup.PLAIN))
    assert chunk.text == text


@pytest.mark.parametrize(
    ("line", "row"),
    [
        ("Revenues $ 46,710 $ 44,538", True),
        ("Net income (loss) 6,046 (5,727)", True),
        ("Total 12% 13%", True),
        ("a\tb", True),
        ("name   12   x", True),
        ("In 2020 and 2021 we grew.", False),
        ("Chapter 12", False),
        ("", False),
    ],
)
def test_a_row_ends_in_numbers(line: str, *, row: bool) -> None:
    assert is_row(line + "\n") == row


def test_a_caption_is_one_line_that_announces_a_table() -> None:
    assert all(map(is_caption, ["Table 1", "**Sums**\n", "The sums are:", "_Exhibit 4_ x"]))
    assert not any(map(is_caption, ["Words.", "Table 1\nmore", "Tabletop games", "x" * 300 + ":"]))


def test_no_chunk_reaches_over_the_end_of_a_page() -> None:
    source = pages(SENTENCE * 3, SENTENCE * 20, "", "last")
    chunks = chunk_text(source)
    numbers = [it.unit.page_no if it.unit else None for it in chunks]
    assert numbers == [1, 2, 2, 4]
    assert chunks[2].text.endswith("\n\f\n\n\f\n")


@pytest.mark.parametrize("text", ["", "word", "# Head\n", "|a|b|\n|-|-|\n"])
def test_white_space_alone_is_bounded_too(text: str) -> None:
    chunks = chunk_text(ChunkSource(text + "\n" * 10_000))
    assert max(len(it.text) for it in chunks) <= 1_200


def test_sections_without_a_locator_may_share_a_chunk() -> None:
    made = build_canonical_text(RawUnit(i, UnitKind.SECTION, f"Part {i}.") for i in (1, 2))
    (chunk,) = chunk_text(ChunkSource(made.text, made.units))
    assert chunk.text == "Part 1.\n\f\nPart 2."


def test_an_outline_gives_plain_text_its_headings() -> None:
    text = f"Item 1. Business\n{SENTENCE * 5}\nItem 2. Risks\n{SENTENCE * 5}"
    second = text.index("Item 2")
    outline = [OutlineEntry(0, 1, "Business"), OutlineEntry(second, 1, "Risks")]
    chunks = chunk_text(ChunkSource(text, markup=TextMarkup.PLAIN, outline=outline))
    assert [(it.start, it.heading_path) for it in chunks] == [
        (0, ("Business",)),
        (second, ("Risks",)),
    ]


def test_a_slide_does_not_stand_under_the_heading_of_another() -> None:
    made = build_canonical_text(
        [RawUnit(1, UnitKind.SLIDE, "# One\n\ntext"), RawUnit(2, UnitKind.SLIDE, "text")]
    )
    assert [it.heading_path for it in chunk_text(ChunkSource(made.text, made.units))] == [
        ("One",),
        (),
    ]


def test_frontmatter_makes_no_heading() -> None:
    chunks = chunk_text(ChunkSource("---\ntitle: x\n---\n\nbody"))
    assert [it.heading_path for it in chunks] == [()]


def test_a_long_word_is_cut_but_no_letter_is() -> None:
    chunks = chunk_text(ChunkSource("x" * 999 + "e\u0301" * 400))
    assert not any(it.text.startswith("\u0301") for it in chunks)


def short_chunks(count: int = 5, size: int = 700) -> list[Chunk]:
    texts = [f"{i} " + "word " * ((size - 2) // 5) for i in range(count)]
    starts = [sum(map(len, texts[:i])) for i in range(count)]
    return [
        Chunk(i, start, start + len(text), text, f"<{i}>", (), None)
        for i, (start, text) in enumerate(zip(starts, texts, strict=True))
    ]


def test_a_window_gives_both_neighbours_their_share() -> None:
    chunks = short_chunks()
    window = build_window(chunks, 2)
    assert (window.first_seq, window.last_seq, window.truncated) == (1, 3, True)
    assert 1700 <= len(window.text) <= 1800
    assert chunks[2].text in window.text
    assert window.text.startswith("word ")


def test_a_window_at_the_edge_gives_the_other_side_more() -> None:
    chunks = short_chunks()
    window = build_window(chunks, 0)
    assert (window.span.start, window.last_seq, window.truncated) == (0, 1, False)


def test_a_window_that_holds_all_is_not_truncated() -> None:
    chunks = short_chunks(3, 300)
    window = build_window(chunks, 1)
    assert (window.text, window.truncated) == ("".join(it.text for it in chunks), False)
    assert window.readable == "<0>" + window.text


def test_a_hit_longer_than_the_window_is_shown_around_its_match() -> None:
    (chunk,) = short_chunks(1, 5000)
    window = build_window([chunk], 0, WindowSize(1000), focus=Span(3000, 3005))
    assert window.truncated
    assert window.span.start < 3000
    assert window.span.end > 3005
    assert len(window.text) <= 1000
