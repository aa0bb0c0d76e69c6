"""A cursor fits the search it came from, and no other."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pecia.kernel.errors import InvalidFormat, Json
from pecia.rooms.lake.place import (
    MOST,
    Place,
    open_name,
    open_place,
    place_after,
    seal_name,
    seal_place,
)

ASKED: dict[str, Json] = {"query": "brakes", "mode": "lexical"}


@given(st.integers(0, MOST))
def test_a_cursor_opens_at_the_place_it_was_sealed_with(offset: int) -> None:
    assert open_place(seal_place(Place(offset), ASKED), ASKED) == Place(offset)


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=500))
def test_the_cursor_of_a_listing_opens_at_the_name_it_was_sealed_with(name: str) -> None:
    assert open_name(seal_name(name, ASKED), ASKED) == name


def test_no_cursor_is_the_beginning() -> None:
    assert open_place(None, ASKED) == Place(0)
    assert open_name(None, ASKED) == ""


def test_pages_end_where_no_cursor_could_go_on() -> None:
    assert place_after(Place(MOST - 20), 20) == Place(MOST)
    assert place_after(Place(MOST), 1) is None


def test_a_cursor_of_hits_is_none_of_a_listing_and_the_other_way_round() -> None:
    for seal, opened in (
        (seal_name("a", ASKED), open_place),
        (seal_place(Place(1), ASKED), open_name),
    ):
        with pytest.raises(InvalidFormat) as refused:
            opened(seal, ASKED)
        assert refused.value.fields["field"] == "cursor"


def test_the_cursor_of_another_search_is_refused() -> None:
    cursor = seal_place(Place(20), ASKED)
    with pytest.raises(InvalidFormat, match="another search") as refused:
        open_place(cursor, {**ASKED, "mode": "hybrid"})
    assert refused.value.fields["field"] == "cursor"


@given(st.text(max_size=200))
def test_no_text_is_taken_for_a_cursor_by_mistake(text: str) -> None:
    with pytest.raises(InvalidFormat):
        open_place(text, ASKED)
    with pytest.raises(InvalidFormat):
        open_name(text, ASKED)
