"""The queue as one worker sees it: procrastinate's job manager on connections of its own.

Its own, so that a heartbeat never waits behind the work. It fetches jobs and never ends them.
"""

from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import anyio
import psycopg
from procrastinate import PsycopgConnector
from procrastinate.exceptions import ConnectorException
from procrastinate.manager import JobManager
from psycopg import AsyncConnection
from psycopg_pool import PoolTimeout

from pecia.kernel.errors import Unavailable
from pecia.kernel.jobs.call import SQL, JobRun

TIMEOUT_S = 10

CHANNEL = "procrastinate_any_queue_v1"
"""Notifications of every queue: a worker of one polls once too often for the others."""


class JobQueue:
    """Failures of the database come out as Unavailable."""

    def __init__(self, connector: PsycopgConnector, queues: Sequence[str] | None) -> None:
        self._connector = connector
        self._manager = JobManager(connector)
        self._queues = queues

    async def register_worker(self) -> int:
        """Register a worker; its id is never reused."""
        with _raise_unavailable():
            return await self._manager.register_worker()

    async def heartbeat(self, worker_id: int) -> bool:
        """Heartbeat. False when the worker was declared dead and must stop all work."""
        with _raise_unavailable():
            query = SQL["beat"]
            return bool(await self._connector.execute_query_all_async(query, worker_id=worker_id))

    async def fetch_job(self, worker_id: int) -> JobRun | None:
        """The next job, now this worker's; None when there is none to do."""
        with _raise_unavailable():
            found = await self._manager.fetch_job(self._queues, worker_id)
        if found is None or found.id is None:
            return None
        return JobRun(found.id, found.task_name, worker_id, found.attempts, found.task_kwargs)

    async def list_aborted(self) -> list[int]:
        """The running jobs with a requested cancellation."""
        with _raise_unavailable():
            return [*await self._manager.list_jobs_to_abort_async()]

    async def unregister_worker(self, worker_id: int) -> None:
        """Unregister. Jobs the worker has not ended are handed back."""
        with _raise_unavailable():
            query = SQL["hand_back"]
            await self._connector.execute_query_all_async(query, worker_id=worker_id)
            await self._manager.unregister_worker(worker_id)


@asynccontextmanager
async def open_queue(conninfo: str, queues: Sequence[str] | None) -> AsyncGenerator[JobQueue]:
    """The queue of a database, reached as the system."""
    connector = PsycopgConnector(
        conninfo=conninfo, min_size=1, max_size=2, timeout=TIMEOUT_S, configure=_use_schema
    )
    try:
        with _raise_unavailable():
            await connector.open_async()
        yield JobQueue(connector, queues)
    finally:
        with anyio.move_on_after(TIMEOUT_S, shield=True):
            await connector.close_async()


async def _use_schema(connection: AsyncConnection[Any]) -> None:
    await connection.set_autocommit(True)
    await connection.execute(SQL["use_schema"])


@contextmanager
def _raise_unavailable() -> Generator[None]:
    try:
        yield
    except (ConnectorException, PoolTimeout, psycopg.Error) as error:
        raise Unavailable("the queue is not reachable") from error
