"""A message of a job is one that the store accepts, whatever it was made of."""

from hypothesis import given
from hypothesis import strategies as st

from pecia.kernel.jobs.message import truncate_message


@given(st.lists(st.text(st.characters(), max_size=400), max_size=60), st.integers(1, 3000))
def test_a_message_of_any_parts_fits_and_says_what_it_can(parts: list[str], most: int) -> None:
    text = "; ".join(parts)
    kept = truncate_message(text, most)
    assert len(kept) <= most
    assert "\0" not in kept
    assert kept.encode().decode() == kept
    if len(text) <= most and text.isprintable():
        assert kept == text
    elif text.isprintable():
        assert text.startswith(kept[:-1])
