"""Reclaims jobs of dead workers, found by a missing heartbeat."""

import random
from collections.abc import Mapping

from psycopg.types.json import Jsonb

from pecia.kernel.errors import Unavailable
from pecia.kernel.jobs.call import SQL, JobRun, fence_parameters
from pecia.kernel.jobs.job import Job, RetryPolicy
from pecia.kernel.jobs.outcome import RunOutcome, decide_after_failure
from pecia.kernel.logs import Log
from pecia.kernel.store.store import Store, Transaction

_log = Log(__name__)


async def reclaim_stalled(store: Store, jobs: Mapping[str, Job], *, stalled_s: float) -> int:
    """Requeue, or fail for good, every run whose worker is stalled. Returns how many."""
    async with store.system() as tx:
        rows = await tx.fetch_all(SQL["stalled_runs"], stalled_s=stalled_s)
        for row in rows:
            forgiven = row.pop("forgiven")
            run = JobRun(**row)
            retry = jobs[run.name].retry if run.name in jobs else RetryPolicy()
            await end_run(tx, run, _after_death(retry, failures=run.attempt - forgiven + 1))
            _log.warning("jobs.reclaimed", job=run.job_id, name=run.name, worker=run.worker_id)
        await tx.execute(SQL["forget_workers"], stalled_s=stalled_s)
        return len(rows)


async def end_run(tx: Transaction, run: JobRun, ending: RunOutcome) -> bool:
    """Record the outcome of a run. False if the job was taken over by another worker."""
    return await tx.fetch_value(
        SQL["end_run"],
        status=ending.status,
        problem=None if ending.problem is None else Jsonb(ending.problem),
        rest_s=ending.delay_s,
        counts=ending.counts,
        **fence_parameters(run),
    )


def _after_death(retry: RetryPolicy, *, failures: int) -> RunOutcome:
    error = Unavailable("the worker of this job stopped responding")
    return decide_after_failure(error, retry, failures=failures, jitter=random.random())
