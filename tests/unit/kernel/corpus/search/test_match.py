"""The match of a hit: more for more of the query's rare words, and little for nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pecia.kernel.corpus.keyword.analysis.tokenizer import AskedTerms
from pecia.kernel.corpus.search.evidence import CandidateText
from pecia.kernel.corpus.search.match import (
    NO_ANSWER_MATCH,
    detect_text_language,
    estimate_best_match,
    estimate_match,
)

TERMS = ("pump", "broke", "machin", "room")
RARITY = {"pump": 0.6, "broke": 0.7, "machin": 0.3, "room": 0.2}


def match(text: str, cosine: float | None = None) -> float:
    return estimate_match(CandidateText("f", text, language="en"), TERMS, RARITY, cosine)


def test_a_text_with_all_words_matches_better_than_one_with_the_common_ones() -> None:
    whole = match("The pump broke, and the machine room got hot.")
    common = match("A room for a machine.")
    assert whole > common > match("Nothing of the kind.")


def test_a_missing_rare_word_costs_more_than_a_common_one() -> None:
    assert match("the pump broke in the room") > match("the machine room broke")


def test_what_shares_no_word_and_no_meaning_is_no_answer() -> None:
    assert match("Nothing of the kind.") < NO_ANSWER_MATCH
    assert match("Nothing of the kind.", 0.05) < NO_ANSWER_MATCH
    assert match("The pump broke, and the machine room got hot.", 0.7) > 0.5


GUIDE = CandidateText("f", "The pump broke, and the machine room got hot.", language="en")


@pytest.mark.parametrize(
    "question",
    [
        "Warum ist die Pumpe kaputt gegangen, und was war die Folge?",
        "Почему сломался насос?",
        "泵为什么坏了？",
        "पंप क्यों खराब हुआ?",
        "ปั๊มเสียเพราะอะไร",
        "Máy bơm hỏng vì sao?",
    ],
)
def test_a_question_in_another_language_is_judged_by_its_meaning(question: str) -> None:
    asked, terms = detect_text_language(question), ("pump", "kaputt")
    assert estimate_match(GUIDE, ("folg",), RARITY, 0.55, asked) > 0.2
    assert estimate_match(GUIDE, ("folg",), RARITY, 0.2, asked) < NO_ANSWER_MATCH
    assert estimate_match(GUIDE, ("folg",), RARITY, 0.55) < NO_ANSWER_MATCH
    # A name that stands in both texts counts.
    assert estimate_match(GUIDE, terms, RARITY, 0.4, asked) > estimate_match(
        GUIDE, ("kaputt",), RARITY, 0.4, asked
    )


def test_translated_words_count_where_the_text_is_near_in_meaning() -> None:
    asked = (
        AskedTerms(("насос", "слома")),
        AskedTerms(("насос", "слома"), {"pump": "насос", "broke": "слома"}),
    )
    language = detect_text_language("Почему сломался насос?")
    near, far = (estimate_best_match(GUIDE, asked, RARITY, it, language) for it in (0.3, 0.1))
    assert near > 0.2
    # Each word may be translated in several ways, and one of them may stand anywhere.
    assert far < NO_ANSWER_MATCH
    assert estimate_best_match(GUIDE, asked, RARITY, None, language) > NO_ANSWER_MATCH


def test_in_its_own_language_a_question_needs_its_words() -> None:
    asked = detect_text_language("What is the height of the tower at the harbour?")
    terms = ("height", "tower", "harbour")
    assert estimate_match(GUIDE, terms, RARITY, 0.5, asked) < NO_ANSWER_MATCH


def test_a_word_of_no_language_needs_a_near_text() -> None:
    asked = detect_text_language("xyzzyqq")
    assert estimate_match(GUIDE, ("xyzzyqq",), RARITY, 0.4, asked) < NO_ANSWER_MATCH
    assert estimate_match(GUIDE, ("xyzzyqq",), RARITY, 0.6, asked) > NO_ANSWER_MATCH


def test_japanese_and_chinese_share_a_script_and_latin_is_another() -> None:
    scripts = [detect_text_language(it).script for it in ("水車小屋の", "水车", "Mühle", "12 + 3")]
    assert scripts == ["CJK", "CJK", "LATIN", ""]


@given(st.text(max_size=200), st.none() | st.floats(-1, 1), st.lists(st.text(max_size=8)))
def test_it_is_a_probability(text: str, cosine: float | None, terms: list[str]) -> None:
    found = estimate_match(CandidateText("f", text, language="en"), terms, RARITY, cosine)
    assert 0 < found < 1
