"""Renames while other programs write: only what they touch counts, and no word is lost."""

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from pecia.features.wiki import rename_plan
from pecia.features.wiki.space_write import SpaceWrite
from pecia.features.wiki.store import SQL
from tests.features.wiki.conftest import Space
from tests.features.wiki.live_editor import at

pytestmark = pytest.mark.anyio

WAITING = """
SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database
 WHERE l.locktype = 'advisory' AND NOT l.granted AND d.datname = current_database()
"""
FILES = {
    "d/one.md": "# One\n\n[b](../b.md)\n",
    "d/two.md": "# Two\n\n[[d/one]]\n",
    "b.md": "# B\n\n[one](d/one.md)\n",
    "alone.md": "# Alone\n",
}


def append(file: Path, text: str) -> None:
    with file.open("a", encoding="utf-8") as opened:
        opened.write(text)


@contextmanager
def keep_writing(file: Path) -> Generator[list[str]]:
    """A program that appends to a file all the time."""
    words: list[str] = []
    end = threading.Event()

    def write() -> None:
        while not end.is_set():
            words.append(f"w{len(words)};")
            append(file, words[-1])

    program = threading.Thread(target=write)
    program.start()
    try:
        yield words
    finally:
        end.set()
        program.join()


async def test_a_folder_is_renamed_while_a_program_writes_another_document_all_the_time(
    space: Space,
) -> None:
    space.write(FILES)
    with keep_writing(space.folder / "alone.md") as words:
        done = await space.value("rename_folder", fromFolder="d", toFolder="e")
    assert len(done["renamed"]) == 2
    assert space.read("b.md") == "# B\n\n[one](e/one.md)\n"
    assert space.read("alone.md") == "# Alone\n" + "".join(words)


@pytest.mark.parametrize("path", ["b.md", "d/one.md"])
async def test_what_is_written_while_a_rename_is_planned_is_planned_again(
    space: Space, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    space.write(FILES)
    texts = [f"w{it} [[d/two]]\n" for it in range(4)]
    left = [*texts]

    def plan_rewrites(*given: Any) -> Any:
        found = real(*given)
        if left:
            append(space.folder / path, left.pop(0))
        return found

    real = rename_plan.plan_rewrites
    monkeypatch.setattr(rename_plan, "plan_rewrites", plan_rewrites)
    done = await space.value("rename_folder", fromFolder="d", toFolder="e")
    assert not left
    now = space.read(path.replace("d/", "e/"))
    assert now == FILES[path].replace("d/one", "e/one") + "".join(texts).replace("d/", "e/")
    assert {it["docName"]: it["rewrites"] for it in done["rewrittenDocs"]}["e/two"] == 1
    known = await space.value("read_document", path=path.replace("d/", "e/"))
    assert known["content"] == now


async def test_what_is_written_to_an_open_document_as_its_links_are_rewritten_stays(
    space: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    space.write(FILES)
    left = ["w1\n"]

    async def require_unchanged(writer: SpaceWrite, files: Any, /) -> None:
        await real(writer, files)
        if left:
            append(space.folder / "b.md", left.pop())

    real = SpaceWrite.require_unchanged
    monkeypatch.setattr(SpaceWrite, "require_unchanged", require_unchanged)
    async with at(str(space.served.http.base_url), "b", space.name) as hand:
        await space.value("rename_folder", fromFolder="d", toFolder="e")
        assert not left
        await hand.until_text(lambda text: text == "# B\n\n[one](e/one.md)\nw1\n")
    read = await space.value("read_document", path="b.md")
    assert read["content"] == space.read("b.md") == "# B\n\n[one](e/one.md)\nw1\n"


def create_document(folder: Path) -> None:
    append(folder / "new.md", "[[d/one]]\n")


def create_inside(folder: Path) -> None:
    append(folder / "d/new.md", "[[d/one]]\n")


def create_namesake(folder: Path) -> None:
    """`[[two]]` means this from now on, which is nearer."""
    append(folder / "two.md", "[[d/one]]\n")


def delete_document(folder: Path) -> None:
    (folder / "d/two.md").unlink()


@pytest.mark.parametrize(
    "program", [create_document, create_inside, create_namesake, delete_document]
)
@pytest.mark.parametrize("tool", ["rename_document", "rename_folder"])
async def test_documents_that_come_and_go_while_a_rename_waits_are_counted(
    space: Space, program: Callable[[Path], None], tool: str
) -> None:
    space.write(FILES)
    place = {"tenant_id": space.served.ana.tenant_id, "source_id": f"wiki:{space.name}"}
    folder = {"fromFolder": "d", "toFolder": "e"}
    given = folder if tool == "rename_folder" else {"docName": "d/one", "newDocName": "e/one"}
    async with anyio.create_task_group() as tasks, space.served.app.store.system() as tx:
        await tx.execute(SQL["lock_space"], **place)
        tasks.start_soon(lambda: space.value(tool, **given))
        with anyio.fail_after(30):
            while not await tx.fetch_value(WAITING):
                pass
        program(space.folder)
    assert not (space.folder / "d/one.md").exists()
    for file in space.folder.glob("*/*.md"):
        assert "d/one" not in file.read_text("utf-8"), file
    dead = await space.value("get_dead_links")
    assert dead["deadLinks"] == []
