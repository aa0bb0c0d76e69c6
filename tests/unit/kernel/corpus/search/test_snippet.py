"""The piece of a text that shows why it was found."""

import unicodedata

from pecia.kernel.corpus.keyword.query.parser import parse_query
from pecia.kernel.corpus.search.excerpt import build_snippet
from pecia.kernel.text.span import Span

FILLER = "Nothing to see in this sentence. " * 20


def test_the_words_that_were_asked_for_are_marked() -> None:
    found = build_snippet("Heated aircraft, heating.", parse_query("heat"))
    assert found.highlight() == "**Heated** aircraft, **heating**."
    assert found.marks == (Span(0, 6), Span(17, 24))


def test_the_place_where_most_of_the_words_stand_is_shown() -> None:
    text = f"An aircraft. {FILLER}The heated aircraft flew. {FILLER}"
    found = build_snippet(text, parse_query("heated aircraft"), limit=100)
    assert "**heated** **aircraft**" in found.highlight()
    assert len(found.text) <= 100
    assert found.text == text[found.span.start : found.span.end]


def test_a_text_without_the_words_is_shown_from_its_beginning() -> None:
    found = build_snippet(FILLER, parse_query("boat"), limit=50)
    assert found.text == "Nothing to see in this sentence. Nothing to see in"
    assert found.marks == ()


def test_a_short_text_is_shown_whole() -> None:
    assert build_snippet("short", parse_query("long")).text == "short"
    assert build_snippet("", parse_query("long")).text == ""


def test_no_word_is_cut_in_half() -> None:
    found = build_snippet(f"{FILLER}heated{FILLER}", parse_query("heat"), limit=60)
    words = found.text.split()
    assert {*words} <= {*f"{FILLER}heated{FILLER}".split()}


def test_a_word_longer_than_the_limit_is_cut_and_stays_bounded() -> None:
    found = build_snippet("x" * 500, parse_query("y"), limit=40)
    assert found.text == "x" * 40


def test_an_accent_stays_with_its_letter() -> None:
    text = unicodedata.normalize("NFD", "é" * 200)
    found = build_snippet(text, parse_query("x"), limit=51)
    assert found.text == unicodedata.normalize("NFD", "é" * 25)


def test_pairs_of_signs_are_one_mark() -> None:
    assert build_snippet("関連する知識検索の方法", parse_query("知識検索")).highlight() == (
        "関連する**知識検索**の方法"
    )


def test_other_languages_are_marked_by_their_own_stems() -> None:
    found = build_snippet("Die Häuser der Stadt", parse_query("Haus"), "de")
    assert found.highlight("<", ">") == "Die <Häuser> der Stadt"


def test_a_page_gets_escaped_text_and_marks() -> None:
    found = build_snippet("<b>heat</b> & light", parse_query("heat"))
    assert found.html == "&lt;b&gt;<mark>heat</mark>&lt;/b&gt; &amp; light"
