"""Places and edits."""

import pytest

from pecia.kernel.text.span import Edit, Position, Span, apply_edits, find_position, split_lines


def test_edits_refer_to_the_text_before_any_of_them() -> None:
    edits = [Edit(Span(4, 5), "DD"), Edit(Span(0, 1), ""), Edit(Span(2, 2), "+")]
    assert apply_edits("abcde", edits) == "b+cdDD"


def test_edits_at_one_place_keep_their_order() -> None:
    assert apply_edits("ab", [Edit(Span(1, 1), "1"), Edit(Span(1, 1), "2")]) == "a12b"


@pytest.mark.parametrize("span", [Span(1, 3), Span(0, 9)])
def test_an_edit_that_overlaps_or_leaves_the_text_is_refused(span: Span) -> None:
    with pytest.raises(ValueError, match="overlaps"):
        apply_edits("abcd", [Edit(Span(0, 2), "x"), Edit(span, "y")])


def test_lines_end_in_lf_crlf_or_cr_and_in_nothing_else() -> None:
    assert split_lines("a\nb\r\nc\rd\fe\u2028f") == ["a\n", "b\r\n", "c\r", "d\fe\u2028f"]
    assert split_lines("\n\r\n") == ["\n", "\r\n"]
    assert split_lines("") == []


@pytest.mark.parametrize(
    ("offset", "line", "column"), [(0, 1, 1), (2, 1, 3), (3, 1, 4), (4, 2, 1), (5, 3, 1), (7, 3, 3)]
)
def test_a_position_counts_as_people_do(offset: int, line: int, column: int) -> None:
    assert find_position("ab\r\n\rcd", offset) == Position(line, column)
