"""Which passages answer where no model does."""

from dataclasses import replace

from pecia.features.lake.core.answer.compose import select_passages, stands_out
from pecia.features.lake.core.answer.quotation import QuotablePassage
from pecia.kernel.corpus.search.hydrate import HydratedChunk
from pecia.kernel.text.span import Span
from pecia.kernel.tool.passages import Excerpt


def passage(text: str, match: float | None) -> QuotablePassage:
    key = f"{text}.md"
    size = len(text)
    # fmt: off
    chunk = HydratedChunk(
        1, 1, "docs", key, key, "", 1, 0, 0, size, text, "", (), "", None, None, None, None, None, 1
    )
    # fmt: on
    excerpt = Excerpt(0, text, Span(0, size), Span(0, size))
    return QuotablePassage(chunk, key, key, "", "original", (excerpt,), match)


def texts(*passages: QuotablePassage) -> list[str]:
    return [it.text for it in select_passages(passages)]


def test_what_ranks_above_the_likeliest_passage_is_shown_however_unlikely() -> None:
    german, english = passage("Der Akku lädt sechs Stunden.", 0.05), passage("Belts last.", 0.1)
    assert texts(german, english) == ["Der Akku lädt sechs Stunden.", "Belts last."]


def test_what_ranks_below_and_is_much_less_likely_is_not_shown() -> None:
    assert texts(passage("Six hours.", 0.8), passage("Belts last.", 0.1)) == ["Six hours."]
    assert texts(passage("Six hours.", 0.8), passage("Half a day.", 0.5)) == [
        "Six hours.",
        "Half a day.",
    ]


def test_without_any_match_all_are_shown() -> None:
    assert texts(passage("One.", None), passage("Two.", None)) == ["One.", "Two."]


def matches(*values: float | None) -> list[QuotablePassage]:
    return [passage(f"Text {number}.", it) for number, it in enumerate(values)]


def test_one_passage_stands_out_and_several_alike_do_not() -> None:
    assert stands_out(matches(0.7, 0.3, 0.3, 0.2, 0.2, 0.1))
    assert stands_out(matches(0.2, 0.7, 0.6, 0.2, 0.2, 0.1))
    assert not stands_out(matches(0.4, 0.4, 0.4, 0.35, 0.35, 0.3))
    assert not stands_out(matches(0.7, 0.7, 0.7, 0.7, 0.7, 0.7))


def test_of_few_passages_one_stands_out_by_itself() -> None:
    assert stands_out(matches(0.8))
    assert not stands_out(matches(0.2))
    assert not stands_out(matches(None, None))
    assert not stands_out([])


TABLE = "| day | town | level |\n| --- | --- | --- |\n" + "".join(
    f"| 2031-05-{day:02} | {town} | {level} |\n"
    for day in range(1, 29)
    for town, level in (("Varberg", 100 + day), ("Halmstad", 200 + day))
)


def row_at(words: str) -> Span:
    start = TABLE.index(words)
    return Span(start, start + len(words))


def test_a_row_is_quoted_with_few_others_and_with_the_header_of_its_table() -> None:
    whole = Span(0, len(TABLE))
    marks = tuple(row_at(it) for it in ("2031-05-19", "2031-05-20 | Halmstad"))
    excerpt = Excerpt(0, TABLE, whole, whole, marks=(*marks, row_at("Halmstad | 220")))
    table = passage(TABLE, 0.9)
    [quoted] = select_passages([replace(table, excerpts=(excerpt,))])
    assert "| 2031-05-20 | Halmstad | 220 |" in quoted.text
    assert len(quoted.text) < len(TABLE) / 3
    assert quoted.header == "| day | town | level |\n| --- | --- | --- |\n"
    assert quoted.span.of(TABLE) == quoted.text
