"""Background jobs through the tools: who sees them, and what may be done to one that ended."""

from pathlib import Path

import pytest

from pecia.kernel.errors import Conflict, NotFound
from tests.conftest import House

pytestmark = pytest.mark.anyio


async def test_an_administrator_sees_a_job_cancels_it_and_queues_it_again(
    house: House, tmp_path: Path
) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    await house.call(house.ana, "add_source", source_id="files", folder=str(folder))
    await house.call(house.ana, "crawl_source", source_id="files")
    found = (await house.call(house.ana, "list_jobs", status="waiting"))["jobs"]
    job = next(it for it in found if it["name"] == "lake.crawl")
    assert (await house.call(house.bo, "list_jobs"))["jobs"] == []
    ended = await house.call(house.ana, "cancel_job", id=job["id"])
    assert ended["status"] == "cancelled"
    with pytest.raises(Conflict):
        await house.call(house.ana, "cancel_job", id=job["id"])
    assert (await house.call(house.ana, "retry_job", id=job["id"]))["status"] == "waiting"
    with pytest.raises(NotFound):
        await house.call(house.ana, "cancel_job", id=10**12)
