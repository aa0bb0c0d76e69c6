"""A search during a crawl says to those who may know it that files may be missing."""

from typing import Any

import pytest

from pecia.kernel.jobs.worker import run_until_idle
from tests.conftest import CONTEXT
from tests.features.lake.conftest import Lake

pytestmark = pytest.mark.anyio


async def said(lake: Lake, who: Any, **more: Any) -> list[str]:
    found = await lake.search("heron", who=who, mode="lexical", **more)
    return [it for it in found["degraded"] if "being crawled" in it]


async def test_owners_are_told_that_files_wait_and_others_are_not(lake: Lake) -> None:
    house = lake.house
    lake.write({"a.md": "A heron.\n"})
    await lake.crawl()
    assert await said(lake, house.ana) == []
    lake.write({"b.md": "Another heron.\n"})
    await house.call(house.ana, "crawl_source", source_id="docs")
    [note] = await said(lake, house.ana)
    assert note.startswith("the source 'docs' is being crawled, so that files may be missing here")
    # No worker runs in this test, and the note says what to look at.
    assert "pecia doctor" in note
    assert await said(lake, house.ana, source_id="docs") == [note]
    assert await said(lake, house.bo) == []
    lean = house.app.full_view.for_agents()
    asked = {"query": "heron", "mode": "lexical"}
    passages: Any = (
        await house.app.call(house.ana, "search_content", asked, CONTEXT, lean)
    ).structured
    assert note in passages["degraded"]

    await run_until_idle(house.app.store, house.app.jobs)
    assert await said(lake, house.ana) == []


async def test_how_many_files_wait_changes_nothing_in_the_note(lake: Lake) -> None:
    """Some of them may be hidden from the owner of the source too."""
    house, notes = lake.house, set[str]()
    for count in (0, 1, 7):
        lake.write({f"{count}-{n}.md": "A heron.\n" for n in range(count)})
        await house.call(house.ana, "crawl_source", source_id="docs")
        notes |= {*await said(lake, house.ana)}
        await run_until_idle(house.app.store, house.app.jobs)
    assert len(notes) == 1


async def test_owners_are_told_of_a_source_that_was_never_crawled(lake: Lake) -> None:
    """Between the start of a server and the first crawl of its folder, nothing is found yet."""
    house = lake.house
    found = await lake.search("heron", mode="lexical")
    [note] = found["degraded"]
    assert note.startswith("the source 'docs' has not been crawled yet")
    assert "pecia doctor" in note
    assert (await lake.search("heron", who=house.bo, mode="lexical"))["degraded"] == []

    await house.call(house.ana, "set_source", source_id="docs", enabled=False)
    assert (await lake.search("heron", mode="lexical"))["degraded"] == []
    await house.call(house.ana, "set_source", source_id="docs", enabled=True)
    lake.write({"a.md": "A heron.\n"})
    await lake.crawl()
    assert (await lake.search("heron", mode="lexical"))["degraded"] == []


async def test_a_source_that_nobody_crawls_by_itself_names_the_command(lake: Lake) -> None:
    """To search again would not help: the folder is read when somebody asks for it."""
    house = lake.house
    await house.call(
        house.ana, "add_source", source_id="shelf", folder=str(lake.folder), watch=False
    )
    found = await lake.search("heron", mode="lexical", source_id="shelf")
    [note] = found["degraded"]
    assert note.startswith("the source 'shelf' has not been crawled yet")
    assert note.endswith("`pecia source crawl shelf`")


async def test_a_space_is_crawled_by_itself_so_the_note_names_no_command(lake: Lake) -> None:
    """Its configuration is stored unlike that of other sources, and the worker watches it too."""
    house, folder = lake.house, lake.folder.with_name("notes")
    folder.mkdir()
    await house.call(house.ana, "add_space", name="notes", folder=str(folder))
    found = await lake.search("heron", mode="lexical", source_id="wiki:notes")
    [note] = found["degraded"]
    assert note.startswith("the source 'wiki:notes' has not been crawled yet")
    assert "pecia source crawl" not in note
