"""Enqueues inside a transaction: the job exists if and only if the transaction commits."""

from typing import Any
from uuid import UUID

import orjson
from psycopg.types.json import Jsonb
from pydantic import BaseModel

from pecia.kernel.errors import InvalidInput, PayloadTooLarge
from pecia.kernel.jobs.call import SQL
from pecia.kernel.jobs.job import Job
from pecia.kernel.store.store import Transaction

MAX_ARGUMENT_BYTES = 16_000


async def defer(tx: Transaction, job: Job, arguments: BaseModel, *, after_s: float = 0) -> int:
    """Queue a job as part of a caller's write, for the tenant and user of the transaction.

    The id of the job, or of a queued one for the same work. Best done last: until the transaction
    ends, others who defer the same work wait for it.
    """
    return await tx.fetch_value(SQL["defer_job"], after_s=after_s, **encode_job(job, arguments))


async def defer_as_system(
    tx: Transaction,
    job: Job,
    arguments: BaseModel,
    *,
    tenant_id: UUID | None,
    user_id: UUID | None = None,
    after_s: float = 0,
) -> int:
    """Queue a job in a system transaction. Without a tenant, it is the kernel's own."""
    whose = {"tenant_id": tenant_id, "user_id": user_id}
    return await tx.fetch_value(
        SQL["put_job"], after_s=after_s, **whose, **encode_job(job, arguments)
    )


def encode_job(job: Job, arguments: BaseModel) -> dict[str, Any]:
    """A job with its arguments, serialised for the queue."""
    if not isinstance(arguments, job.takes):
        raise InvalidInput(
            f"job {job.full_name} takes {job.takes.__name__}",
            field="arguments",
            expected=job.takes.__name__,
            got=type(arguments).__name__,
        )
    plain = arguments.model_dump(mode="json")
    if len(orjson.dumps(plain)) > MAX_ARGUMENT_BYTES:
        raise PayloadTooLarge(
            f"the arguments of a job are ids and keys, at most {MAX_ARGUMENT_BYTES} bytes of them",
            field="arguments",
            max=MAX_ARGUMENT_BYTES,
        )
    return {
        "name": job.full_name,
        "key": None if job.key is None else job.key(arguments),
        "queue": job.queue,
        "priority": job.priority,
        "arguments": Jsonb(plain),
    }
