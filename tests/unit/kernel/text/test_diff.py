"""Differences and merges."""

import pytest

from pecia.kernel.text.diff.align import align
from pecia.kernel.text.diff.diff import (
    DiffKind,
    DiffPiece,
    UnifiedStyle,
    diff_edits,
    diff_lines,
    diff_words,
    unified_diff,
)
from pecia.kernel.text.diff.merge import MergeConflict, MergedText, merge_texts
from pecia.kernel.text.span import Edit, Span, apply_edits

OLD = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n"


def test_lines_that_came_and_went_are_counted() -> None:
    found = diff_lines("a\nb\nc\n", "a\nB\nc\nd")
    assert (found.additions, found.deletions) == (2, 1)
    assert [it.change.value for it in found.lines] == [
        *("unchanged", "removed", "added", "unchanged", "added")
    ]


def test_words_are_compared_inside_lines() -> None:
    assert diff_words("the quick fox", "the slow fox") == [
        DiffPiece(DiffKind.UNCHANGED, "the "),
        DiffPiece(DiffKind.REMOVED, "quick"),
        DiffPiece(DiffKind.ADDED, "slow"),
        DiffPiece(DiffKind.UNCHANGED, " fox"),
    ]


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


def test_a_unified_diff_has_context_and_line_numbers() -> None:
    new = OLD.replace("two", "2") + "ten"
    assert unified_diff(OLD, new, UnifiedStyle("old.md", "new.md", context=1)) == (
        "--- old.md\n+++ new.md\n"
        "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"
        "@@ -9 +9,2 @@\n nine\n+ten\n\\ No newline at end of file\n"
    )


def test_a_unified_diff_of_a_new_text_starts_at_nothing() -> None:
    assert unified_diff("", "a\n") == "--- a\n+++ b\n@@ -0,0 +1 @@\n+a\n"


def test_equal_texts_have_no_difference() -> None:
    assert unified_diff(OLD, OLD) == ""
    assert diff_edits(OLD, OLD) == []
    assert diff_lines("", "").lines == ()


def test_changes_close_together_share_a_hunk() -> None:
    assert unified_diff(OLD, OLD.replace("two", "2").replace("eight", "8")).count("@@ -") == 1
    assert (
        unified_diff(OLD * 2, OLD.replace("two", "2") + OLD.replace("nine", "9")).count("@@ -") == 2
    )


def test_changes_in_different_places_are_merged() -> None:
    merged = merge_texts(OLD, OLD.replace("two", "TWO"), OLD.replace("nine", "NINE"))
    assert merged.pieces == (MergedText(OLD.replace("two", "TWO").replace("nine", "NINE")),)


def test_changes_in_one_line_are_merged_by_words() -> None:
    assert merge_texts("a b c\n", "a X c\n", "a b c d\n").text() == "a X c d\n"


def test_a_clash_keeps_both_sides() -> None:
    merged = merge_texts(OLD, OLD.replace("two", "zwei"), OLD.replace("two", "deux"))
    assert merged.clashes == (MergeConflict("two\n", "zwei\n", "deux\n"),)
    assert "<<<<<<< bo\nzwei\n=======\ndeux\n>>>>>>> disk\nthree\n" in merged.text("bo", "disk")


def test_two_insertions_at_one_place_are_a_clash() -> None:
    assert merge_texts("a\n", "a\nb\n", "a\nc\n").clashes == (MergeConflict("", "b\n", "c\n"),)


def test_a_change_in_what_the_other_side_removed_is_a_clash() -> None:
    merged = merge_texts("a\nb\nc\n", "a\nc\n", "a\nB\nc\n")
    assert merged.clashes == (MergeConflict("b\n", "", "B\n"),)


def test_a_last_line_without_an_end_is_not_glued_to_another() -> None:
    assert merge_texts("one\n", "a", "one\ntwo\n").clashes == (
        MergeConflict("one\n", "a", "one\ntwo\n"),
    )


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
