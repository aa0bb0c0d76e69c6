"""Deleting a tenant while its jobs run and its calls write."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import LiteralString

import anyio
import pytest

from pecia.app.operator.session import OperatorSession
from pecia.app.operator.tenant_deletion import delete_tenant, load_tenant_contents
from pecia.kernel.jobs import JobCall
from pecia.kernel.store.audit.log import AuditLog
from tests.features.jobs.jobs_fixture import JobsFixture, Probe

pytestmark = pytest.mark.anyio

QUEUED: LiteralString = "SELECT count(*) FROM jobs.procrastinate_jobs WHERE status <> 'succeeded'"
BLOCKED: LiteralString = """SELECT count(*) FROM pg_stat_activity
 WHERE wait_event_type = 'Lock' AND starts_with(query, 'DELETE FROM kernel.tenant')"""


@pytest.fixture
async def operating(ground: JobsFixture, tmp_path: Path) -> AsyncGenerator[OperatorSession]:
    audit_log = AuditLog(ground.store, tmp_path / "spool")
    yield OperatorSession(ground.store, audit_log, "test")
    await audit_log.close()


async def delete(operating: OperatorSession, home: Path) -> None:
    contents = await load_tenant_contents(operating.store, "here")
    await delete_tenant(operating, contents, home, lambda table, done, of: None)


async def count(ground: JobsFixture, query: LiteralString) -> int:
    async with ground.store.system() as tx:
        return await tx.fetch_value(query)


async def test_running_and_waiting_jobs_are_stopped_before_anything_is_deleted(
    ground: JobsFixture, operating: OperatorSession, tmp_path: Path
) -> None:
    seen: list[int] = []

    async def stay(call: JobCall) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                seen.append(
                    await count(
                        ground, "SELECT count(*) FROM kernel.user_account WHERE name = 'bo'"
                    )
                )

    probe, other = Probe(then=stay), Probe()
    async with ground.working(probe.job, concurrency=1):
        await ground.ask(ground.bo, probe.job)
        await probe.began.wait()
        await ground.ask(ground.bo, probe.job, "s2")
        await delete(operating, tmp_path)
        assert seen == [1], "it ended while the users of the tenant were still there"
    assert probe.runs == [1]
    assert await count(ground, QUEUED) == 0
    async with ground.working(other.job):
        await ground.ask(ground.away, other.job)
        await other.began.wait()


async def test_what_a_call_adds_that_began_before_the_deletion_goes_too(
    ground: JobsFixture, operating: OperatorSession, tmp_path: Path
) -> None:
    async with anyio.create_task_group() as tasks, ground.writing(ground.ana) as tx:
        await tx.execute(
            "INSERT INTO kernel.source (tenant_id, id, protocol)"
            " VALUES (kernel.tenant(), 'late', 'upload')"
        )
        tasks.start_soon(delete, operating, tmp_path)
        with anyio.fail_after(30):
            while not await count(ground, BLOCKED):  # noqa: ASYNC110
                await anyio.sleep(0.02)
    assert await count(ground, "SELECT count(*) FROM kernel.tenant WHERE name = 'here'") == 0
    assert await count(ground, "SELECT count(*) FROM kernel.source") == 0
    assert await count(ground, "SELECT count(*) FROM kernel.acl") == 0
