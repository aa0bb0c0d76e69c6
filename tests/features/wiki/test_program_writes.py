"""Programs that write a file between the steps of a tool that writes it: both writes are there.

Nobody has the document open in an editor of ours.
"""

import os
import re
from collections.abc import Callable
from errno import ENOSYS
from pathlib import Path
from typing import Any

import pytest

from pecia.features.wiki.space_write import SpaceWrite
from pecia.features.wiki.storage import disk, posix
from tests.features.wiki.conftest import Space

pytestmark = pytest.mark.anyio

PAGE = "# Plan\n\none;two;three;\nEND\n"
WORD = re.compile(r"[a-z]+\d+")


@pytest.fixture
def plan(space: Space) -> Space:
    space.write({"plan.md": PAGE})
    return space


def append(file: Path, word: str) -> None:
    with file.open("a", encoding="utf-8") as opened:
        opened.write(f"{word};\n")


def rename_over(file: Path, word: str) -> None:
    other = file.with_name(".other")
    other.write_text(file.read_text("utf-8") + f"{word};\n", "utf-8")
    other.replace(file)


@pytest.mark.parametrize("program", [append, rename_over])
@pytest.mark.parametrize("step", ["read", "exchange"])
async def test_what_a_program_writes_between_a_tools_read_and_its_write_stays(
    plan: Space,
    monkeypatch: pytest.MonkeyPatch,
    step: str,
    program: Callable[[Path, str], None],
) -> None:
    left = [lambda: program(plan.folder / "plan.md", "p1")]

    async def read(turn: SpaceWrite, path: str, /) -> bytes | None:
        found = await real_read(turn, path)
        if left:
            left.pop()()
        return found

    def exchange(*names: Any) -> None:
        if left:
            left.pop()()
        real_exchange(*names)

    real_read, real_exchange = SpaceWrite.read, posix.exchange
    if step == "read":
        monkeypatch.setattr(SpaceWrite, "read", read)
    else:
        monkeypatch.setattr(posix, "exchange", exchange)
    await plan.value("edit_document", docName="plan", find="three;", replace="three;a1;")
    assert not left
    assert sorted(WORD.findall(plan.read("plan.md"))) == ["a1", "p1"]
    known = await plan.value("read_document", path="plan.md")
    assert known["content"] == plan.read("plan.md")


@pytest.mark.parametrize("program", [append, rename_over])
async def test_the_same_holds_on_a_file_system_that_cannot_exchange(
    plan: Space, monkeypatch: pytest.MonkeyPatch, program: Callable[[Path, str], None]
) -> None:
    left = [lambda: program(plan.folder / "plan.md", "p1")]

    def refuse(*_: Any) -> None:
        if left:
            left.pop()()
        raise OSError(ENOSYS, os.strerror(ENOSYS))

    monkeypatch.setattr(posix, "exchange", refuse)
    monkeypatch.setattr(posix, "rename_new", refuse)
    await plan.value("edit_document", docName="plan", find="three;", replace="three;a1;")
    assert not left
    assert sorted(WORD.findall(plan.read("plan.md"))) == ["a1", "p1"]
    await plan.value("write_document", docName="new", markdown="a2;\n", position="replace")
    await plan.value("delete_document", docName="plan")
    assert sorted(it.name for it in plan.folder.iterdir()) == [".pecia", "new.md"]


async def test_a_document_that_a_program_keeps_open_for_writing_is_refused(plan: Space) -> None:
    with (plan.folder / "plan.md").open("a", encoding="utf-8") as held:
        refused = await plan.ask("edit_document", docName="plan", find="one;", replace="one;a1;")
        held.write("p1;\n")
    assert refused.error["code"] == "CONFLICT"
    assert "plan.md" in refused.text
    assert plan.read("plan.md") == PAGE + "p1;\n"
    assert not [*plan.folder.glob(f".*{disk.TEMPORARY_SUFFIX}")]
    # Once it is closed, nothing is in the way.
    await plan.value("edit_document", docName="plan", find="one;", replace="one;a1;")
    assert sorted(WORD.findall(plan.read("plan.md"))) == ["a1", "p1"]


