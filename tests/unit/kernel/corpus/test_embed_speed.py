"""What embedding jobs tell of their speed is read back as it was told."""

from hypothesis import given, settings
from hypothesis import strategies as st

from pecia.kernel.corpus.vectors.throughput import EmbedThroughput, parse_messages

speeds = st.builds(
    EmbedThroughput, st.integers(1, 10**9), st.integers(0, 10**12).map(lambda it: it / 10**6)
)


@settings(max_examples=50, deadline=None)
@given(st.lists(speeds, max_size=5), st.text(max_size=30))
def test_what_is_told_is_heard_and_added_up(speeds: list[EmbedThroughput], model: str) -> None:
    heard = parse_messages([it.as_message(model) for it in speeds], model)
    assert heard.texts == sum(it.texts for it in speeds)
    assert abs(heard.seconds - sum(it.seconds for it in speeds)) < 1e-5 * (len(speeds) + 1)


def test_other_models_and_other_messages_tell_nothing() -> None:
    told = [
        EmbedThroughput(3, 1.5).as_message("small"),
        None,
        "",
        "3 files",
        "x texts in 1.0 s by large",
    ]
    assert parse_messages(told, "large") == EmbedThroughput()
    assert parse_messages(told, "small").texts_per_s == 2


def test_nothing_embedded_has_no_speed_and_no_message() -> None:
    assert EmbedThroughput().as_message("small") is None
    assert EmbedThroughput().texts_per_s is EmbedThroughput(3, 0.0).texts_per_s is None
