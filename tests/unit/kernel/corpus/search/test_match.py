"""The match of a hit: more for more of the query's rare words, and little for nothing."""

from hypothesis import given
from hypothesis import strategies as st

from pecia.kernel.corpus.search.evidence import CandidateText
from pecia.kernel.corpus.search.match import NO_ANSWER_MATCH, estimate_match

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


@given(st.text(max_size=200), st.none() | st.floats(-1, 1), st.lists(st.text(max_size=8)))
def test_it_is_a_probability(text: str, cosine: float | None, terms: list[str]) -> None:
    found = estimate_match(CandidateText("f", text, language="en"), terms, RARITY, cosine)
    assert 0 < found < 1
