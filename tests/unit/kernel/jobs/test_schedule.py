"""When a schedule falls due."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pecia.kernel.jobs import Job, JobCall, NoArguments
from pecia.kernel.jobs.schedule import last_tick, list_scheduled, seconds_until_due

HOURLY = "23 * * * *"


async def nothing(call: JobCall, about: NoArguments) -> None:
    """A handler for jobs that are never run."""


def on(schedule: str | None) -> Job:
    return Job("kernel", "probe", nothing, NoArguments, schedule=schedule)


def test_a_schedule_is_a_cron_line() -> None:
    assert list_scheduled([on(None)]) == []
    with pytest.raises(TypeError, match="'daily' is not a cron line"):
        list_scheduled([on("daily")])


def test_a_tick_counts_from_its_very_second() -> None:
    tick = datetime(2026, 1, 2, 3, 23, tzinfo=UTC)
    assert last_tick(HOURLY, tick) == tick.timestamp()
    before = last_tick(HOURLY, tick - timedelta(seconds=1))
    assert before == (tick - timedelta(hours=1)).timestamp()


@given(st.datetimes(datetime(2020, 1, 1), datetime(2040, 1, 1), timezones=st.just(UTC)))  # noqa: DTZ001 - Hypothesis wants bare bounds
@settings(max_examples=50, deadline=None)
def test_the_last_tick_is_past_and_the_wait_never_long(now: datetime) -> None:
    assert 0 <= now.timestamp() - last_tick(HOURLY, now) < 3600
    assert 0 < seconds_until_due([(HOURLY, on(HOURLY))], now) <= 60
