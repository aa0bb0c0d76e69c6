"""Durable background work: a feature defines jobs, a caller's write defers them, workers run them.

    crawl = Job("lake", "crawl", run, CrawlArguments, key=lambda it: it.source_id)
    async with store.writing(caller, trace) as tx:
        await defer(tx, crawl, CrawlArguments(source_id="s1"))

The queue, its tables and its wake-ups are procrastinate's. The loop that runs jobs is ours: it
fences each run, so that a stalled worker cannot end or write in a run that was given to another.

- `job.py` the definition of a job · `call.py` what its handler gets · `outcome.py` how a run ends
- `defer.py` enqueues · `status.py` what a caller sees, may cancel and retry
- `worker.py` runs `worker_loop.py`, over `queue.py`, `execute.py`, `reclaim.py`, `schedule.py`
- `cleanup.py` the kernel's own jobs · `worker_process.py` the worker of local mode, a child process

Importing this package does not import procrastinate; only a worker does.
"""

from pecia.kernel.jobs.call import JobCall
from pecia.kernel.jobs.defer import defer, defer_as_system
from pecia.kernel.jobs.job import Job, JobArguments, NoArguments, RetryPolicy
from pecia.kernel.jobs.status import JobState, JobStatus, cancel_job, get_job, list_jobs, retry_job

__all__ = [
    "Job",
    "JobArguments",
    "JobCall",
    "JobState",
    "JobStatus",
    "NoArguments",
    "RetryPolicy",
    "cancel_job",
    "defer",
    "defer_as_system",
    "get_job",
    "list_jobs",
    "retry_job",
]
