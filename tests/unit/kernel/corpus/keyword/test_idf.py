"""Words weigh among what is visible, however many classes there are and whatever was deleted."""

from dataclasses import replace

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


def test_a_term_counts_in_texts_of_every_language() -> None:
    index = KeywordIndex.in_memory()
    english = [IndexEntry(n, n, 1, body="the kernel of a system", language="en") for n in range(8)]
    german = [IndexEntry(9, 9, 1, body="der Reiher und das Schilf", language="de")]
    index.apply([], [*english, *german])
    for visible in (None, VisibleStatistics(frozenset({1}), 9)):
        rarity = index.rarity(parse_query("kernel otter"), visible)
        assert rarity["kernel"] < 0.2
        assert rarity["otter"] == 1


def test_words_are_absent_that_no_visible_text_title_or_path_has() -> None:
    index = KeywordIndex.in_memory()
    visible = of_class(1, 1, "herons in the reed", "article px-1119 costs 5")
    named = IndexEntry(3, 3, 1, body="otter", title="Sluices", key="mill/gate.md")
    index.apply([], [*visible, named, *of_class(2, 10, "kestrel osprey")])

    def absent(words: str) -> tuple[str, ...]:
        return index.absent_words(parse_query(words), MINE)

    assert absent("what does article PX-9999 cost") == ("9999",)
    assert absent("when does the osprey leave the heron") == ("osprey", "leave")
    assert absent("sluices of the mill gate") == ()
    assert index.absent_words(parse_query("osprey and heron"), None) == ()


def test_texts_that_are_gone_count_for_nobody_who_sees_all_that_is_left() -> None:
    """The engine keeps deleted texts for a while. Who sees the rest may never have seen them."""
    index, other = KeywordIndex.in_memory(), KeywordIndex.in_memory()
    gone = of_class(2, 10, "otter sluice", "otter weir", "der Reiher und das Schilf")
    index.apply([], [*SEEN, *(replace(it, language="de") for it in gone)])
    index.apply([10, 11, 12], [])
    other.apply([], SEEN)
    for words in ("sluice", "otter", "heron sluice", "Reiher und otter", "mill reed weir"):
        query = parse_query(words)
        assert index.absent_words(query, None) == other.absent_words(query, None)
        assert index.rarity(query, None) == pytest.approx(other.rarity(query, None))
        found, expected = (
            {hit.id: hit.score for hit in it.search(query, Filter(), 10)} for it in (index, other)
        )
        assert found == pytest.approx(expected, rel=1e-4)
