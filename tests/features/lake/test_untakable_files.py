"""Files that cannot be taken, for their name or their place, stay reported until they are gone or
renamed: in the state of the source, in its list of unread files and in the exit code.
"""

import os
from typing import Any

import pytest

from tests.features.lake.conftest import Lake

pytestmark = pytest.mark.anyio

GOOD = {"a.md": "A heron.\n"}
LONG = "/".join(["d" * 200] * 10) + "/a.md"
"""As long as a file system takes, and longer than a key may be."""


async def unread(lake: Lake, **more: Any) -> list[tuple[str, str, str]]:
    found = await lake.house.call(lake.house.ana, "list_unread", source_id="docs", **more)
    return [(it["key"][:20], it["status"], it["reason"]) for it in found["files"]]


async def test_a_name_that_is_not_text_stays_reported_until_it_is_renamed(lake: Lake) -> None:
    lake.write(GOOD)
    bad = lake.folder / os.fsdecode(b"x\xe9.md")
    bad.write_bytes(b"A stork.\n")
    for _ in range(3):
        status = await lake.crawl()
        assert (status["state"], status["unread"], status["condition"]) == ("done", 1, "incomplete")
        assert "1 file could not be read: pecia source unread docs" in status["note"]
        assert await unread(lake) == [(r"'x\udce9.md'", "skipped", "the name is not UTF-8")]
    assert await unread(lake, status="skipped") == await unread(lake)
    assert await unread(lake, status="corrupt") == []
    stats = await lake.house.call(lake.house.ana, "source_stats", source_id="docs")
    assert (stats["unread_files"], stats["indexed"]) == (1, 1)
    assert stats["unread"] == [{"status": "skipped", "reason": "the name is not UTF-8", "files": 1}]

    bad.rename(lake.folder / "x.md")
    status = await lake.crawl()
    assert (status["unread"], status["indexed"], await unread(lake)) == (0, 2, [])
    assert status["condition"] != "incomplete"


async def test_a_path_that_is_too_long_stays_reported_until_it_is_gone(lake: Lake) -> None:
    lake.write({**GOOD, LONG: "A stork.\n"})
    for _ in range(2):
        status = await lake.crawl()
        assert (status["unread"], status["condition"]) == (1, "incomplete")
        assert await unread(lake) == [("d" * 20, "skipped", "the path is longer than 2000 bytes")]
    (lake.folder / LONG).unlink()
    assert (await lake.crawl())["unread"] == 0


async def test_what_is_skipped_on_purpose_is_not_a_failure(lake: Lake) -> None:
    lake.write(GOOD)
    os.mkfifo(lake.folder / "pipe.md")
    status = await lake.crawl()
    assert (status["passed"], status["unread"]) == (1, 0)
    assert await unread(lake) == []
