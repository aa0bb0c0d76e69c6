"""Runs one job, from its arguments to its outcome. Does not touch the queue."""

import random

import anyio
from pydantic import ValidationError

from pecia.kernel.errors import InvalidInput, Timeout
from pecia.kernel.jobs.call import SQL, JobCall, JobRun
from pecia.kernel.jobs.job import Job
from pecia.kernel.jobs.outcome import SUCCEEDED, RunOutcome, decide_after_failure, reschedule
from pecia.kernel.logs import Log
from pecia.kernel.store.store import Store

# A newer worker may know the job; a suspended tenant may come back.
RESCHEDULE_DELAY_S = 60.0

_log = Log(__name__)


async def execute_run(store: Store, job: Job | None, run: JobRun) -> RunOutcome:
    """Run the handler; returns the outcome."""
    async with store.system() as tx:
        about = await tx.fetch_optional(SQL["start_run"], id=run.job_id)
    if job is None or about is None or not about["may_run"]:
        return reschedule(RESCHEDULE_DELAY_S)
    call = JobCall(
        store,
        run,
        attempt=run.attempt - about["forgiven"] + 1,
        tenant_id=about["tenant_id"],
        user_id=about["user_id"],
        deadline=anyio.current_time() + job.timeout_s,
    )
    try:
        await _run(job, call)
    except Exception as error:  # noqa: BLE001 - whatever a handler raises, the job must end
        return _handle_failure(job, call, error)
    _log.info("jobs.done", job=run.job_id, name=run.name, attempt=call.attempt)
    return SUCCEEDED


async def _run(job: Job, call: JobCall) -> None:
    arguments = _arguments(job, call.run)
    with anyio.move_on_after(job.timeout_s) as limit:
        await job.run(call, arguments)
    if limit.cancelled_caught:
        raise Timeout(f"it took longer than {job.timeout_s:g} s", timeout_s=job.timeout_s)


def _arguments(job: Job, run: JobRun) -> object:
    try:
        return job.takes.model_validate(run.arguments)
    except ValidationError as error:
        where = ".".join(str(it) for it in error.errors()[0]["loc"])
        raise InvalidInput(
            f"the job's arguments do not fit this version: {where}", field=where
        ) from error


def _handle_failure(job: Job, call: JobCall, error: Exception) -> RunOutcome:
    ending = decide_after_failure(error, job.retry, failures=call.attempt, jitter=random.random())
    fields = {"job": call.run.job_id, "name": call.run.name, "attempt": call.attempt}
    if ending.status == "failed":
        _log.failure("jobs.failed", error, **fields)
    else:
        _log.warning("jobs.to_retry", **fields, rest_s=ending.delay_s, **(ending.problem or {}))
    return ending
