"""Killed at any named point of a crawl, worker, server or database: it ends as if undisturbed."""

import random
import time
from collections import Counter

import pytest
from anyio.to_thread import run_sync

from tests.faults.crawl_cluster import Api, CrawlCluster, crawled, open_ground, until
from tests.faults.crawl_victim import POINTS
from tests.soak import ROUNDS as SOAK_ROUNDS
from tests.soak import SOAK, record

pytestmark = [pytest.mark.anyio, pytest.mark.fault, pytest.mark.timeout(0 if SOAK else 300)]

TARGETS = ("worker", "server", "database")
ROUNDS = SOAK_ROUNDS if SOAK else 3
FILES = 150 if SOAK else 70


async def test_a_crawl_killed_at_any_point_ends_as_an_undisturbed_one() -> None:
    seed = random.randrange(1 << 30)
    dice = random.Random(seed)
    pairs = [(target, point) for point in POINTS for target in TARGETS]
    dice.shuffle(pairs)
    # Each of the three in turn, however few the rounds are.
    pairs.sort(key=lambda it: TARGETS.index(it[0]))
    turns = [
        pairs[number % 3 * len(POINTS) + number // 3 % len(POINTS)] for number in range(ROUNDS)
    ]
    hits: Counter[str] = Counter()
    began = time.perf_counter()
    async with open_ground() as ground:
        api = await ground.start_api()
        for source in ("docs", "calm"):
            folder = str(ground.folder)
            asked = {"source_id": source, "folder": folder, "watch": False, "trim_mode": "open"}
            await api.call("admin/add_source", **asked)
        ground.change(dice, FILES)
        ground.start_worker()
        await api.call("admin/crawl_source", source_id="docs")
        assert (await crawled(api, "docs"))["seen"] > 1
        ground.end_workers()
        for target, point in turns:
            ground.change(dice, FILES)
            about = f"seed {seed}, {target} at {point}"
            api = await one_round(ground, api, target, point, about)
            hits[f"{target} at {point}"] += 1
    seconds = round(time.perf_counter() - began)
    record(
        "crawl", {"rounds": sum(hits.values()), "files": FILES, "hits": hits, "seconds": seconds}
    )


async def one_round(ground: CrawlCluster, api: Api, target: str, point: str, about: str) -> Api:
    """Kill, recover as an operator would, let the crawl end, and compare. The API that serves."""
    whom = {"worker": 0, "server": api.process.pid, "database": ground.postmaster()}[target]
    victim = ground.start_worker(point, whom)
    assert victim.stdout is not None
    assert await run_sync(victim.stdout.readline) == "ready\n", about
    await api.call("admin/crawl_source", source_id="docs")
    assert await run_sync(victim.stdout.readline) == f"hit {point}\n", about
    match target:
        case "worker":
            assert await run_sync(victim.wait) == -9
            ground.start_worker()
        case "server":
            await run_sync(api.process.wait)
            api.kill()
            api = await ground.start_api()
        case _:
            await ground.cluster.restart_if_down()
    assert (await crawled(api, "docs"))["state"] == "done", about
    await api.call("admin/crawl_source", source_id="calm")
    assert (await crawled(api, "calm"))["state"] == "done", about
    docs, calm = ground.stored("docs"), ground.stored("calm")
    assert [it[0] for it in docs] == present(ground), about
    assert docs == calm, about
    await until(lambda: ground.indexed() == ground.chunks(), f"{about}: the index is not equal")
    ground.end_workers()
    return api


def present(ground: CrawlCluster) -> list[str]:
    """The keys of the files that are there, as the database sorts them."""
    return sorted(
        it.relative_to(ground.folder).as_posix() for it in ground.folder.rglob("*") if it.is_file()
    )
