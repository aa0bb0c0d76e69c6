"""Words weigh among what is visible, however many classes there are and whatever was deleted."""

import pytest

from pecia.kernel.corpus.keyword import idf
from pecia.kernel.corpus.keyword.index import (
    Filter,
    IndexEntry,
    KeywordIndex,
    VisibleStatistics,
    parse_query,
)

MINE = VisibleStatistics(frozenset({1}), 3)


def scores(index: KeywordIndex, words: str) -> dict[int, float]:
    found = index.search(parse_query(words), Filter(MINE.classes), 10, MINE)
    return {it.id: it.score for it in found}


def of_class(acl: int, first: int, *bodies: str) -> list[IndexEntry]:
    return [IndexEntry(n, n, acl, body=it) for n, it in enumerate(bodies, start=first)]


SEEN = of_class(1, 1, "heron reed", "heron mill", "otter mill")


def test_a_rare_word_of_the_visible_texts_outweighs_one_that_only_hidden_texts_make_rare() -> None:
    index = KeywordIndex.in_memory()
    index.apply([], [*SEEN, *of_class(2, 10, *["otter sluice"] * 9)])
    found = scores(index, "heron otter")
    assert found[3] > found[1] == found[2]


def test_a_word_of_hidden_texts_alone_finds_nothing() -> None:
    index = KeywordIndex.in_memory()
    index.apply([], [*SEEN, *of_class(2, 10, "sluice gate")])
    assert scores(index, "sluice") == {}


def test_deleted_texts_do_not_count() -> None:
    index, other = KeywordIndex.in_memory(), KeywordIndex.in_memory()
    index.apply([], [*SEEN, *of_class(1, 10, "otter sluice", "otter reed")])
    index.apply([10, 11], [])
    assert scores(index, "sluice") == {}
    other.apply([], SEEN)
    assert scores(index, "heron otter") == pytest.approx(scores(other, "heron otter"), rel=1e-4)


def test_more_classes_than_the_engine_counts_by(monkeypatch: pytest.MonkeyPatch) -> None:
    index = KeywordIndex.in_memory()
    hidden = [IndexEntry(n, n, n, body="otter reed") for n in range(10, 20)]
    index.apply([], [*SEEN, *hidden])
    expected = scores(index, "heron otter reed")
    monkeypatch.setattr(idf, "MAX_BUCKETS", 2)
    index.reload()
    assert scores(index, "heron otter reed") == expected
