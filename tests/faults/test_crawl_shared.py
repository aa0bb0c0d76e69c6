"""Two workers and two API processes on one database: one crawl, equal answers."""

import random
from typing import Any

import anyio
import pytest
from anyio.to_thread import run_sync

from tests.faults.crawl_cluster import WORDS, CrawlCluster, crawled, open_ground, until

pytestmark = [pytest.mark.anyio, pytest.mark.fault, pytest.mark.timeout(240)]

# More than a batch of the list, so that the files are shared out.
FILES = 700
SHELVES = 50


async def test_workers_share_a_crawl_and_api_processes_answer_alike() -> None:
    dice = random.Random(11)
    async with open_ground() as ground:
        fill(ground, dice)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ground.start_api, "one")
            tasks.start_soon(ground.start_api, "two")
        one, two = ground.apis["one"], ground.apis["two"]
        workers = [ground.start_worker(tells=True), ground.start_worker(tells=True)]
        for worker in workers:
            assert worker.stdout is not None
            assert await run_sync(worker.stdout.readline) == "ready\n"
        folder = str(ground.folder)
        asked = {"source_id": "docs", "folder": folder, "watch": False, "trim_mode": "open"}
        await one.call("admin/add_source", **asked)
        await two.call("admin/crawl_source", source_id="docs")
        done = await crawled(one, "docs")
        assert (done["state"], done["seen"], done["read"], done["failed"]) == (
            "done",
            FILES,
            FILES,
            0,
        )
        # How far the indexes are behind is measured anew at each question.
        also = await crawled(two, "docs")
        assert also == {**done, **{it: also[it] for it in ("index_lag", "condition")}}
        for worker in workers:
            assert worker.stdout is not None
            assert await run_sync(worker.stdout.readline) == "stored\n"
        stored = ground.chunks()
        for name in ("one", "two"):
            await until(lambda it=name: ground.indexed(it) == stored, f"{name} did not follow")
        for tool, arguments in questions(ground):
            answers = [comparable(await api.call(tool, **arguments)) for api in (one, two)]
            assert answers[0] == answers[1], (tool, arguments)
            assert any(answers[0].values()), (tool, arguments)


def fill(ground: CrawlCluster, dice: random.Random) -> None:
    for number in range(FILES):
        body = " ".join((*dice.choices(WORDS, k=12), shelf_mark(number)))
        (ground.folder / f"{number:04}.md").write_text(f"# File {number}\n\n{body}\n")


def shelf_mark(number: int) -> str:
    """A word that few files share: all of them fit into one answer."""
    return f"shelf{number % SHELVES:02}"


def comparable(answer: dict[str, Any]) -> dict[str, Any]:
    """Without what two indexes of the same files may weigh otherwise.

    How much a word weighs depends a little on what an index has still to clear away, and each
    clears away in its own time: which files are found is the same, their order and how well they
    match nearly.
    """
    if "hits" not in answer:
        return answer
    by_key = {it["key"]: {**it, "rank": None, "match": None} for it in answer["hits"]}
    return {**answer, "hits": dict(sorted(by_key.items()))}


def questions(ground: CrawlCluster) -> list[tuple[str, dict[str, Any]]]:
    lexical = {"mode": "lexical", "limit": 20}
    return [
        *(
            ("lake/search_content", {"query": shelf_mark(number), **lexical})
            for number in range(SHELVES)
        ),
        ("lake/list_files", {"source_id": "docs", "limit": 100}),
        ("lake/get_file_text", {"source_id": "docs", "key": "0123.md"}),
        ("lake/get_file_window", {"source_id": "docs", "key": "0007.md", "start": 0}),
        ("lake/list_sources", {}),
    ]