BUSY_WRITES: dict[str, dict[str, Any]] = {
    "edit_document": {"find": "three;", "replace": "three;a1;"},
    "write_document": {"markdown": "a1;\n", "position": "append"},
    "patch_frontmatter": {"patch": {"title": "a1"}},
    "rename_document": {},
}


@pytest.mark.parametrize("tool", BUSY_WRITES)
async def test_a_file_that_a_program_appends_to_all_the_time_is_written_all_the_same(
    plan: Space, monkeypatch: pytest.MonkeyPatch, tool: str
) -> None:
    """Faster than it can be replaced: it is appended to before every attempt."""
    plan.write({"a1.md": "# Other\n", "plan.md": PAGE + "[[a1]]\n"})
    words: list[str] = []

    def replace_many(*given: Any) -> Any:
        words.append(f"p{len(words)}")
        append(plan.folder / "plan.md", words[-1])
        return real(*given)

    real = disk.replace_many
    monkeypatch.setattr(disk, "replace_many", replace_many)
    given = {"docName": "plan"} | BUSY_WRITES[tool]
    if tool == "rename_document":
        given = {"docName": "a1", "newDocName": "b1"}
    await plan.value(tool, **given)
    assert len(words) >= 2
    ours = "b1" if tool == "rename_document" else "a1"
    expected = sorted([ours, *words, *(["a1"] if tool != "rename_document" else [])])
    assert sorted(WORD.findall(plan.read("plan.md"))) == expected
    known = await plan.value("read_document", path="plan.md")
    assert known["content"] == plan.read("plan.md")


async def test_what_a_program_writes_while_a_document_is_deleted_is_in_its_history(
    plan: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    await plan.value("edit_document", docName="plan", find="one;", replace="one;a1;")
    left = [lambda: append(plan.folder / "plan.md", "p1")]

    def remove_known(*given: Any) -> None:
        if left:
            left.pop()()
        real(*given)

    real = disk.remove_known
    monkeypatch.setattr(disk, "remove_known", remove_known)
    await plan.value("delete_document", docName="plan")
    assert not left
    assert not (plan.folder / "plan.md").exists()
    versions = (await plan.value("get_history", docName="plan"))["entries"]
    await plan.value("rollback_to_version", docName="plan", commitSha=versions[1]["sha"])
    assert sorted(WORD.findall(plan.read("plan.md"))) == ["a1", "p1"]


async def test_a_file_that_comes_to_be_while_a_tool_makes_it_is_not_overwritten(
    space: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = [lambda: append(space.folder / "new.md", "p1")]

    def rename_new(*names: Any) -> None:
        if left:
            left.pop()()
        real(*names)

    real = posix.rename_new
    monkeypatch.setattr(posix, "rename_new", rename_new)
    await space.value("write_document", docName="new", markdown="a1;\n", position="append")
    assert not left
    assert sorted(WORD.findall(space.read("new.md"))) == ["a1", "p1"]


async def test_a_line_that_a_person_adds_to_the_settings_while_a_tool_changes_them_stays(
    space: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    space.write({".pecia/config.yml": "# ours\n"})
    config = space.folder / ".pecia" / "config.yml"
    left = [lambda: append(config, "# theirs")]

    def exchange(*names: Any) -> None:
        if left and names[3] == "config.yml":
            left.pop()()
        real(*names)

    real = posix.exchange
    monkeypatch.setattr(posix, "exchange", exchange)
    patch = {"folders": [{"match": "a/**", "frontmatter": {"title": "A"}}]}
    await space.value("set_config", patch=patch)
    assert not left
    text = config.read_text("utf-8")
    assert "# ours" in text
    assert "# theirs" in text
    assert "a/**" in text
