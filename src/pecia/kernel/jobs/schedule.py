"""Scheduled jobs. Every worker checks the clock; the database lets one defer each tick."""

from collections.abc import Iterable
from datetime import datetime
from typing import TypeAlias

from croniter import croniter

from pecia.kernel.jobs.call import SQL
from pecia.kernel.jobs.defer import encode_job
from pecia.kernel.jobs.job import Job
from pecia.kernel.store.store import Store

MAX_WAIT_S = 60.0

ScheduledJob: TypeAlias = tuple[str, Job]


def list_scheduled(jobs: Iterable[Job]) -> list[ScheduledJob]:
    """The jobs that have a schedule, which must be a cron line."""
    found = [(it.schedule, it) for it in jobs if it.schedule is not None]
    for schedule, job in found:
        if not croniter.is_valid(schedule):
            raise TypeError(f"job {job.full_name}: {schedule!r} is not a cron line")
    return found


def last_tick(schedule: str, now: datetime) -> int:
    """The last due time, now included, as a Unix timestamp."""
    # croniter searches strictly before its start, and a tick has no fraction of a second.
    start = int(now.timestamp()) + 1
    return int(croniter(schedule, start).get_prev(float))


def seconds_until_due(jobs: Iterable[ScheduledJob], now: datetime) -> float:
    """Seconds until the next of them falls due, or a minute: clocks are set and machines sleep."""
    at = now.timestamp()
    waits = (croniter(schedule, at).get_next(float) - at for schedule, _ in jobs)
    return min([MAX_WAIT_S, *waits])


async def defer_due(store: Store, jobs: Iterable[ScheduledJob], now: datetime) -> None:
    """Queue the last due tick, unless that was done; earlier missed ones are skipped."""
    for schedule, job in jobs:
        due = {"tick": last_tick(schedule, now), **encode_job(job, job.takes())}
        async with store.system() as tx:
            await tx.fetch_value(SQL["defer_tick"], **due)
