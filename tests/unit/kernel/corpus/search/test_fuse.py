"""Two arms made one list."""

import pytest

from pecia.kernel.corpus.search.fuse import (
    FOREIGN_SEMANTIC_WEIGHT,
    SEMANTIC_WEIGHT,
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
