"""Who wrote from an old text is told from who wrote from the new one, whatever marks they set."""

from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pecia.features.wiki.live.core.merge_base import find_merge_base
from tests.soak import SOAK

MANY = 5000 if SOAK else 300
MARKS = st.sampled_from((";", " ", ", ", ".\n", "\n\n", "; - ", ";;;;;;"))
SHARED = ("so", "the", "and", "is")
"""Words that both write, and that the old text does not have."""


@dataclass(frozen=True, slots=True)
class Case:
    old: str
    current: str
    from_old: str
    from_current: str


def _passage(words: Sequence[str], marks: Sequence[str]) -> str:
    return "".join(f"{word}{mark}" for word, mark in zip(words, marks, strict=False))


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """An old text, a passage that came into it, and one that somebody else put in: into the old
    text, or into the new one. At most half of the words that came are words of the other too."""
    marks = st.lists(MARKS, min_size=12, max_size=12)
    pieces = [f"o{at}{draw(MARKS)}" for at in range(draw(st.integers(0, 8)))]
    count = draw(st.integers(1, 6))
    shared = [*SHARED[: draw(st.integers(0, count // 2))]]
    came = draw(st.permutations([*(f"a{at}" for at in range(count - len(shared))), *shared]))
    theirs = draw(st.permutations([*(f"p{at}" for at in range(draw(st.integers(1, 6)))), *shared]))
    new, other = _passage(came, draw(marks)), _passage(theirs, draw(marks))
    place, there = (draw(st.integers(0, len(pieces))) for _ in "ab")
    # The passage may have come in the place of words that it replaced.
    gone = draw(st.integers(0, 2))
    now = [*pieces[:place], new, *pieces[place + gone :]]
    at = draw(st.integers(0, len(now)))
    return Case(
        "".join(pieces),
        "".join(now),
        "".join([*pieces[:there], other, *pieces[there:]]),
        "".join([*now[:at], other, *now[at:]]),
    )


@pytest.mark.timeout(0 if SOAK else 60)
@settings(max_examples=MANY, deadline=None)
@given(case=cases())
def test_a_text_is_known_by_the_words_that_its_writer_saw(case: Case) -> None:
    assert find_merge_base(case.from_old, case.current, [case.old]) == 0
    assert find_merge_base(case.from_current, case.current, [case.old]) is None
