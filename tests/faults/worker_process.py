"""A worker process that dies, or freezes, at a named point of its job. Run by test_worker.py.

The job writes once for each thing it is about, however often it is run: `tally` counts the writes
that were not yet there.
"""

import os
import signal
import sys

import anyio
from pydantic import model_validator

from pecia.kernel.errors import Conflict
from pecia.kernel.jobs import Job, JobArguments, JobCall, RetryPolicy
from pecia.kernel.jobs.worker import run_worker, stop_on_signal
from pecia.kernel.jobs.worker_loop import WorkerIntervals
from pecia.kernel.store.cluster import DatabaseLogins
from pecia.kernel.store.store import Store

POINTS = ["taken", "begun", "writing", "written"]

PACE = WorkerIntervals(heartbeat_s=0.1, stalled_s=1, poll_s=0.1, grace_s=0)

CREATE = """
CREATE TABLE public.effect (what text PRIMARY KEY, attempt integer);
CREATE TABLE public.tally (what text);
GRANT ALL ON public.effect, public.tally TO pecia_system;
"""
WRITE = """
WITH new AS (INSERT INTO public.effect VALUES (%(what)s, %(attempt)s)
             ON CONFLICT DO NOTHING RETURNING what)
INSERT INTO public.tally SELECT what FROM new
"""


# The tests import this module too, and are ordered nothing.
ordered = sys.argv[1] if __name__ == "__main__" else ""


class About(JobArguments):
    what: str

    @model_validator(mode="after")
    def reached(self) -> "About":
        reach("taken")
        return self


def reach(point: str) -> None:
    """Die here if this is the point, or freeze at it."""
    if ordered == f"die:{point}":
        os.kill(os.getpid(), signal.SIGKILL)
    if ordered == f"freeze:{point}":
        say(f"reached {point}")
        os.kill(os.getpid(), signal.SIGSTOP)


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


async def run(call: JobCall, about: About) -> None:
    reach("begun")
    if ordered == "linger":
        say("lingering")
        await anyio.sleep_forever()
    # Stubborn, so that it is the fence which stops a write and not the worker's own good sense.
    with anyio.CancelScope(shield=True):
        await write(call, about)
    reach("written")


async def write(call: JobCall, about: About) -> None:
    try:
        async with call.tx() as tx:
            await tx.execute(WRITE, what=about.what, attempt=call.attempt)
            reach("writing")
    except Conflict:
        say("refused")
        raise


JOB = Job(
    "probe",
    "write",
    run,
    About,
    key=lambda it: it.what,
    retry=RetryPolicy(attempts=20, first_s=0.1, max_s=0.1),
)


async def main() -> None:
    store = Store(DatabaseLogins(owner="", app=sys.argv[2], system=sys.argv[3]))
    await store.open()
    stop = anyio.Event()
    async with anyio.create_task_group() as group:
        group.start_soon(stop_on_signal, stop)
        await run_worker(store, [JOB], stop=stop, pace=PACE)
        group.cancel_scope.cancel()
    await store.close()


if __name__ == "__main__":
    anyio.run(main)
