"""The first calls after a start: answered from the files while the space is still being read."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from pecia.app.dispatch import RequestContext
from pecia.features.wiki.store import SQL
from pecia.kernel.store.cluster import DatabaseLogins
from pecia.kernel.tool.null_channel import NullChannel
from tests.features.wiki.conftest import Served, Space, add_space, open_served

pytestmark = pytest.mark.anyio

FILES = {
    "guide.md": "# Guide\n\nSee [[setup]] and [[nowhere]].\n",
    "setup.md": "# Setup\n\nBack to [the guide](guide.md), with a yellow lamp.\n\n![](lamp.png)\n",
    "lamp.png": "picture",
}


@pytest.fixture(scope="module")
async def hurried(
    module_database: DatabaseLogins, tmp_path_factory: pytest.TempPathFactory
) -> AsyncGenerator[Served]:
    """A server whose tools do not wait for a space to be read."""
    home = tmp_path_factory.mktemp("hurried")
    async with open_served(module_database, home, start_wait_s="0") as it:
        yield it


@asynccontextmanager
async def locked(space: Space) -> AsyncGenerator[None]:
    """Another process writes to the space: nothing is indexed meanwhile."""
    place = {"tenant_id": space.served.ana.tenant_id, "source_id": f"wiki:{space.name}"}
    async with space.served.app.store.system() as tx:
        await tx.execute(SQL["lock_space"], **place)
        yield


async def fresh_space(served: Served, tmp_path: Path) -> Space:
    space = await add_space(served, tmp_path)
    space.write(FILES)
    return space


class Listener(NullChannel):
    """A client that hears how far a call is."""

    def __init__(self) -> None:
        self.heard: list[tuple[float, str | None]] = []
        self.has_heard = anyio.Event()

    async def progress(self, done: float, total: float | None, message: str | None) -> None:
        del total
        self.heard.append((done, message))
        self.has_heard.set()


async def test_a_write_that_waits_for_a_space_to_be_read_says_so(
    hurried: Served, tmp_path: Path
) -> None:
    space, client = await fresh_space(hurried, tmp_path), Listener()
    given = {"space": space.name, "docName": "new", "markdown": "# New\n"}
    visit = RequestContext("test", channel=client)
    async with anyio.create_task_group() as tasks, locked(space):
        tasks.start_soon(hurried.app.call, hurried.ana, "wiki.write_document", given, visit)
        with anyio.fail_after(60):
            await client.has_heard.wait()
    assert client.heard == [(0, "reading documents")]
    assert space.read("new.md") == "# New\n"


async def test_documents_are_read_and_listed_before_they_are_indexed(
    hurried: Served, tmp_path: Path
) -> None:
    space = await fresh_space(hurried, tmp_path)
    async with locked(space):
        read = await space.value("read_document", path="guide.md")
        assert read["content"] == FILES["guide.md"]
        listed = await space.value("list_documents")
        assert {"guide", "setup"} <= {it["docName"] for it in listed["documents"]}
        found = await space.value("search", query="yellow lamp")
        assert [it["docName"] for it in found["results"]] == ["setup"]
        shown = await space.value("exec", command="cat setup.md")
        assert "yellow lamp" in shown["stdout"]
    # A write waits for the index, and finds it. It says nothing of links that are not read yet.
    done = await space.value("edit_document", docName="setup", find="yellow", replace="green")
    assert "green lamp" in space.read("setup.md")
    assert "deadLinks" not in done


async def test_links_that_are_not_read_yet_are_said_to_be_missing(
    hurried: Served, tmp_path: Path
) -> None:
    space = await fresh_space(hurried, tmp_path)
    read = await space.ask("read_document", path="guide.md")
    assert "being read" in read.value["incomplete"]
    assert read.value["incomplete"] in read.text
    # Its own links need no other document than itself, unless they are by title.
    links = {it["docName"]: {"dead", "unread"} & {*it} for it in read.value["forwardLinks"]}
    assert links == {"setup": set(), "nowhere": {"unread"}}
    # The link tools wait for all of them.
    back = await space.value("get_backlinks", docName="guide")
    assert [it["source"] for it in back["backlinks"]] == ["setup"]
    again = await space.value("read_document", path="guide.md")
    assert "incomplete" not in again
    assert [it["source"] for it in again["backlinks"]] == ["setup"]


async def test_a_link_by_title_is_not_dead_while_titles_are_not_read_yet(
    hurried: Served, tmp_path: Path
) -> None:
    space = await add_space(hurried, tmp_path)
    space.write(
        {"a.md": "[[Yellow Lamp]] [[nowhere]]\n", "lamp.md": "---\ntitle: Yellow Lamp\n---\nx\n"}
    )
    read = await space.value("read_document", path="a.md")
    assert all("dead" not in it and it["unread"] for it in read["forwardLinks"])
    assert "by title" in read["incomplete"]
    shown = await space.value("exec", command="cat a.md")
    # The links may be read by now; it says so where they are not.
    assert ("'dead'" in str(shown["enrichedPaths"])) is ("warnings" not in shown)
    await space.value("get_hubs")
    again = await space.value("read_document", path="a.md")
    links = {it["docName"]: it.get("dead", False) for it in again["forwardLinks"]}
    assert links == {"lamp": False, "nowhere": True}
    assert all("unread" not in it for it in again["forwardLinks"])


async def test_a_write_calls_no_link_dead_before_titles_are_read(
    hurried: Served, tmp_path: Path
) -> None:
    space = await add_space(hurried, tmp_path)
    space.write({"a.md": "x\n", "lamp.md": "---\ntitle: Yellow Lamp\n---\nx\n"})
    link = {"docName": "a", "find": "x", "replace": "[[Yellow Lamp]]"}
    done = await space.ask("edit_document", **link)
    assert "deadLinks" not in done.value
    assert done.value["incomplete"] in done.text
    await space.value("get_hubs")
    done = await space.ask("edit_document", docName="a", find="[[", replace="[[nowhere]] [[")
    assert done.value["deadLinks"] == ["nowhere"]
    assert "incomplete" not in done.value


async def test_what_is_embedded_is_listed_once_the_links_are_read(
    hurried: Served, tmp_path: Path
) -> None:
    space = await fresh_space(hurried, tmp_path)
    listed = await space.value("list_documents")
    assert "being read" in listed["incomplete"]
    await space.value("get_hubs")
    again = await space.value("list_documents")
    assert "incomplete" not in again
    assert "lamp.png" in {it["docName"] for it in again["documents"]}


async def test_best_passages_say_that_the_index_is_not_complete(
    hurried: Served, tmp_path: Path
) -> None:
    space = await fresh_space(hurried, tmp_path)
    async with locked(space):
        found = await space.value("search", query="yellow lamp", mode="ranked")
        assert "being indexed" in found["incomplete"]


async def test_who_sees_a_part_of_a_space_is_told_that_it_is_not_indexed(
    hurried: Served, tmp_path: Path
) -> None:
    space = await fresh_space(hurried, tmp_path)
    space.write({"open/page.md": "# Page\n"})
    await space.admin("set_source", trim_mode="per_file")
    await space.admin("grant", folder="open/", to="user:bo", role="reader")
    async with locked(space):
        listed = await space.ask_as_bo("list_documents")
        assert listed.value["documents"] == []
        assert "being indexed" in listed.value["incomplete"]
    await space.value("edit_document", docName="setup", find="yellow", replace="green")
    listed = await space.ask_as_bo("list_documents")
    assert [it["docName"] for it in listed.value["documents"]] == ["open/page"]
    assert "incomplete" not in listed.value


async def test_a_changed_file_counts_while_the_space_is_read(
    hurried: Served, tmp_path: Path
) -> None:
    space = await fresh_space(hurried, tmp_path)
    async with locked(space):
        await space.value("read_document", path="guide.md")
        space.write({"guide.md": "# Other\n", "new.md": "# New\n"})
        read = await space.value("read_document", path="guide.md")
        assert read["content"] == "# Other\n"
        assert (await space.value("read_document", path="new.md"))["content"] == "# New\n"
    back = await space.value("get_backlinks", docName="setup")
    assert back["backlinks"] == []
