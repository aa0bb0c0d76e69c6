"""No hidden text changes the score of a visible one, however long it is and in whatever language:
not when it comes, not when it goes, and not when the engine merges what is left.
"""

from random import Random
from typing import TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pecia.kernel.corpus.keyword.analysis.analyzer import AVERAGE_TOKENS
from pecia.kernel.corpus.keyword.analysis.balance import balance, ceil_length, floor_length
from pecia.kernel.corpus.keyword.index import (
    IndexEntry,
    KeywordIndex,
    VisibleStatistics,
    parse_query,
)
from tests.soak import SOAK

SEEN, HIDDEN = 1, 2
WORDS = {
    "en": ("heron", "river", "mill", "running", "waters"),
    "de": ("Reiher", "Fluss", "Mühle", "laufende", "Wasser"),
    "ja": ("川の鷺", "水車小屋", "流れる水", "古い橋", "森"),
}
QUERY = parse_query("heron river Fluss 水車")
VISIBLE = (
    IndexEntry(1, 1, SEEN, language="en", title="The heron", headings="river", body="heron " * 3),
    IndexEntry(2, 1, SEEN, language="en", title="The heron", body="river mill " * 40),
    IndexEntry(3, 2, SEEN, language="de", title="Fluss", body="Fluss Reiher " * 7, key="fluss.md"),
    IndexEntry(4, 3, SEEN, language="ja", title="水車", body="水車小屋 流れる水 " * 9),
)
STATISTICS = VisibleStatistics(frozenset({SEEN}), len(VISIBLE))

HiddenText: TypeAlias = tuple[str, int, int]
"""The language, the words of the body, and those of the headings."""
HiddenFile: TypeAlias = tuple[int, list[HiddenText]]

texts = st.tuples(st.sampled_from([*WORDS]), st.integers(0, 700), st.integers(0, 30))
groups = st.tuples(st.integers(10, 16), st.lists(texts, max_size=4))
"""A file comes in the place of what had its number; without texts it is gone."""


def entries(group: int, held: list[HiddenText], chance: Random) -> list[IndexEntry]:
    return [
        IndexEntry(
            group * 10 + at,
            group,
            HIDDEN,
            language=language,
            key="-".join(chance.choices(WORDS["en"], k=1 + heading % 4)) + ".md",
            title=" ".join(chance.choices(WORDS[language], k=heading)),
            headings=" ".join(chance.choices(WORDS[language], k=heading)),
            body=" ".join(chance.choices(WORDS[language], k=length)),
        )
        for at, (language, length, heading) in enumerate(held)
    ]


def figures(index: KeywordIndex) -> tuple[list[int], list[float], dict[int, dict[str, float]]]:
    ids = [it.id for it in VISIBLE]
    hits = [it for it in index.search(QUERY, limit=1000, visible=STATISTICS) if it.acl == SEEN]
    assert {it.id: it.chunks for it in hits} == {1: 2, 2: 2, 3: 1, 4: 1}
    context = index.context_scores(QUERY, ids, STATISTICS)
    scores = [it.score for it in hits] + [context[it] for it in ids]
    return [it.id for it in hits], scores, index.explain(QUERY, ids, STATISTICS)


@settings(max_examples=500 if SOAK else 15, deadline=None)
@given(st.lists(groups, min_size=1, max_size=12), st.integers())
def test_hidden_texts_move_no_score(changes: list[HiddenFile], seed: int) -> None:
    chance = Random(seed)
    index = KeywordIndex.in_memory()
    index.apply((), VISIBLE, 1)
    order, scores, parts = figures(index)
    for cursor, (group, held) in enumerate(changes, 2):
        index.apply([group], entries(group, held, chance), cursor)
        now = figures(index)
        assert now[0] == order
        assert now[1] == pytest.approx(scores, rel=5e-5)
        for id_, it in now[2].items():
            assert it == pytest.approx(parts[id_], rel=5e-5)
    # Closing waits for merges, which drop what was deleted.
    index.close_writer()
    index.reload()
    assert figures(index)[1] == pytest.approx(scores, rel=5e-5)


lengths = st.dictionaries(st.sampled_from([*AVERAGE_TOKENS]), st.integers(0, 5000))


@given(st.lists(lengths, min_size=1))
def test_chunks_and_their_balance_are_as_long_as_the_average(chunks: list[dict[str, int]]) -> None:
    stored = [{name: ceil_length(it) for name, it in held.items()} for held in chunks]
    added = balance(stored, AVERAGE_TOKENS)
    for field, average in AVERAGE_TOKENS.items():
        held = [it.get(field, 0) for it in (*stored, *added)]
        assert sum(held) == average * len(held)
        assert all(floor_length(it) == it for it in held)


@given(st.integers(0, 100_000))
def test_lengths_are_rounded_up_to_ones_that_are_stored_exactly(tokens: int) -> None:
    found = ceil_length(tokens)
    assert tokens <= found <= tokens * 9 / 8 + 1
    assert floor_length(found) == found
