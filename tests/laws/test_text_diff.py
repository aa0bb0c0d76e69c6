"""A difference is enough to make either text of the other; a merge keeps what both sides did."""

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from pecia.kernel.text.diff.align import align
from pecia.kernel.text.diff.diff import (
    DiffKind,
    DiffPiece,
    UnifiedStyle,
    diff_edits,
    diff_lines,
    diff_rows,
    diff_words,
    unified_diff,
)
from pecia.kernel.text.diff.merge import MergeConflict, MergedText, MergeResult, merge_texts
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
def test_pieces_hold_both_texts(old: str, new: str) -> None:
    lines = diff_lines(old, new)
    for pieces in (list(lines.lines), diff_words(old, new)):
        assert without(DiffKind.ADDED, pieces) == old
        assert without(DiffKind.REMOVED, pieces) == new
    assert lines.additions - lines.deletions == len(diff_rows(new)) - len(diff_rows(old))


@settings(max_examples=100, deadline=None)
@given(texts, texts)
def test_edits_turn_the_old_text_into_the_new_one(old: str, new: str) -> None:
    assert apply_edits(old, diff_edits(old, new)) == new


@settings(max_examples=100, deadline=None)
@given(texts, texts, st.integers(0, 3))
def test_a_unified_diff_can_be_applied(old: str, new: str, context: int) -> None:
    assert applied(old, unified_diff(old, new, UnifiedStyle(context=context))) == new


@settings(max_examples=100, deadline=None)
@given(texts, texts)
def test_a_change_by_one_side_is_taken(base: str, changed: str) -> None:
    assert merge_texts(base, base, changed) == whole(changed)
    assert merge_texts(base, changed, base) == whole(changed)
    assert merge_texts(base, changed, changed) == whole(changed)


@settings(max_examples=100, deadline=None)
@given(texts, texts, texts)
def test_a_merge_looks_the_same_from_the_other_side(base: str, ours: str, theirs: str) -> None:
    mirrored = [
        MergeConflict(it.base, it.theirs, it.ours) if isinstance(it, MergeConflict) else it
        for it in merge_texts(base, theirs, ours).pieces
    ]
    assert list(merge_texts(base, ours, theirs).pieces) == mirrored


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from("abcd"), min_size=2, max_size=8), st.data())
def test_changes_in_different_lines_are_both_kept(names: list[str], data: st.DataObject) -> None:
    base = [f"{name}{number}\n" for number, name in enumerate(names)]
    mine, yours = data.draw(st.permutations(range(len(base))))[:2]
    ours = [*base[:mine], "mine\n", *base[mine + 1 :]]
    theirs = [*base[:yours], "yours\n", *base[yours + 1 :]]
    merged = merge_texts("".join(base), "".join(ours), "".join(theirs))
    both = ["mine\n" if i == mine else "yours\n" if i == yours else it for i, it in enumerate(base)]
    assert merged == whole("".join(both))


@settings(max_examples=100, deadline=None)
@given(texts, texts, texts)
def test_no_word_that_a_side_added_is_lost(base: str, ours: str, theirs: str) -> None:
    merged = words(merge_texts(base, ours, theirs).text())
    assert words(ours) - words(base) <= merged
    assert words(theirs) - words(base) <= merged


def words(text: str) -> set[str]:
    return set(re.findall(r"\S+", text))


def without(change: DiffKind, pieces: list[DiffPiece]) -> str:
    return "".join(it.text for it in pieces if it.change is not change)


def whole(text: str) -> MergeResult:
    return MergeResult((MergedText(text),) if text else ())


def applied(old: str, patch: str) -> str:
    """The patch applied by its line numbers, every line that it mentions checked."""
    rows, result, at = diff_rows(old), list[str](), 0
    lines = diff_rows(patch.replace("\n\\ No newline at end of file\n", "\0"))
    for line in (part for row in lines[2:] for part in split_open(row)):
        if line.startswith("@@"):
            start, _, size = line.split()[1][1:].partition(",")
            until = int(start) - (1 if size != "0" else 0)
            result += rows[at:until]
            at = until
            continue
        if line[0] in " -":
            assert rows[at] == line[1:]
            at += 1
        if line[0] in " +":
            result.append(line[1:])
    return "".join(result + rows[at:])


def split_open(row: str) -> list[str]:
    """A row of a patch whose own line had no end runs into the next one here."""
    return [it for it in row.split("\0") if it]
