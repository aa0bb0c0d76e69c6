"""What embedding jobs tell of their speed is read back as it was told."""

from hypothesis import given, settings
from hypothesis import strategies as st

from pecia.kernel.corpus.embed_speed import Speed, told_by

speeds = st.builds(Speed, st.integers(1, 10**9), st.integers(0, 10**12).map(lambda it: it / 10**6))


@settings(max_examples=50, deadline=None)
@given(st.lists(speeds, max_size=5), st.text(max_size=30))
def test_what_is_told_is_heard_and_added_up(speeds: list[Speed], model: str) -> None:
    heard = told_by([it.told(model) for it in speeds], model)
    assert heard.texts == sum(it.texts for it in speeds)
    assert abs(heard.seconds - sum(it.seconds for it in speeds)) < 1e-5 * (len(speeds) + 1)


def test_other_models_and_other_messages_tell_nothing() -> None:
    told = [Speed(3, 1.5).told("small"), None, "", "3 files", "x texts in 1.0 s by large"]
    assert told_by(told, "large") == Speed()
    assert told_by(told, "small").texts_per_s == 2


def test_nothing_embedded_has_no_speed_and_no_message() -> None:
    assert Speed().told("small") is None
    assert Speed().texts_per_s is Speed(3, 0.0).texts_per_s is None
