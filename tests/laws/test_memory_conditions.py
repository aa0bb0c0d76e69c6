"""What holds under another condition, or of another thing, never ends a fact, in any language."""

from collections.abc import Iterable

import pytest

from pecia.features.memory.core.compare.correction import is_correction
from tests.laws.condition_pairs import (
    ConditionFrame,
    FactPair,
    NamedThing,
    read_frames,
    read_named,
)

FRAMES, NAMED = read_frames(), read_named()
SINGLE = [it for it in (*FRAMES, *NAMED) if it.is_single]
SEVERAL = [it for it in (*FRAMES, *NAMED) if not it.is_single]
# Of what has one value at a time, so many changes under one condition are known as corrections.
MIN_SHARE = 0.75


@pytest.mark.parametrize("frame", FRAMES, ids=lambda it: f"{it.language} {it.shape}")
def test_another_value_under_another_condition_ends_nothing(frame: ConditionFrame) -> None:
    assert _ended(frame.pairs(same=False)) == []


@pytest.mark.parametrize("thing", NAMED, ids=lambda it: f"{it.language} {it.before}")
def test_a_thing_that_is_named_by_another_letter_ends_nothing(thing: NamedThing) -> None:
    assert _ended(thing.pairs(same=False)) == []


@pytest.mark.parametrize("thing", NAMED, ids=lambda it: f"{it.language} {it.before}")
def test_a_thing_that_is_named_by_a_letter_is_corrected_whatever_the_letter(
    thing: NamedThing,
) -> None:
    pairs = [*thing.pairs(same=True)]
    assert len(_ended(pairs)) in (0, len(pairs))


def test_what_has_one_value_at_a_time_is_corrected() -> None:
    pairs = [pair for frame in SINGLE for pair in frame.pairs(same=True)]
    assert len(_ended(pairs)) >= MIN_SHARE * len(pairs)


@pytest.mark.parametrize("frame", SEVERAL, ids=lambda it: f"{it.language} {it[1]}")
def test_what_may_have_several_values_is_not_ended_by_one_that_holds_now(
    frame: ConditionFrame | NamedThing,
) -> None:
    assert _ended(frame.pairs(same=True)) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("We deploy Billing on Fridays.", "We deploy Search on Fridays now."),
        ("We deploy module 3 on Fridays.", "We deploy module 4 on Fridays now."),
        ("We deploy module X on Fridays.", "We deploy module Y on Fridays now."),
        ("Ana meets Tom on Mondays.", "Ana meets Bea on Mondays now."),
        ("Ana trifft montags Tom.", "Ana trifft jetzt montags Bea."),
    ],
)
def test_another_thing_at_the_same_time_ends_nothing(old: str, new: str) -> None:
    assert not is_correction(new, old)


def _ended(pairs: Iterable[FactPair]) -> list[FactPair]:
    return [it for it in pairs if is_correction(it.new, it.old)]
