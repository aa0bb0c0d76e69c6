"""A cursor fits the search it came from, and no other."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pecia.features.lake.core.cursor import (
    MAX_OFFSET,
    SearchCursor,
    advance_cursor,
    decode_name_cursor,
    decode_search_cursor,
    encode_name_cursor,
    encode_search_cursor,
)
from pecia.kernel.errors import InvalidFormat, Json

ASKED: dict[str, Json] = {"query": "brakes", "mode": "lexical"}


@given(st.integers(0, MAX_OFFSET))
def test_a_cursor_opens_at_the_place_it_was_sealed_with(offset: int) -> None:
    assert decode_search_cursor(
        encode_search_cursor(SearchCursor(offset), ASKED), ASKED
    ) == SearchCursor(offset)


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=500))
def test_the_cursor_of_a_listing_opens_at_the_name_it_was_sealed_with(name: str) -> None:
    assert decode_name_cursor(encode_name_cursor(name, ASKED), ASKED) == name


def test_no_cursor_is_the_beginning() -> None:
    assert decode_search_cursor(None, ASKED) == SearchCursor(0)
    assert decode_name_cursor(None, ASKED) == ""


def test_pages_end_where_no_cursor_could_go_on() -> None:
    assert advance_cursor(SearchCursor(MAX_OFFSET - 20), 20) == SearchCursor(MAX_OFFSET)
    assert advance_cursor(SearchCursor(MAX_OFFSET), 1) is None


def test_a_cursor_of_hits_is_none_of_a_listing_and_the_other_way_round() -> None:
    for seal, opened in (
        (encode_name_cursor("a", ASKED), decode_search_cursor),
        (encode_search_cursor(SearchCursor(1), ASKED), decode_name_cursor),
    ):
        with pytest.raises(InvalidFormat) as refused:
            opened(seal, ASKED)
        assert refused.value.fields["field"] == "cursor"


def test_the_cursor_of_another_search_is_refused() -> None:
    cursor = encode_search_cursor(SearchCursor(20), ASKED)
    with pytest.raises(InvalidFormat, match="another search") as refused:
        decode_search_cursor(cursor, {**ASKED, "mode": "hybrid"})
    assert refused.value.fields["field"] == "cursor"


@given(st.text(max_size=200))
def test_no_text_is_taken_for_a_cursor_by_mistake(text: str) -> None:
    with pytest.raises(InvalidFormat):
        decode_search_cursor(text, ASKED)
    with pytest.raises(InvalidFormat):
        decode_name_cursor(text, ASKED)
