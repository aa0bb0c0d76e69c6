"""A difference is enough to make one text of the other."""

from hypothesis import given, settings
from hypothesis import strategies as st

from pecia.kernel.text.diff.align import align
from pecia.kernel.text.diff.diff import diff_edits
from pecia.kernel.text.span import apply_edits

ROWS = ("one\n", "two words\n", "three, four\n", "\n", "end", "a b c\r\n", "\t\n")
texts = st.lists(st.sampled_from(ROWS), max_size=8).map("".join) | st.text("ab \n", max_size=20)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 4), max_size=15), st.lists(st.integers(0, 4), max_size=15))
def test_what_is_aligned_is_equal_and_in_order(old: list[int], new: list[int]) -> None:
    old_at = new_at = 0
    for it in align(old, new):
        assert it.old >= old_at
        assert it.new >= new_at
        assert old[it.old : it.old + it.size] == new[it.new : it.new + it.size]
        old_at, new_at = it.old + it.size, it.new + it.size
    assert old_at <= len(old)
    assert new_at <= len(new)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 2), max_size=12), st.integers(0, 12), st.integers(0, 3))
def test_one_item_more_leaves_all_others_aligned(old: list[int], at: int, item: int) -> None:
    new = [*old[:at], item, *old[at:]]
    assert sum(it.size for it in align(old, new)) == len(old)
    assert sum(it.size for it in align(new, old)) == len(old)


@settings(max_examples=100, deadline=None)
@given(texts, texts)
def test_edits_turn_the_old_text_into_the_new_one(old: str, new: str) -> None:
    assert apply_edits(old, diff_edits(old, new)) == new
