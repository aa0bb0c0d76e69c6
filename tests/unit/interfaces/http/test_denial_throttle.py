"""Which denials of an address become audit rows."""

from pecia.interfaces.http.auth.denial_throttle import MAX_ADDRESSES, ROWS, DenialThrottle

S = 1_000_000_000


def test_a_row_after_a_flood_says_how_many_had_none() -> None:
    now = [0]
    throttle = DenialThrottle(clock_ns=lambda: now[0])
    found = [throttle.admit("192.0.2.1") for _ in range(ROWS.burst + 7)]
    assert found == [0] * ROWS.burst + [None] * 7
    assert throttle.admit("192.0.2.2") == 0
    now[0] += ROWS.per_s * S
    assert [throttle.admit("192.0.2.1"), throttle.admit("192.0.2.1")] == [7, 0]


def test_addresses_beyond_those_remembered_get_no_fresh_allowance() -> None:
    throttle = DenialThrottle(clock_ns=lambda: 0)
    rows = sum(
        throttle.admit(f"address {number % (MAX_ADDRESSES + 1)}") is not None
        for number in range(3 * (MAX_ADDRESSES + 1) * ROWS.burst)
    )
    assert rows <= (MAX_ADDRESSES + 1) * ROWS.burst
