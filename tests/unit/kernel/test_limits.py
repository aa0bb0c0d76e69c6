"""Rate limits: how much passes, what a refusal says, and what a crowd costs."""

from dataclasses import dataclass

import pytest

from pecia.kernel.errors import OutOfRange, RateLimited
from pecia.kernel.rate_limit import RateLimit, RateLimiter


@dataclass(slots=True)
class Clock:
    ns: int = 1_000_000_000

    def __call__(self) -> int:
        return self.ns

    def advance(self, seconds: float) -> None:
        self.ns += int(seconds * 1_000_000_000)


def limiter(clock: Clock, *, max_keys: int = 10) -> RateLimiter:
    """Three calls every ten seconds, two at once."""
    return RateLimiter(RateLimit(calls=3, per_s=10, burst=2), max_keys=max_keys, clock_ns=clock)


def passes(limits: RateLimiter, key: str) -> bool:
    try:
        limits.take(key)
    except RateLimited:
        return False
    return True


def test_a_burst_passes_and_the_next_call_is_told_when_to_return() -> None:
    clock = Clock()
    limits = limiter(clock)
    assert [passes(limits, "ana") for _ in range(2)] == [True, True]
    with pytest.raises(RateLimited) as caught:
        limits.take("ana")
    assert caught.value.fields == {"retry_after_seconds": 4}
    clock.advance(3)
    assert not passes(limits, "ana")
    clock.advance(1)
    assert passes(limits, "ana")


def test_a_refused_call_costs_nothing() -> None:
    clock = Clock()
    limits = limiter(clock)
    assert [passes(limits, "ana") for _ in range(50)].count(True) == 2
    clock.advance(4)
    assert passes(limits, "ana")


def test_one_caller_does_not_use_up_another() -> None:
    limits = limiter(Clock())
    assert [passes(limits, "ana") for _ in range(3)] == [True, True, False]
    assert passes(limits, "bo")


def test_a_rest_fills_the_bucket_to_its_burst_and_no_further() -> None:
    clock = Clock()
    limits = limiter(clock)
    clock.advance(10_000)
    assert [passes(limits, "ana") for _ in range(3)] == [True, True, False]


def test_a_costly_call_takes_several() -> None:
    limits = limiter(Clock())
    limits.take("ana", cost=2)
    assert not passes(limits, "ana")


def test_being_forgotten_is_no_way_to_a_fresh_bucket() -> None:
    clock = Clock()
    limits = limiter(clock, max_keys=1)
    assert passes(limits, "ana")
    assert passes(limits, "bo")
    assert [passes(limits, "ana") for _ in range(2)] == [True, False]


def test_a_crowd_of_quiet_keys_costs_a_newcomer_only_what_they_owe() -> None:
    clock = Clock()
    limits = limiter(clock, max_keys=2)
    assert all(passes(limits, f"address {number}") for number in range(3))
    assert [passes(limits, "ana") for _ in range(2)] == [True, False]
    clock.advance(10)
    assert [passes(limits, "bo") for _ in range(3)] == [True, True, False]


def test_a_caller_in_debt_is_not_forgotten_at_the_cost_of_newcomers() -> None:
    limits = limiter(Clock(), max_keys=2)
    assert [passes(limits, "ana") for _ in range(2)] == [True, True]
    assert passes(limits, "a quiet address")
    assert not passes(limits, "ana")
    assert passes(limits, "bo")
    assert passes(limits, "a newcomer")


@pytest.mark.parametrize("cost", [0, -1, 3])
def test_a_cost_that_could_never_pass_is_an_error_and_not_a_wait(cost: int) -> None:
    with pytest.raises(OutOfRange) as caught:
        limiter(Clock()).take("ana", cost=cost)
    assert caught.value.fields["field"] == "cost"


def test_a_limit_that_lets_nothing_through_is_refused() -> None:
    for field, calls, per_s, burst in (
        ("calls", 0, 1, 1),
        ("per_s", 1, 0, 1),
        ("burst", 1, 1, 0),
    ):
        with pytest.raises(OutOfRange) as caught:
            RateLimit(calls, per_s, burst)
        assert caught.value.fields["field"] == field
    with pytest.raises(OutOfRange):
        limiter(Clock(), max_keys=0)
