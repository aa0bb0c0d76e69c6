"""Which passages answer where no model does."""

from pecia.features.lake.core.answer.compose import select_passages
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
