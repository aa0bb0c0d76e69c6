"""A layered dictionary is a dictionary, and its copies are apart."""

from hypothesis import given
from hypothesis import strategies as st

from pecia.kernel.layered_dict import LayeredDict

KEYS = st.sampled_from([f"k{it:03}" for it in range(300)])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("set"), KEYS),
        st.tuples(st.just("remove"), KEYS),
        st.tuples(st.just("copy"), KEYS),
    ),
    max_size=400,
)


@given(st.sets(KEYS), STEPS)
def test_it_is_what_a_dictionary_with_the_same_changes_is(
    first: set[str], steps: list[tuple[str, str]]
) -> None:
    plain = {key: object() for key in sorted(first)}
    layered = LayeredDict(plain)
    copies = [(layered.copy(), dict(plain))]
    for step, key in steps:
        if step == "copy":
            copies.append((layered, dict(plain)))
            layered = layered.copy()
        elif step == "set":
            plain[key] = layered[key] = object()
        else:
            assert plain.pop(key, None) is layered.pop(key, None)
        assert (key in layered) == (key in plain)
    copies.append((layered, plain))
    for made, wanted in copies:
        assert list(made.items()) == sorted(wanted.items())
        assert list(made) == sorted(wanted)
        assert (len(made), bool(made)) == (len(wanted), bool(wanted))
        assert all(made[it] is wanted[it] for it in wanted)
        for before, known in copies:
            changed = {it for it in wanted | known if wanted.get(it) is not known.get(it)}
            assert made.changed_keys(before) == changed


def test_values_that_are_nothing_are_values() -> None:
    layered = LayeredDict[str, None]({"a": None}).copy()
    layered["b"] = None
    assert [*layered.items()] == [("a", None), ("b", None)]
    del layered["a"]
    assert "a" not in layered
    assert "b" in layered
