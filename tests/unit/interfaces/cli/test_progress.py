"""A bar never goes back, whatever the counts do."""

from hypothesis import given
from hypothesis import strategies as st

from pecia.interfaces.cli.output.progress import MonotonicProgress

counts = st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 1000)), min_size=1, max_size=20)


@given(counts)
def test_a_bar_never_goes_back_and_never_passes_its_end(reported: list[tuple[int, int]]) -> None:
    shown, before = MonotonicProgress(), 0.0
    for done, of in reported:
        completed = shown.advance(done, of)
        assert 0 <= completed <= of
        assert before <= shown.fraction <= 1
        before = shown.fraction
    assert shown.fraction >= max((min(1.0, done / of) if of else 1.0) for done, of in reported)
