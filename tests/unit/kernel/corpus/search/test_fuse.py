"""Two arms made one list."""

import pytest

from pecia.kernel.corpus.keyword.entry import KeywordHit
from pecia.kernel.corpus.search.fuse import (
    FOREIGN_SEMANTIC_WEIGHT,
    SEMANTIC_WEIGHT,
    apply_context,
    choose_semantic_weight,
    fuse,
)


def test_each_arm_counts_as_its_weight_says() -> None:
    found = fuse({1: 8.0, 2: 4.0}, {1: 0.1, 2: 0.5, 3: 0.3}, weight=0.5)
    assert [(it.id, it.score) for it in found] == [
        (2, pytest.approx(0.75)),
        (1, pytest.approx(0.5)),
        (3, pytest.approx(0.25)),
    ]
    assert (found[2].words, found[2].meaning, found[2].cosine) == (0, pytest.approx(0.5), 0.3)


def test_without_vectors_the_words_decide_alone() -> None:
    found = fuse({1: 2.0, 2: 4.0}, {}, weight=0.7)
    assert [(it.id, it.score, it.meaning) for it in found] == [(2, 1.0, None), (1, 0.5, None)]


def test_without_words_the_meaning_decides_alone() -> None:
    assert [it.id for it in fuse({}, {1: 0.2, 2: 0.9}, weight=0.4)] == [2, 1]


def test_nothing_found_is_nothing_fused() -> None:
    assert fuse({}, {}) == []


def hit(id_: int, score: float, chunks: int = 2) -> KeywordHit:
    return KeywordHit(id_, id_, score, 0, chunks)


def test_the_first_hits_come_by_their_context_and_the_others_stay_below() -> None:
    hits = [hit(1, 9.0), hit(2, 8.0), hit(3, 7.9), hit(4, 7.0)]
    found = apply_context(hits, {1: 5.0, 2: 6.0}, 2)
    assert [it.id for it in found] == [2, 1, 3, 4]
    assert found[1].score > found[2].score > found[3].score


def test_hits_of_long_files_and_of_single_chunks_keep_their_scores() -> None:
    hits = [hit(1, 9.0, 1), hit(2, 8.0, 40)]
    assert apply_context(hits, {1: 5.0, 2: 6.0}, 2) == hits


def test_equal_candidates_come_by_id() -> None:
    assert [it.id for it in fuse({3: 1.0, 1: 1.0, 2: 1.0}, {})] == [1, 2, 3]


def test_equal_cosines_speak_against_nobody() -> None:
    assert [it.meaning for it in fuse({1: 1.0}, {1: 0.4, 2: 0.4})] == [1.0, 1.0]


def test_a_text_that_waits_for_its_vector_keeps_the_score_of_its_words() -> None:
    found = {it.id: it.score for it in fuse({1: 9.0, 2: 8.0, 3: 1.0}, {1: 0.5, 3: 0.9})}
    assert found[2] == pytest.approx(8 / 9)


@pytest.mark.parametrize(
    ("query", "language", "weight"),
    [
        ("how do I make a token", "en", SEMANTIC_WEIGHT),
        ("tokens", "en", SEMANTIC_WEIGHT),
        ("FY2018", "en", SEMANTIC_WEIGHT),
        ("2018", "en", SEMANTIC_WEIGHT),
        ("wie macht man das mit dem Schlüssel und der Tür", "en", FOREIGN_SEMANTIC_WEIGHT),
        ("как сделать токен", "en", FOREIGN_SEMANTIC_WEIGHT),
        ("知識の検索", "en", FOREIGN_SEMANTIC_WEIGHT),
        ("知識の検索", "", SEMANTIC_WEIGHT),
    ],
)
def test_meaning_counts_less_in_a_language_the_embedder_does_not_know(
    query: str, language: str, weight: float
) -> None:
    assert choose_semantic_weight(query, language) == weight
