"""Laws of rate limits: never too much, never more memory, and the wait that is named is enough."""

from itertools import combinations_with_replacement
from typing import cast

from hypothesis import example, given, settings
from hypothesis import strategies as st

from pecia.kernel.errors import RateLimited
from pecia.kernel.rate_limit import RateLimit, RateLimiter

few = settings(max_examples=100, deadline=None)
NS = 1_000_000_000

limits = st.builds(RateLimit, st.integers(1, 7), st.integers(1, 5), st.integers(1, 5))
# Mostly short steps, so that calls crowd; some long ones, so that buckets fill again.
steps_ns = st.sampled_from([0, 0, 1, NS // 7, NS // 3, NS, 5 * NS])
calls = st.lists(st.tuples(steps_ns, st.integers(0, 5), st.integers(1, 5)), max_size=60)


class Clock:
    ns = 0

    def __call__(self) -> int:
        return self.ns


def retry_after_s(limiter: RateLimiter, key: int, cost: int) -> int | None:
    """None when the call passes."""
    try:
        limiter.take(key, cost)
    except RateLimited as error:
        # The limiter counts whole seconds.
        return cast(int, error.fields["retry_after_seconds"])
    return None


@few
@given(limits, st.integers(1, 6), calls)
# The deepest debt is forgotten first, then a shallow one; the first must still count.
@example(RateLimit(1, 1, 5), 2, [(0, 0, 5), (0, 1, 1), (0, 2, 1), (NS, 3, 1), (0, 0, 5)])
def test_no_window_of_time_lets_through_more_than_its_burst_and_rate(
    limit: RateLimit, max_keys: int, asked: list[tuple[int, int, int]]
) -> None:
    clock = Clock()
    limiter = RateLimiter(limit, max_keys=max_keys, clock_ns=clock)
    passed: dict[int, list[tuple[int, int]]] = {}
    for step_ns, key, cost in asked:
        clock.ns += step_ns
        if cost <= limit.burst and retry_after_s(limiter, key, cost) is None:
            passed.setdefault(key, []).append((clock.ns, cost))
        assert len(limiter) <= max_keys
    for taken in passed.values():
        for first, last in combinations_with_replacement(range(len(taken)), 2):
            total = sum(cost for _, cost in taken[first : last + 1])
            elapsed_ns = taken[last][0] - taken[first][0]
            assert (total - limit.burst) * limit.per_s * NS <= limit.calls * elapsed_ns


@few
@given(limits, calls)
def test_with_room_for_all_nobody_is_refused_a_call_that_is_due(
    limit: RateLimit, asked: list[tuple[int, int, int]]
) -> None:
    """The bucket is exactly full: a model that counts tokens in fractions agrees on every call."""
    clock = Clock()
    limiter = RateLimiter(limit, max_keys=10, clock_ns=clock)
    full = limit.burst * limit.per_s * NS
    level: dict[int, int] = {}
    seen_ns: dict[int, int] = {}
    for step_ns, key, wanted in asked:
        clock.ns += step_ns
        cost = min(wanted, limit.burst)
        gained = (clock.ns - seen_ns.get(key, 0)) * limit.calls
        now = min(full, level.get(key, full) + gained)
        passes = retry_after_s(limiter, key, cost) is None
        assert passes == (cost * limit.per_s * NS <= now)
        level[key] = now - cost * limit.per_s * NS if passes else now
        seen_ns[key] = clock.ns


@few
@given(limits, st.integers(1, 3), calls, st.integers(0, 5))
def test_the_wait_that_is_named_is_enough_and_hardly_too_long(
    limit: RateLimit, max_keys: int, asked: list[tuple[int, int, int]], key: int
) -> None:
    clock = Clock()
    limiter = RateLimiter(limit, max_keys=max_keys, clock_ns=clock)
    for step_ns, other, cost in asked:
        clock.ns += step_ns
        if cost <= limit.burst:
            retry_after_s(limiter, other, cost)
    wait_s = retry_after_s(limiter, key, limit.burst)
    if wait_s is not None:
        assert 1 <= wait_s <= -(-limit.burst * limit.per_s // limit.calls)
        clock.ns += (wait_s - 1) * NS
        assert retry_after_s(limiter, key, limit.burst) == 1
        clock.ns += NS
        assert retry_after_s(limiter, key, limit.burst) is None


@few
@given(limits, st.integers(1, 4), st.integers(0, 50))
def test_memory_is_bounded_whatever_the_crowd(limit: RateLimit, max_keys: int, crowd: int) -> None:
    limiter = RateLimiter(limit, max_keys=max_keys, clock_ns=Clock())
    for key in range(crowd):
        retry_after_s(limiter, key, 1)
    assert len(limiter) <= max_keys
