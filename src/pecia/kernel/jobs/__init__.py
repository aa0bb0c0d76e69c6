"""Durable background work: a room defines jobs, a caller's write defers them, workers run them.

    crawl = Job("lake", "crawl", run, CrawlArguments, key=lambda it: it.source_id)
    async with store.writing(caller, trace) as tx:
        await defer(tx, crawl, CrawlArguments(source_id="s1"))

The queue, its tables and its wake-ups are procrastinate's. The loop that runs jobs is ours: it
fences each run, so that a worker that was away cannot end or write in a run that is another's.

- `job.py` what a job is · `call.py` what its handler is handed · `ending.py` how a run ends; pure
- `defer.py` into the queue · `visible.py` what a caller sees of it, may cancel and retry
- `worker.py` runs jobs until told to stop · `queue.py`, `rescue.py`, `schedule.py` serve it
- `house.py` the house's own jobs · `child.py` the one worker of local mode, as a child process

Importing this package does not import procrastinate; only a worker does.
"""

from pecia.kernel.jobs.call import JobCall
from pecia.kernel.jobs.defer import defer, defer_as_system
from pecia.kernel.jobs.job import Job, JobArguments, NoArguments, RetryPolicy, index_jobs
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
    "index_jobs",
    "list_jobs",
    "retry_job",
]
