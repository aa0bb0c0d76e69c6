"""Workers that are killed or frozen in mid-job: the work is done once in effect, and it shows."""

import random
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import anyio
import anyio.to_thread
import psycopg
import pytest

from pecia.kernel.jobs import JobState, defer_as_system
from pecia.kernel.store.cluster import DatabaseLogins
from pecia.kernel.store.store import Store
from tests.faults import worker_process
from tests.faults.worker_process import JOB, POINTS, About
from tests.features.jobs.jobs_fixture import JobsFixture, open_ground

pytestmark = [pytest.mark.anyio, pytest.mark.fault]

Worker: TypeAlias = subprocess.Popen[str]
Start: TypeAlias = Callable[[str], Worker]


@pytest.fixture
async def ground(database: DatabaseLogins) -> AsyncGenerator[JobsFixture]:
    with psycopg.connect(database.owner) as connection:
        connection.execute(worker_process.CREATE)
    async with open_ground(Store(database)) as found:
        yield found


@pytest.fixture
def start(database: DatabaseLogins) -> Iterator[Start]:
    """Starts a worker process that behaves in a given way; what is left of them is killed."""
    started: list[Worker] = []

    def begin(how: str) -> Worker:
        command = [sys.executable, str(Path(worker_process.__file__))]
        logins = [database.app, database.system]
        worker = subprocess.Popen([*command, how, *logins], stdout=subprocess.PIPE, text=True)
        started.append(worker)
        return worker

    yield begin
    for worker in started:
        worker.kill()
        worker.wait()
        if worker.stdout:
            worker.stdout.close()


async def ask(ground: JobsFixture, what: str = "s1") -> int:
    async with ground.store.system() as tx:
        about = About(what=what)
        return await defer_as_system(tx, JOB, about, tenant_id=ground.ana.tenant_id)


async def effects(ground: JobsFixture) -> int:
    async with ground.store.system() as tx:
        return await tx.fetch_value("SELECT count(*) FROM public.tally")


async def finished(ground: JobsFixture, job_id: int) -> JobState:
    """Workers are processes that take a while to start."""
    with anyio.fail_after(40):
        while True:
            found = await ground.state(job_id)
            if found.status == "done":
                return found
            await anyio.sleep(0.05)


async def said(worker: Worker) -> str:
    assert worker.stdout is not None
    with anyio.fail_after(40):
        line = await anyio.to_thread.run_sync(worker.stdout.readline, abandon_on_cancel=True)
    return line.strip()


async def ended(worker: Worker) -> int:
    with anyio.fail_after(40):
        return await anyio.to_thread.run_sync(worker.wait, abandon_on_cancel=True)


@pytest.mark.parametrize("point", POINTS)
async def test_a_job_whose_worker_is_killed_is_done_once_by_another(
    ground: JobsFixture, start: Start, point: str
) -> None:
    job_id = await ask(ground)
    assert await ended(start(f"die:{point}")) == -signal.SIGKILL
    assert (await ground.state(job_id)).status == "running"
    start("work")
    done = await finished(ground, job_id)
    assert done.attempts == 2
    assert await effects(ground) == 1


async def test_a_worker_that_wakes_up_late_can_write_no_more(
    ground: JobsFixture, start: Start
) -> None:
    job_id = await ask(ground)
    frozen = start("freeze:begun")
    assert await said(frozen) == "reached begun"
    start("work")
    done = await finished(ground, job_id)
    frozen.send_signal(signal.SIGCONT)
    assert await said(frozen) == "refused"
    assert await effects(ground) == 1
    assert await ground.state(job_id) == done
    assert done.attempts == 2


async def test_nobody_takes_a_job_from_a_worker_that_is_frozen_in_mid_write(
    ground: JobsFixture, start: Start
) -> None:
    job_id = await ask(ground)
    frozen = start("freeze:writing")
    assert await said(frozen) == "reached writing"
    other = await ask(ground, "s2")
    start("work")
    await finished(ground, other)
    assert (await ground.state(job_id)).status == "running"
    frozen.send_signal(signal.SIGCONT)
    await finished(ground, job_id)
    assert await effects(ground) == 2


async def test_a_worker_that_is_told_to_stop_hands_its_job_back(
    ground: JobsFixture, start: Start
) -> None:
    job_id = await ask(ground)
    worker = start("linger")
    assert await said(worker) == "lingering"
    worker.send_signal(signal.SIGTERM)
    assert await ended(worker) == 0
    back = await ground.state(job_id)
    assert (back.status, back.attempts) == ("waiting", 0)


async def test_no_job_is_lost_and_none_counts_twice_however_often_workers_are_killed(
    ground: JobsFixture, start: Start
) -> None:
    chance = random.Random(7)
    ids = [await ask(ground, f"s{it}") for it in range(12)]
    for _ in range(4):
        worker = start(f"die:{chance.choice(POINTS)}")
        assert await ended(worker) == -signal.SIGKILL
    start("work")
    states = [await finished(ground, it) for it in ids]
    assert await effects(ground) == len(ids)
    assert sum(it.attempts for it in states) > len(ids)
