"""Differences between texts."""

import pytest

from pecia.kernel.text.diff.align import align
from pecia.kernel.text.diff.diff import diff_edits
from pecia.kernel.text.span import Edit, Span, apply_edits


def test_edits_touch_only_the_characters_that_differ() -> None:
    assert diff_edits("a\nthe colour\nb\n", "a\nthe color\nb\nc\n") == [
        Edit(Span(10, 11), ""),
        Edit(Span(15, 15), "c\n"),
    ]


def test_an_edit_never_counts_a_character_twice() -> None:
    assert diff_edits("aa", "aaa") == [Edit(Span(2, 2), "a")]
    assert diff_edits("abab", "ab") == [Edit(Span(2, 4), "")]


def test_sequences_without_unique_items_are_aligned_as_long_as_can_be() -> None:
    assert sum(it.size for it in align("abcabba", "cbabac")) == 4


def test_equal_texts_have_no_difference() -> None:
    assert diff_edits("one\ntwo\n", "one\ntwo\n") == []
    assert diff_edits("", "") == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("x\n" * 100_000, "y\n" * 100_000),
        ("ab " * 50_000, "ba " * 50_000),
        ("a b " * 50_000, "b a a " * 40_000),
        ("x\n" * 100_000, "x\n" * 50_000 + "y\n" + "x\n" * 40_000),
    ],
)
def test_texts_without_structure_are_still_compared_in_bounded_time(old: str, new: str) -> None:
    assert apply_edits(old, diff_edits(old, new)) == new
