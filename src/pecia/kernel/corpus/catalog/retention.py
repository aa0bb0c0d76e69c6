"""The corpus' own job: drops old revisions."""

from pecia.kernel.corpus.catalog.texts import trim_revisions
from pecia.kernel.jobs import Job, JobCall, NoArguments


def trim_revisions_job(*, revisions_days: int) -> Job:
    """The daily job that drops revisions which can no longer be cited."""

    async def run(call: JobCall, _: NoArguments) -> None:
        async with call.tx() as tx:
            dropped = await trim_revisions(tx, revisions_days)
        await call.progress(dropped, dropped, "revisions dropped")

    return Job("corpus", "trim", run, NoArguments, key=lambda _: "", schedule="41 3 * * *")
