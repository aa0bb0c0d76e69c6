"""The house's own jobs."""

from uuid import uuid4

import pytest

from pecia.kernel.jobs import NoArguments, defer_as_system
from pecia.kernel.jobs.cleanup import cleanup_job
from pecia.kernel.jobs.worker import run_until_idle
from tests.features.jobs.jobs_fixture import JobsFixture, Probe

pytestmark = pytest.mark.anyio

AUDIT = """
INSERT INTO kernel.audit (id, tenant_id, at, tool, interface, status)
VALUES (%(id)s, %(tenant_id)s, now() - make_interval(days => %(days)s), 'probe.old', 'test', 'ok')
"""


async def test_the_sweep_drops_what_is_old_and_keeps_the_rest(ground: JobsFixture) -> None:
    probe = Probe()
    old, new = [await ground.ask(ground.bo, probe.job, it) for it in ("old", "new")]
    await run_until_idle(ground.store, [probe.job])
    waiting = await ground.ask(ground.bo, probe.job, "waiting", after_s=3600)
    end = (
        "UPDATE kernel.job SET finished_at = now() - make_interval(days => %(days)s)"
        " WHERE id = %(id)s"
    )
    await ground.run(end, id=old, days=15)
    await ground.run(end, id=new, days=13)
    for tenant_id in (ground.bo.tenant_id, ground.away.tenant_id, None):
        for days in (364, 366):
            await ground.run(AUDIT, id=uuid4(), tenant_id=tenant_id, days=days)
    job = cleanup_job(jobs_days=14, audit_days=365)
    async with ground.store.system() as tx:
        await defer_as_system(tx, job, NoArguments(), tenant_id=None)
    await run_until_idle(ground.store, [job])
    assert await ground.seen_by(ground.bo) == [waiting, new]
    async with ground.store.system() as tx:
        left = await tx.fetch_all("SELECT tenant_id FROM kernel.audit WHERE tool = 'probe.old'")
    assert {it["tenant_id"] for it in left} == {
        ground.bo.tenant_id,
        ground.away.tenant_id,
        None,
    }
    assert len(left) == 3


SIGN_IN = """
INSERT INTO kernel.credential (tenant_id, kind, user_id, hash, scopes, label, expires_at)
VALUES (%(tenant_id)s, %(kind)s, %(user_id)s, sha256(convert_to(%(label)s, 'UTF8')), '{}',
        %(label)s, now() - make_interval(hours => %(hours)s))
"""


async def test_the_sweep_drops_sign_ins_that_are_over_and_no_token_of_ours(
    ground: JobsFixture,
) -> None:
    for kind, hours in (("oidc", 25), ("oidc", 1), ("pat", 25)):
        await ground.run(
            SIGN_IN,
            tenant_id=ground.bo.tenant_id,
            user_id=ground.bo.user_id,
            kind=kind,
            hours=hours,
            label=f"{kind} {hours}",
        )
    job = cleanup_job(jobs_days=14, audit_days=365)
    async with ground.store.system() as tx:
        await defer_as_system(tx, job, NoArguments(), tenant_id=None)
    await run_until_idle(ground.store, [job])
    async with ground.store.system() as tx:
        left = await tx.fetch_all(
            "SELECT label FROM kernel.credential WHERE label ~ '^(oidc|pat) '"
        )
    assert {it["label"] for it in left} == {"oidc 1", "pat 25"}
