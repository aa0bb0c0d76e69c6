"""The kernel's own jobs: scheduled, and of no tenant."""

from typing import LiteralString

from pecia.kernel.jobs.call import SQL, JobCall
from pecia.kernel.jobs.job import Job, NoArguments

ROWS_PER_BATCH = 1000

# An issuer's tokens live an hour; each leaves a row that is useless after that.
SIGN_INS_DAYS = 1


def cleanup_job(*, jobs_days: int, audit_days: int) -> Job:
    """The hourly job that drops rows past their retention."""

    async def run(call: JobCall, _: NoArguments) -> None:
        dropped = await _drop(call, SQL["drop_old_jobs"], jobs_days)
        dropped += await _drop(call, SQL["drop_old_audit"], audit_days)
        dropped += await _drop(call, SQL["drop_old_sign_ins"], SIGN_INS_DAYS)
        await call.progress(dropped, dropped, "rows dropped")

    return Job("kernel", "cleanup", run, NoArguments, key=lambda _: "", schedule="23 * * * *")


async def _drop(call: JobCall, statement: LiteralString, days: int) -> int:
    """In small transactions, so that nobody waits long for a lock."""
    dropped = 0
    while True:
        async with call.tx() as tx:
            touched = await tx.execute(statement, days=days, most=ROWS_PER_BATCH)
        dropped += touched
        if touched < ROWS_PER_BATCH:
            return dropped
