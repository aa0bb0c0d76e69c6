"""However a worker fails to fetch an original, who waits for it is told so, by a stable code."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from uuid import UUID

import anyio
import pytest

from pecia.features.lake.downloads.delivery import DeliveryQueue, delivery_job
from pecia.features.lake.model import SourceConfig
from pecia.kernel.corpus.connector import Connector, ListingEntry, OriginalFile
from pecia.kernel.errors import (
    Forbidden,
    InternalError,
    InvalidFormat,
    NotFound,
    PayloadTooLarge,
    PeciaError,
    Timeout,
    Unavailable,
    Unprocessable,
    UpstreamError,
)
from pecia.kernel.jobs.worker import run_worker
from pecia.kernel.jobs.worker_loop import WorkerIntervals
from tests.features.lake.conftest import SOURCE, Lake

pytestmark = pytest.mark.anyio

PACE = WorkerIntervals(heartbeat_s=0.1, stalled_s=30, poll_s=0.05, grace_s=1)

FAILURES: Mapping[str, Exception] = {
    "gone": NotFound("the file is gone"),
    "away": UpstreamError("the server answers 500"),
    "slow": Timeout("the server is slow", timeout_s=1),
    "hidden": Forbidden("refused: the host is inside", rule="inside"),
    "unmounted": Unavailable("the folder cannot be read"),
    "large": PayloadTooLarge("the file is larger than 9 bytes", field="key", max=9),
    "odd": InvalidFormat("not a URL", field="url"),
    "strange": KeyError("SECRET of the place"),
    "together": ExceptionGroup("two", [KeyError("SECRET"), KeyError("SECRET")]),
}
TOLD = {
    "gone": NotFound,
    "away": UpstreamError,
    "slow": Timeout,
    "hidden": Forbidden,
    "unmounted": Unavailable,
    "large": PayloadTooLarge,
    # Nothing that the caller gave: the place is named wrongly.
    "odd": Unprocessable,
    "strange": InternalError,
    "together": InternalError,
}


@dataclass(frozen=True, slots=True)
class Failing:
    """A place in which every key fails in its own way."""

    async def listing(self) -> AsyncGenerator[ListingEntry]:
        return
        yield

    @asynccontextmanager
    async def opening(self, key: str, most_bytes: int) -> AsyncGenerator[OriginalFile]:
        raise FAILURES[key]
        yield


@asynccontextmanager
async def connect(
    tenant_id: UUID, source_id: str, config: SourceConfig
) -> AsyncGenerator[Connector]:
    yield Failing()


@asynccontextmanager
async def delivering(lake: Lake) -> AsyncGenerator[DeliveryQueue]:
    job, stop, store = delivery_job(connect), anyio.Event(), lake.house.app.store
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: run_worker(store, [job], stop=stop, pace=PACE))
        yield DeliveryQueue(store, job)
        stop.set()


async def failure(deliveries: DeliveryQueue, lake: Lake, key: str) -> PeciaError:
    with pytest.raises(PeciaError) as caught:
        await deliveries.fetch(lake.house.ana.tenant_id, SOURCE, key)
    return caught.value


async def test_every_failure_of_a_worker_ends_the_waiting_with_a_code_of_its_own(
    lake: Lake,
) -> None:
    async with delivering(lake) as deliveries:
        told = {key: await failure(deliveries, lake, key) for key in FAILURES}
    assert {key: type(it) for key, it in told.items()} == TOLD
    assert "larger than 9 bytes" in str(told["large"])
    assert "SECRET" not in str([it.payload() for it in told.values()])


async def test_a_source_whose_configuration_is_damaged_ends_the_waiting(lake: Lake) -> None:
    async with lake.house.app.store.system() as tx:
        await tx.execute("""UPDATE kernel.source SET config = '{"origin": "no"}'""")
    async with delivering(lake) as deliveries:
        assert isinstance(await failure(deliveries, lake, "a.md"), Unprocessable)
