"""What the database will not hold costs the one file that it is of, and that at once."""

from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Any, cast

import psycopg
import pytest

from pecia.features.lake.crawl.crawler import MAX_ATTEMPTS, is_last_attempt
from pecia.kernel.corpus.catalog import texts
from pecia.kernel.errors import Collision, QuotaExceeded, UpstreamError
from pecia.kernel.jobs.call import JobCall, JobRun
from pecia.kernel.jobs.status import list_jobs
from pecia.kernel.store.cluster import DatabaseLogins
from pecia.kernel.store.store import Store
from tests.features.lake.conftest import Lake
from tests.laws.law_database import connect
from tests.laws.paths import Connection

pytestmark = pytest.mark.anyio

FILES = {f"{it}.md": f"A heron of {it}.\n" for it in "abcde"}


@pytest.fixture
def owner(database: DatabaseLogins) -> Iterator[Connection]:
    """Who may put a rule on a table that nobody thought of."""
    with connect(database.owner) as connection:
        yield connection


async def text_of(lake: Lake, key: str) -> dict[str, Any]:
    return await lake.house.call(lake.house.ana, "get_file_text", source_id="docs", key=key)


async def attempts(lake: Lake, name: str) -> list[tuple[str, int]]:
    async with lake.house.app.store.reading(lake.house.ana) as tx:
        return [(it.status, it.attempts) for it in await list_jobs(tx, name=name)]


async def test_a_text_that_the_database_refuses_costs_no_other_file(
    lake: Lake, owner: Connection
) -> None:
    owner.execute(
        "ALTER TABLE kernel.chunk ADD CONSTRAINT no_stork CHECK (text NOT LIKE '%stork%')"
    )
    lake.write({**FILES, "bad.md": "A stork.\n"})
    status = await lake.crawl()
    assert (status["state"], status["read"], status["failed"]) == ("done", 6, 1)
    bad = await text_of(lake, "bad.md")
    assert (bad["status"], bad["chunks"]) == ("unsupported", [])
    assert "no_stork" in bad["reason"]
    assert len((await lake.search("heron", mode="lexical"))["hits"]) == len(FILES)
    assert await attempts(lake, "lake.read") == [("done", 1)]
    # It is not read again before it changes.
    assert (await lake.crawl())["read"] == 0
    lake.write({"bad.md": "A crane, longer.\n"})
    assert (await lake.crawl())["failed"] == 0
    assert (await text_of(lake, "bad.md"))["status"] == "ok"


async def test_a_text_too_large_for_an_index_of_the_database_costs_no_other_file(
    lake: Lake, owner: Connection
) -> None:
    """The database calls this a limit of its own, as if it were out of order; it is not."""
    owner.execute("CREATE INDEX narrow ON kernel.chunk (text)")
    signs = Random(1)
    wide = "".join(chr(signs.randrange(0x4E00, 0x9FA5)) for _ in range(5000))
    lake.write({**FILES, "bad.md": wide})
    status = await lake.crawl()
    assert (status["state"], status["read"], status["failed"]) == ("done", 6, 1)
    bad = await text_of(lake, "bad.md")
    assert (bad["status"], bad["chunks"]) == ("unsupported", [])
    assert "narrow" in bad["reason"]
    assert await attempts(lake, "lake.read") == [("done", 1)]


async def test_of_a_text_longer_than_the_store_holds_the_first_part_is_kept_and_said(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(texts, "MAX_TEXT_CHARS", 5_000)
    lines = [f"Heron {it} stands in the reeds.\n" for it in range(1_000)]
    lake.write({**FILES, "long.txt": "".join(lines)})
    await lake.crawl()
    long = await text_of(lake, "long.txt")
    assert long["status"] == "too_large"
    assert long["reason"].startswith(f"Its text has {len(''.join(lines)):,} characters; the first ")
    kept = "".join(it["text"] for it in long["chunks"])
    assert kept.endswith(" stands in the reeds.\n")
    assert 4_900 < len(kept) <= 5_000
    [hit] = (await lake.search("heron 77", mode="lexical", limit=1))["hits"]
    assert hit["key"] == "long.txt"
    unread = await lake.house.call(lake.house.ana, "list_unread", source_id="docs")
    assert [(it["key"], it["reason"]) for it in unread["files"]] == [("long.txt", long["reason"])]


async def test_facts_that_the_database_refuses_are_left_out(lake: Lake, owner: Connection) -> None:
    owner.execute("ALTER TABLE kernel.file ADD CONSTRAINT small CHECK (size_bytes < 100)")
    lake.write({**FILES, "bad.md": "A stork. " * 20})
    status = await lake.crawl()
    assert (status["state"], status["read"], status["failed"]) == ("done", 6, 1)
    assert "small" in (await text_of(lake, "bad.md"))["reason"]


async def test_a_listing_that_the_database_refuses_fails_the_crawl_at_once(
    lake: Lake, owner: Connection
) -> None:
    owner.execute("ALTER TABLE lake.todo ADD CONSTRAINT no_bad CHECK (key <> 'bad.md')")
    lake.write({**FILES, "bad.md": "A stork.\n"})
    status = await lake.crawl()
    assert status["state"] == "failed"
    assert "not one the store accepts" in status["problem"]
    assert await attempts(lake, "lake.crawl") == [("done", 1)]


def test_nobody_comes_back_for_what_another_attempt_cannot_mend() -> None:
    """Also where it was the database that said so: a quota is used up until somebody acts."""
    nowhere = cast(Store, None)
    first = JobCall(nowhere, JobRun(1, "lake.read", None, 0), 1, None, None, deadline=0)
    used_up = QuotaExceeded("the quota is used up")
    used_up.__cause__ = psycopg.Error("PE429")
    assert is_last_attempt(first, used_up)
    assert not is_last_attempt(first, UpstreamError("the database is not reachable"))
    assert not is_last_attempt(first, Collision("two writers met"))
    assert not is_last_attempt(first, RuntimeError("unexpected"))
    assert is_last_attempt(replace(first, attempt=MAX_ATTEMPTS), RuntimeError("unexpected"))
