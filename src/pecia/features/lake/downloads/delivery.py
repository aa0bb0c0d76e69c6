"""Originals that a worker fetches for a server process, which holds no credentials of sources.

The server process inserts a request; a worker that holds the credential stores the bytes in pieces,
and the requester reads and deletes them at once.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, BinaryIO, cast
from uuid import UUID, uuid4

import anyio
from anyio.to_thread import run_sync

from pecia.features.lake.crawl.crawler import (
    OpenConnector,
    is_last_attempt,
    is_store_error,
    load_config,
    require_tenant,
)
from pecia.kernel.errors import (
    BadArgument,
    Forbidden,
    InternalError,
    NotFound,
    PayloadTooLarge,
    PeciaError,
    RateLimited,
    StorageFull,
    Timeout,
    Unavailable,
    Unprocessable,
    UpstreamError,
)
from pecia.kernel.jobs.call import JobCall
from pecia.kernel.jobs.defer import defer_as_system
from pecia.kernel.jobs.job import Job, JobArguments, RetryPolicy
from pecia.kernel.jobs.outcome import describe_problem
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.store import Store

SQL = load_queries("pecia.features.lake.downloads", "delivery.sql")
PART_BYTES = 1 << 20
DELIVERY_TIMEOUT_S = 60.0
POLL_INTERVAL_S = 0.05
MAX_ATTEMPTS = 2


class DeliveryArguments(JobArguments):
    delivery_id: UUID


def delivery_job(connect: OpenConnector) -> Job:
    """The job that fetches one original. The requester's timeout is shorter than the queue's."""
    return Job(
        "lake",
        "deliver",
        DeliveryWorker(connect).deliver,
        DeliveryArguments,
        key=lambda it: str(it.delivery_id),
        priority=5,
        retry=RetryPolicy(attempts=MAX_ATTEMPTS, first_s=0.5),
        timeout_s=DELIVERY_TIMEOUT_S,
    )


@dataclass(frozen=True, slots=True)
class DeliveryWorker:
    """The worker's side."""

    connect: OpenConnector

    async def deliver(self, call: JobCall, ask: DeliveryArguments) -> None:
        which = {"tenant_id": require_tenant(call), "id": ask.delivery_id}
        async with call.tx() as tx:
            await tx.execute(
                SQL["forget_old"], tenant_id=which["tenant_id"], wait_s=2 * DELIVERY_TIMEOUT_S
            )
            row = await tx.fetch_optional(SQL["begin"], **which)
        if row is None:
            return
        try:
            await self._fetch_original(call, row, which)
        except Exception as error:
            is_unexpected = not isinstance(error, PeciaError)
            if (is_unexpected or is_store_error(error)) and not is_last_attempt(
                call, error, MAX_ATTEMPTS
            ):
                # Not the source's fault: the requester still has time for another attempt.
                raise
            state = "gone" if isinstance(error, NotFound) else "failed"
            await _end(call, which, state=state, **_error_fields(error))
            if is_unexpected:
                # The queue logs it: the requester learns only that it was unexpected.
                raise
        else:
            await _end(call, which, state="ready", code="", problem="")

    async def _fetch_original(
        self, call: JobCall, row: dict[str, Any], which: dict[str, UUID]
    ) -> None:
        async with call.tx() as tx:
            config = await load_config(tx, row)
        if config is None:
            raise NotFound(f"the source {row['source_id']!r} is switched off")
        async with (
            self.connect(row["tenant_id"], row["source_id"], config) as place,
            place.opening(row["key"], config.most_bytes) as original,
        ):
            await _store_parts(call, which, original.path)


@dataclass(frozen=True, slots=True)
class DeliveryQueue:
    """The requester's side, after the rights were checked."""

    store: Store
    job: Job

    async def fetch(self, tenant_id: UUID, source_id: str, key: str) -> tuple[BinaryIO, int]:
        """The bytes, as an unlinked open file; NotFound if the source no longer has them."""
        async with self._request(tenant_id, source_id, key) as which:
            with anyio.move_on_after(DELIVERY_TIMEOUT_S):
                await self._wait(which)
                return await self._receive(which)
        raise Timeout(
            f"no worker fetched {key!r} of source {source_id!r} within {DELIVERY_TIMEOUT_S:g} s",
            timeout_s=DELIVERY_TIMEOUT_S,
            hint="A source with a credential is read by workers: start one with `pecia worker`, "
            "or try again when they are less busy.",
        )

    @asynccontextmanager
    async def _request(
        self, tenant_id: UUID, source_id: str, key: str
    ) -> AsyncGenerator[dict[str, UUID]]:
        which = {"tenant_id": tenant_id, "id": uuid4()}
        async with self.store.system() as tx:
            await tx.execute(SQL["ask"], source_id=source_id, key=key, **which)
            ask = DeliveryArguments(delivery_id=which["id"])
            await defer_as_system(tx, self.job, ask, tenant_id=tenant_id)
        try:
            yield which
        finally:
            with anyio.CancelScope(shield=True):
                async with self.store.system() as tx:
                    await tx.execute(SQL["forget"], **which)

    async def _wait(self, which: dict[str, UUID]) -> None:
        while True:
            async with self.store.system() as tx:
                row = await tx.fetch_one(SQL["state"], "the delivery is gone", **which)
            match row["state"]:
                case "waiting":
                    await anyio.sleep(POLL_INTERVAL_S)
                case "ready":
                    return
                case "gone":
                    raise NotFound(row["problem"])
                case _:
                    raise _failure(row["code"], row["problem"])

    async def _receive(self, which: dict[str, UUID]) -> tuple[BinaryIO, int]:
        body = cast(BinaryIO, await run_sync(TemporaryFile))
        try:
            size = n = 0
            while True:
                async with self.store.system() as tx:
                    part: bytes | None = await tx.fetch_value(SQL["part"], n=n, **which)
                if part is None:
                    break
                size += await run_sync(body.write, part)
                n += 1
            await run_sync(body.seek, 0)
        except BaseException:
            body.close()
            raise
        return body, size


# Errors of the source, passed on with message and code.
_ERROR_TYPES: dict[str, type[PeciaError]] = {
    it.code.name: it
    for it in (
        Forbidden,
        InternalError,
        RateLimited,
        StorageFull,
        Timeout,
        Unavailable,
        Unprocessable,
    )
}


def _error_fields(error: Exception) -> dict[str, Any]:
    """Code and message for the requester. Never an argument error: they only had a link."""
    problem = describe_problem(error)
    if isinstance(error, BadArgument) and not isinstance(error, PayloadTooLarge):
        problem["code"] = Unprocessable.code.name
    return {"code": problem["code"], "problem": problem["message"]}


def _failure(code: str, problem: str) -> PeciaError:
    if code == PayloadTooLarge.code.name:
        return PayloadTooLarge(problem, field="key")
    return _ERROR_TYPES.get(code, UpstreamError)(problem)


async def _end(call: JobCall, which: dict[str, UUID], **how: str) -> None:
    async with call.tx() as tx:
        await tx.execute(SQL["end"], **how, **which)


async def _store_parts(call: JobCall, which: dict[str, UUID], path: Path) -> None:
    with path.open("rb") as body:
        n = 0
        while part := await run_sync(body.read, PART_BYTES):
            async with call.tx() as tx:
                await tx.execute(SQL["put_part"], n=n, body=part, **which)
            n += 1
