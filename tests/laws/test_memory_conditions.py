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
# Of one value that changes under one condition, so many are known as corrections.
MIN_SHARE = 0.4


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


def test_one_value_under_one_condition_is_corrected() -> None:
    pairs = [pair for frame in (*FRAMES, *NAMED) for pair in frame.pairs(same=True)]
    assert len(_ended(pairs)) >= MIN_SHARE * len(pairs)


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
