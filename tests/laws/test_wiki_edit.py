"""Edits of a document: whatever is asked for, every character outside the edit stays."""

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pecia.features.wiki.core.edit import (
    Replacement,
    apply_replacement,
    apply_write,
    with_line_ends_of,
)
from pecia.kernel.errors import PeciaError
from pecia.kernel.text.markdown.frontmatter import find_body_start

PIECES = (
    "---\n",
    "---\r\n",
    "title: a\n",
    "a",
    "b ",
    "\n",
    "\r\n",
    "é",
    "\ufeff",
    "# H\n",
    "🐝",
    "ab",
)
TEXTS = st.lists(st.sampled_from(PIECES), max_size=24).map("".join)
WORDS = st.lists(st.sampled_from(PIECES), max_size=4).map("".join)


@st.composite
def finds(draw: st.DrawFn) -> tuple[str, Replacement]:
    text = draw(TEXTS)
    assume(text)
    start = draw(st.integers(0, len(text) - 1))
    end = draw(st.integers(start + 1, min(len(text), start + 6)))
    which = draw(st.sampled_from(("first", "offset", "occurrence", "every")))
    ask = Replacement(
        text[start:end],
        draw(WORDS),
        offset=start if which == "offset" else None,
        occurrence=draw(st.integers(1, 3)) if which == "occurrence" else None,
        every=which == "every",
    )
    return text, ask


@settings(max_examples=300, deadline=None)
@given(finds())
def test_what_is_outside_an_edit_stays_and_what_is_inside_is_replaced(
    case: tuple[str, Replacement],
) -> None:
    text, ask = case
    if "\r\n" in text:
        _require_same_lines(text, ask)
        return
    try:
        done = apply_replacement(text, ask)
    except PeciaError:
        return
    kept = find_body_start(text)
    assert done.text[:kept] == text[:kept]
    # Put back at each place, the old words give the old text.
    back, shift = done.text, 0
    was, new = _lf(ask.find), _lf(ask.replace) if "\n" in text else ask.replace
    for offset in done.offsets:
        at = offset + shift
        assert back[at : at + len(new)] == new
        back = back[:at] + was + back[at + len(new) :]
        shift += len(was) - len(new)
    assert back == text


def _require_same_lines(text: str, ask: Replacement) -> None:
    """A text with CRLF is edited as the same with LF is, and keeps the line ends it has."""
    plain = Replacement(_lf(ask.find), _lf(ask.replace), None, ask.occurrence, ask.every)
    # Half of a line end is none.
    assume("\r" not in plain.find and ask.offset is None)
    try:
        expected = apply_replacement(_lf(text), plain)
    except PeciaError:
        return
    done = apply_replacement(text, plain)
    assert _lf(done.text) == expected.text
    if text.count("\n") == text.count("\r\n"):
        assert done.text.count("\n") == done.text.count("\r\n")
    elif "\n" not in ask.find + ask.replace:
        assert done.text == apply_replacement(text, ask).text
        assert done.text.count("\r\n") == text.count("\r\n")


def _lf(text: str) -> str:
    return text.replace("\r\n", "\n")


@settings(max_examples=200, deadline=None)
@given(TEXTS, WORDS.filter(bool))
def test_what_is_added_leaves_every_character_that_was_there(old: str, given: str) -> None:
    head, body = old[: find_body_start(old)], old[find_body_start(old) :]
    new = with_line_ends_of(old, given[find_body_start(given) :])
    appended, prepended = apply_write(old, given, "append"), apply_write(old, given, "prepend")
    assert appended.startswith(old if body.strip() else head)
    assert appended.endswith(new)
    assert prepended.startswith(head + new)
    assert prepended.endswith(body if body.strip() else new)
    added = len(appended) - len(old if body.strip() else head) - len(new)
    assert 0 <= added <= 4


@settings(max_examples=200, deadline=None)
@given(TEXTS, TEXTS.filter(bool))
def test_a_replacement_is_the_given_text_under_the_frontmatter_that_counts(
    old: str, given: str
) -> None:
    after = apply_write(old, given, "replace")
    own = find_body_start(given) > len("\ufeff")
    body = given[find_body_start(given) :]
    assert after.endswith((body, with_line_ends_of(old, body)))
    assert after == given if own or not old[: find_body_start(old)].strip("\ufeff") else True
