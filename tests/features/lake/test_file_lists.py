"""Browsing: sources and files by page, facts of one file, and what is hidden is not there."""

import os
from typing import Any

import pytest

from pecia.kernel.errors import MissingField, NotFound, OutOfRange, PeciaError
from pecia.kernel.identity.caller import Caller
from tests.conftest import CONTEXT, House
from tests.features.lake.conftest import Lake

pytestmark = pytest.mark.anyio


async def pages(house: House, tool: str, items: str, **more: Any) -> list[list[dict[str, Any]]]:
    """Every page; the cursor is there exactly where another follows."""
    found: list[list[dict[str, Any]]] = []
    while True:
        page = await house.call(house.ana, tool, **more)
        found.append(page[items])
        if page["next_cursor"] is None:
            return found
        more["cursor"] = page["next_cursor"]


@pytest.mark.requirement(
    "lake.sources.only_accessible",
    "lake.sources.paged",
    "lake.sources.limit",
    "lake.sources.fields",
    "lake.sources.next_cursor",
)
async def test_sources_are_listed_by_page_each_once(house: House) -> None:
    made = [f"s{it:03}" for it in range(61)]
    for name in made:
        await house.call(house.ana, "add_source", source_id=name, protocol="upload")
    await house.call(house.ana, "set_source", source_id="s007", trim_mode="open")
    found = await pages(house, "list_sources", "sources")
    assert [len(it) for it in found] == [50, 11]
    assert [it["source_id"] for page in found for it in page] == made
    facts = {"source_id", "protocol", "enabled", "last_indexed_at"}
    assert found[0][0].keys() == facts | {"condition", "unread"}
    assert len((await pages(house, "list_sources", "sources", limit=200))[0]) == 61
    assert [len(it) for it in await pages(house, "list_sources", "sources", limit=61)] == [61]
    with pytest.raises(OutOfRange):
        await house.call(house.ana, "list_sources", limit=201)
    seen = await house.call(house.bo, "list_sources")
    assert [it["source_id"] for it in seen["sources"]] == ["s007"]


async def test_when_a_source_was_indexed_is_shown_to_who_sees_all_its_files(lake: Lake) -> None:
    house = lake.house

    async def time_for(who: Caller) -> str | None:
        (found,) = (await house.call(who, "list_sources"))["sources"]
        return found["last_indexed_at"]

    lake.write({"open/a.md": "Otters", "hidden/b.md": "Herons"})
    await lake.crawl()
    assert await time_for(house.bo) == await time_for(house.ana) is not None
    await house.call(house.ana, "set_source", source_id="docs", trim_mode="per_file")
    await house.call(
        house.ana, "grant", source_id="docs", to="user:bo", role="reader", folder="open"
    )
    before = await time_for(house.bo)
    lake.write({"hidden/b.md": "Herons and storks"})
    await lake.crawl()
    assert await time_for(house.bo) == before, "a file that bo may not see moved it"
    assert await time_for(house.ana) is not None


@pytest.mark.requirement(
    "lake.files.source_required",
    "lake.files.by_key",
    "lake.files.paged",
    "lake.files.limit",
    "lake.files.next_cursor",
    "lake.pattern.known_document",
)
async def test_files_are_listed_by_key_each_once_and_read_without_a_search(lake: Lake) -> None:
    keys = sorted(f"notes/{it:02}.md" for it in range(53))
    lake.write({it: f"This is {it}.\n" for it in keys})
    await lake.crawl()
    house = lake.house
    found = await pages(house, "list_files", "files", source_id="docs")
    assert [len(it) for it in found] == [50, 3]
    assert [it["key"] for page in found for it in page] == keys
    assert len((await pages(house, "list_files", "files", source_id="docs", limit=200))[0]) == 53
    with pytest.raises(OutOfRange):
        await house.call(house.ana, "list_files", source_id="docs", limit=201)
    with pytest.raises(MissingField) as refused:
        await house.call(house.ana, "list_files")
    assert refused.value.fields["field"] == "source_id"
    last = found[-1][-1]["key"]
    read = await house.call(house.ana, "get_file_window", source_id="docs", key=last)
    assert read["text"] == f"This is {last}.\n"


@pytest.mark.requirement("lake.metadata.facts", "lake.metadata.posix")
async def test_facts_of_a_file_are_those_of_its_place(lake: Lake) -> None:
    lake.write({"a.md": "five\n"})
    path = lake.folder / "a.md"
    path.chmod(0o640)
    os.utime(path, (1_700_000_000, 1_700_000_000))
    await lake.crawl()
    house = lake.house
    found = await house.call(house.ana, "get_file_metadata", source_id="docs", key="a.md")
    about = path.stat()
    assert (found["size"], found["content_type"]) == (5, "text/markdown")
    assert found["mtime"] == "2023-11-14T22:13:20Z"
    assert found["etag"]
    assert found["owner"] == str(about.st_uid)
    assert found["storage_class"] is None
    assert (found["mode"], found["uid"], found["gid"]) == (0o640, about.st_uid, about.st_gid)
    await house.call(house.ana, "add_source", source_id="sent", protocol="upload")
    sent = {"source_id": "sent", "key": "b.txt", "content": "c2VudA=="}
    await house.call(house.ana, "upload_file", **sent)
    await lake.crawl("sent")
    found = await house.call(house.ana, "get_file_metadata", source_id="sent", key="b.txt")
    assert (found["mode"], found["uid"], found["gid"]) == (None, None, None)


