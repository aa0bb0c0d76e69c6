"""What an owner is told of the files of a source: how many were read, which were not, and why."""

from typing import Any

import pytest

from pecia.kernel.errors import Forbidden, Json, NotFound, PeciaError
from tests.features.lake.conftest import SOURCE, Lake

pytestmark = pytest.mark.anyio

GOOD = {f"good-{n}.md": f"# Heron {n}\n\nIt stands in the river." for n in range(3)}
BAD = {"torn.pdf": b"%PDF-1.7 torn", "odd.bin": bytes(range(256)) * 8, "none.md": b""}


# One that is empty has been read: there is no more in it.
UNREAD = sorted(it for it in BAD if BAD[it])


@pytest.fixture
async def mixed(lake: Lake) -> Lake:
    lake.write({**GOOD, **BAD})
    await lake.crawl()
    return lake


async def test_every_file_is_counted_once_and_what_was_not_read_has_a_reason(mixed: Lake) -> None:
    house = mixed.house
    told = await house.call(house.ana, "source_stats", source_id=SOURCE)
    by_status = {it["status"]: it["files"] for it in told["by_status"]}
    assert told["files"] == sum(by_status.values()) == len(GOOD) + len(BAD)
    assert by_status["ok"] == len(GOOD)
    assert told["chunks"] >= len(GOOD)
    assert told["size"] == sum(len(it) for it in (*GOOD.values(), *BAD.values()))
    assert sum(it["files"] for it in told["unread"]) == told["unread_files"] == len(UNREAD)
    assert told["indexed"] == told["files"] - len(UNREAD)
    assert not told["has_more_reasons"]


async def test_a_second_crawl_does_not_make_them_look_read(mixed: Lake) -> None:
    house = mixed.house
    before = await house.call(house.ana, "source_stats", source_id=SOURCE)
    assert (await mixed.crawl())["failed"] == 0
    assert await house.call(house.ana, "source_stats", source_id=SOURCE) == before


async def test_files_that_were_not_read_are_listed_page_by_page_or_by_status(mixed: Lake) -> None:
    house = mixed.house
    asked: dict[str, Json] = {"source_id": SOURCE, "limit": 1}
    found: list[dict[str, Any]] = []
    while "cursor" not in asked or asked["cursor"]:
        page = await house.call(house.ana, "list_unread", **asked)
        found += page["files"]
        asked["cursor"] = page["next_cursor"]
    assert [it["key"] for it in found] == UNREAD
    assert all(it["reason"] for it in found)
    empty = await house.call(house.ana, "list_unread", source_id=SOURCE, status="empty")
    assert [it["key"] for it in empty["files"]] == [it for it in BAD if not BAD[it]]
    status = found[-1]["status"]
    only = await house.call(house.ana, "list_unread", source_id=SOURCE, status=status)
    assert only["files"] == [it for it in found if it["status"] == status]


@pytest.mark.parametrize("tool", ["source_stats", "list_unread"])
async def test_others_than_owners_are_told_nothing(mixed: Lake, tool: str) -> None:
    house = mixed.house
    with pytest.raises(Forbidden):
        await house.call(house.bo, tool, source_id=SOURCE)
    with pytest.raises(NotFound):
        await house.call(house.ana, tool, source_id="no-such")


@pytest.mark.parametrize("wrong", [{"status": "ok"}, {"cursor": "x"}, {"limit": 0}])
async def test_a_wrong_argument_is_named(mixed: Lake, wrong: dict[str, Json]) -> None:
    house = mixed.house
    with pytest.raises(PeciaError) as refused:
        await house.call(house.ana, "list_unread", source_id=SOURCE, **wrong)
    assert refused.value.fields["field"] in wrong
