"""The folder of a space: search finds what its wiki shows, and nothing that is left out of it."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from pecia.adapters.connectors.folder import FolderConnector
from pecia.kernel.corpus.connector import ListingEntry
from tests.conftest import House
from tests.features.lake.conftest import Lake

pytestmark = pytest.mark.anyio

SPACE = "wiki:notes"


@pytest.fixture
async def space(house: House, tmp_path: Path) -> Lake:
    folder = tmp_path / "notes"
    folder.mkdir()
    await house.call(house.ana, "add_space", folder=str(folder))
    return Lake(house, folder)


async def found(space: Lake) -> set[str]:
    answer = await space.search("heron", mode="lexical", limit=50)
    return {it["key"] for it in answer["hits"]}


async def test_what_an_ignore_file_leaves_out_is_not_found_and_is_told(space: Lake) -> None:
    space.write(
        {
            "a.md": "A heron.\n",
            "diary.md": "A private heron.\n",
            "drafts/b.md": "A heron, half done.\n",
            "drafts/kept.md": "A heron that is ready.\n",
            "sub/c.txt": "A heron in a log.\n",
            "sub/d.md": "A heron.\n",
            "build/e.md": "A heron that a tool wrote.\n",
            ".okignore": "diary.md\ndrafts/*\n!drafts/kept.md\n",
            "sub/.gitignore": "*.txt\n",
        }
    )
    status = await space.crawl(SPACE)
    assert await found(space) == {"a.md", "drafts/kept.md", "sub/d.md", "build/e.md"}
    told = {it["key"]: it["reason"] for it in status["passed_first"]}
    assert {*told} == {"diary.md", "drafts/b.md", "sub/c.txt"}
    assert "ignore" in told["diary.md"]


async def test_what_is_left_out_later_is_forgotten_and_comes_back_when_it_is_not(
    space: Lake,
) -> None:
    space.write({"a.md": "A heron.\n", "diary.md": "A private heron.\n"})
    await space.crawl(SPACE)
    assert await found(space) == {"a.md", "diary.md"}
    space.write({".okignore": "diary.md\n"})
    assert (await space.crawl(SPACE))["gone"] == 1
    assert await found(space) == {"a.md"}
    (space.folder / ".okignore").unlink()
    await space.crawl(SPACE)
    assert await found(space) == {"a.md", "diary.md"}


async def test_a_folder_that_is_no_space_is_read_whatever_such_files_say(lake: Lake) -> None:
    lake.write({"a.md": "A heron.\n", ".okignore": "a.md\n"})
    await lake.crawl()
    assert "a.md" in await found(lake)


async def test_a_document_written_while_the_folder_is_listed_stays(
    space: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    space.write({"a.md": "A heron.\n"})
    await space.crawl(SPACE)
    house, listing = space.house, FolderConnector.listing

    async def write_at_the_end(self: FolderConnector) -> AsyncGenerator[ListingEntry]:
        async for it in listing(self):
            yield it
        new = {"docName": "new", "markdown": "A heron too.\n", "position": "replace"}
        await house.call(house.ana, "write_document", **new)

    monkeypatch.setattr(FolderConnector, "listing", write_at_the_end)
    status = await space.crawl(SPACE)
    assert (status["state"], status["gone"]) == ("done", 0)
    assert await found(space) == {"a.md", "new.md"}
    await house.call(house.ana, "rename_document", docName="new", newDocName="newer")