@pytest.mark.requirement("lake.trim.hidden_is_absent")
@pytest.mark.parametrize(
    ("tool", "more"),
    [
        ("get_file_text", {}),
        ("get_file_window", {}),
        ("get_file_metadata", {}),
        ("list_files", None),
        ("search_content", None),
    ],
)
async def test_what_is_hidden_fails_exactly_as_what_is_not_there(
    lake: Lake, tool: str, more: dict[str, Any] | None
) -> None:
    lake.write({"secret.md": "nothing to see\n"})
    await lake.crawl()
    house = lake.house
    await house.call(house.ana, "set_source", source_id="docs", trim_mode="per_file")

    async def refused(source: str, key: str) -> PeciaError:
        asked = {"query": "see"} if tool == "search_content" else {}
        asked |= {"source_id": source} | ({} if more is None else {"key": key, **more})
        with pytest.raises(NotFound) as failed:
            await house.app.call(house.bo, tool, asked, CONTEXT)
        return failed.value

    hidden = await refused("docs", "secret.md")
    absent = await refused("cods", "serect.md")
    as_if = str(absent).replace("cods", "docs").replace("serect", "secret")
    assert str(hidden) == as_if
    assert hidden.fields.keys() == absent.fields.keys()


@pytest.mark.requirement("lake.audit.results")
async def test_the_audit_says_what_was_returned_and_how_much(lake: Lake) -> None:
    lake.write({"a.md": "A cog.\n", "b.md": "A cog too.\n"})
    await lake.crawl()
    await lake.search("cog", mode="lexical")
    house = lake.house
    await house.call(house.ana, "get_file_text", source_id="docs", key="a.md")
    await house.app.audit_log.drain()
    rows = (await house.call(house.ana, "list_audit", limit=3))["rows"]
    by_tool = {it["tool"]: it for it in rows}
    search = by_tool["lake.search_content"]
    assert (search["sources"], sorted(search["keys"])) == (["docs"], ["a.md", "b.md"])
    assert search["row_count"] == 2
    read = by_tool["lake.get_file_text"]
    assert (read["sources"], read["keys"], read["row_count"]) == (["docs"], ["a.md"], 1)


TREE = (
    *("a.md", "a!/x.md", "a/b.md", "a/c/d.md", "a/c/e.md", "a/z.md", "a0", "a00/f.md", "a.b/g.md"),
    *("b/deep/er/h.md", "z.md", "é/ü.md", "文/書.md", "\U0001f6b2.md"),
)


def directly_in(folder: str) -> tuple[list[str], list[str]]:
    """Its files and its folders, from the whole list."""
    prefix = f"{folder}/" if folder else ""
    inside = [it.removeprefix(prefix) for it in TREE if it.startswith(prefix)]
    folders = {f"{prefix}{it.partition('/')[0]}" for it in inside if "/" in it}
    return sorted(f"{prefix}{it}" for it in inside if "/" not in it), sorted(folders)


async def test_a_folder_is_listed_level_by_level(lake: Lake) -> None:
    lake.write(dict.fromkeys(TREE, "Otters"))
    await lake.crawl()
    for limit in (1, 2, 3, 200):
        waiting = [""]
        while waiting:
            folder = waiting.pop()
            files, folders = await list_folder(lake.house, folder, limit)
            assert (sorted(files), sorted(folders)) == directly_in(folder), (folder, limit)
            waiting += folders


async def list_folder(house: House, folder: str, limit: int) -> tuple[list[str], list[str]]:
    files: list[str] = []
    folders: list[str] = []
    asked: dict[str, Any] = {"source_id": "docs", "folder": folder, "limit": limit}
    while True:
        page = await house.call(house.ana, "list_files", **asked)
        files += [it["key"] for it in page["files"]]
        folders += page["folders"]
        assert 0 < len(page["files"]) + len(page["folders"]) <= limit
        if page["next_cursor"] is None:
            return files, folders
        asked["cursor"] = page["next_cursor"]


async def test_a_folder_of_hidden_files_is_as_absent_as_one_that_is_not_there(lake: Lake) -> None:
    house = lake.house
    lake.write({"open/a.md": "Otters", "hidden/b.md": "Herons"})
    await lake.crawl()
    await house.call(house.ana, "set_source", source_id="docs", trim_mode="per_file")
    await house.call(
        house.ana, "grant", source_id="docs", to="user:bo", role="reader", folder="open"
    )
    seen = await house.call(house.bo, "list_files", source_id="docs", folder="")
    assert (seen["folders"], seen["files"]) == (["open"], [])
    for folder in ("hidden", "nowhere"):
        with pytest.raises(NotFound) as refused:
            await house.call(house.bo, "list_files", source_id="docs", folder=folder)
        assert refused.value.message == f"no folder '{folder}' in 'docs'"
