"""A small source, and a file that somebody saves, do not wait for a large source to be read."""

from datetime import datetime
from pathlib import Path

import pytest

from pecia.features.lake.crawl.crawler import LIST_BATCH
from pecia.kernel.jobs.worker import run_until_idle
from tests.features.lake.conftest import SOURCE, Lake

pytestmark = pytest.mark.anyio


async def test_a_small_source_is_read_before_the_rest_of_a_large_one(
    lake: Lake, tmp_path: Path
) -> None:
    house = lake.house
    lake.write({f"{n:04}.md": f"Heron {n}.\n" for n in range(LIST_BATCH + 20)})
    small = tmp_path / "small"
    small.mkdir()
    (small / "a.md").write_text("A bittern.\n", encoding="utf-8")
    await house.call(house.ana, "add_source", source_id="small", folder=str(small))
    for source in (SOURCE, "small"):
        await house.call(house.ana, "crawl_source", source_id=source)
    await run_until_idle(house.app.store, house.app.jobs)

    ended = {
        it: await house.call(house.ana, "crawl_status", source_id=it) for it in (SOURCE, "small")
    }
    assert {it["state"] for it in ended.values()} == {"done"}
    times = {name: datetime.fromisoformat(it["ended_at"]) for name, it in ended.items()}
    assert times["small"] < times[SOURCE]
