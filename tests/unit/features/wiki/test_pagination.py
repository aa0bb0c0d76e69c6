"""Pages of rows in any order: together they are the rows, also where keys repeat or rows go."""

from hypothesis import given
from hypothesis import strategies as st

from pecia.features.wiki.tools.pagination import paginate_ranked
from pecia.kernel.errors import Json

KEYS = st.lists(st.sampled_from("abc"), max_size=30)


def rows_of(keys: list[str]) -> list[dict[str, Json]]:
    return [{"number": number, "key": key} for number, key in enumerate(keys)]


@given(KEYS, st.integers(1, 7))
def test_the_pages_together_are_the_rows(keys: list[str], limit: int) -> None:
    rows, found = rows_of(keys), list[dict[str, Json]]()
    cursor: str | None = None
    for _ in range(len(rows) + 1):
        page = paginate_ranked(rows, keys, cursor, limit)
        found += page.rows
        cursor = page.next_cursor
        if cursor is None:
            break
    assert found == rows


@given(st.lists(st.text(max_size=3), unique=True, min_size=2, max_size=20), st.data())
def test_a_row_that_goes_from_an_earlier_page_takes_none_of_the_next(
    keys: list[str], data: st.DataObject
) -> None:
    limit = data.draw(st.integers(1, len(keys) - 1))
    cursor = paginate_ranked(rows_of(keys), keys, None, limit).next_cursor
    gone = data.draw(st.integers(0, limit - 1))
    left = [*keys[:gone], *keys[gone + 1 :]]
    rest = paginate_ranked(rows_of(left), left, cursor, len(keys)).rows
    assert [it["key"] for it in rest] == keys[limit:]
