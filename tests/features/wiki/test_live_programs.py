"""An editor that knows nothing of Pecia, at the file of a live document, while a tool edits it.

It is a process of its own. Nobody's words are lost, and none are there twice.
"""

import re
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream

from tests.features.wiki.conftest import Space
from tests.features.wiki.live_editor import PATIENCE_S, LiveEditor, at

pytestmark = pytest.mark.anyio

PAGE = "# Plan\n\none;two;three;\nEND\n"
WORD = re.compile(r"[a-z]+\d+")

EDITOR = """
import os, sys
path, word, way = sys.argv[1:]
with open(path, encoding="utf-8") as file:
    text = file.read()
print("read", flush=True)
sys.stdin.readline()
text = text.replace("three;", f"three;{word};")
if way == "in place":
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
else:
    with open(path + ".swp", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(path + ".swp", path)
print("written", flush=True)
"""


class Editor:
    """A process that has read a file and writes it, with one word more, when it is told to."""

    def __init__(self, process: Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._keys, self._shown = process.stdin, BufferedByteReceiveStream(process.stdout)

    async def until(self, shown: bytes) -> None:
        with anyio.fail_after(PATIENCE_S):
            assert await self._shown.receive_until(b"\n", 100) == shown

    async def save(self) -> None:
        await self._keys.send(b"\n")
        await self.until(b"written")


@asynccontextmanager
async def editor(file: Path, word: str, way: str) -> AsyncGenerator[Editor]:
    command = [sys.executable, "-c", EDITOR, str(file), word, way]
    async with await anyio.open_process(command, stderr=None) as process:
        made = Editor(process)
        await made.until(b"read")
        yield made


@pytest.fixture
def plan(space: Space) -> Space:
    space.write({"plan.md": PAGE})
    return space


async def settled(space: Space, hand: LiveEditor) -> str:
    """The text that the file and the editor have, once no replaced file is looked at any more."""
    copies = space.folder / ".pecia" / "cache" / "live"
    with anyio.fail_after(PATIENCE_S):
        while True:
            await space.value("read_document", path="plan.md")
            text = space.read("plan.md")
            if hand.text == text and not [*copies.glob("*")]:
                return text
            await anyio.sleep(0.05)


def url(space: Space) -> str:
    return str(space.served.http.base_url).rstrip("/")


@pytest.mark.parametrize("way", ["in place", "renamed"])
@pytest.mark.parametrize("edit", ["a1;", "so a1;", "a1 a2; a3,"])
async def test_an_editor_that_read_before_a_tools_edit_does_not_take_it_back(
    plan: Space, way: str, edit: str
) -> None:
    file = plan.folder / "plan.md"
    async with (
        at(url(plan), "plan", plan.name) as hand,
        editor(file, "so p1" if "so" in edit else "p1", way) as program,
    ):
        await plan.value("edit_document", docName="plan", find="three;", replace=f"three;{edit}")
        assert edit in plan.read("plan.md")
        await program.save()
        text = await settled(plan, hand)
    assert sorted(WORD.findall(text)) == sorted([*WORD.findall(edit), "p1"]), text
    assert WORD.sub("", text).count("one;two;three;") == 1, text
