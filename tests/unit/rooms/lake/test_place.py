"""A cursor fits the search it came from, and no other."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pecia.kernel.errors import InvalidFormat, Json
from pecia.rooms.lake.place import MOST, Place, open_place, seal_place

ASKED: dict[str, Json] = {"query": "brakes", "mode": "lexical"}


@given(st.integers(1, MOST))
def test_a_cursor_opens_at_the_place_it_was_sealed_with(offset: int) -> None:
    assert open_place(seal_place(Place(offset), ASKED), ASKED) == Place(offset)


def test_no_cursor_is_the_beginning() -> None:
    assert open_place(None, ASKED) == Place(0)


def test_the_cursor_of_another_search_is_refused() -> None:
    cursor = seal_place(Place(20), ASKED)
    with pytest.raises(InvalidFormat, match="another search") as refused:
        open_place(cursor, {**ASKED, "mode": "hybrid"})
    assert refused.value.fields["field"] == "cursor"


@given(st.text(max_size=200))
def test_no_text_is_taken_for_a_cursor_by_mistake(text: str) -> None:
    with pytest.raises(InvalidFormat):
        open_place(text, ASKED)
