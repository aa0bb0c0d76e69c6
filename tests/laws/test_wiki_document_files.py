"""Programs write a document's file in any way, between any two steps of a tool that writes it too.

Nobody has the document open in an editor. A tool either does what it says or is refused, and then
nothing of it is there. Each word of a program, and of a tool that was not refused, is there once.
"""

import os
import re
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pecia.app.app import App
from pecia.features.wiki import space_write
from pecia.features.wiki.live.copies import COPY_FOLDER
from pecia.features.wiki.storage import disk, posix
from pecia.kernel.errors import Conflict
from pecia.kernel.identity.caller import Caller
from pecia.kernel.store.cluster import DatabaseLogins
from tests.conftest import CONTEXT
from tests.laws.space_server import SpaceServer, open_space_server
from tests.soak import SOAK

MANY = 1000 if SOAK else 25
BEGIN = "# Words\n\none;two;three;\n[[here]]\nEND\n"
WORD = re.compile(r"[a-z]+\d+")

POINTS = ("read_snapshot", "_require_known", "replace", "move", "exchange", "rename_new")
WAYS = ("append", "append_slowly", "patch_slowly", "rewrite", "replace", "back_up")
PROGRAM = st.tuples(st.just("program"), st.sampled_from(WAYS), st.integers(0, 30))
"""One step of a program: it begins, or goes on with what it began."""
BETWEEN = st.none() | st.tuples(st.sampled_from(POINTS), st.booleans(), st.integers(0, 2), PROGRAM)
TOOL = st.tuples(st.just("tool"), st.sampled_from(("edit", "append", "rename")), BETWEEN)


@dataclass
class Page:
    """One document in a space of its own, and everybody who writes it."""

    app: App
    owner: Caller
    folder: Path
    words: set[str] = field(default_factory=set[str])
    refused: set[str] = field(default_factory=set[str])
    target: str = "here"
    program: Iterator[None] | None = None
    """What a program has still to do: one at a time writes, as they know nothing of each other."""

    @property
    def file(self) -> Path:
        return self.folder / "words.md"

    def new(self, who: str) -> str:
        return f"{who}{len(self.words) + len(self.refused)}"

    async def take(self, what: str, *given: Any) -> None:
        if what == "program":
            self.go_on(*given)
            return
        with interrupted(self, given[1]):
            await self.ask(given[0])

    def go_on(self, way: str, at: int) -> None:
        if self.program is None:
            self.words.add(word := self.new("p"))
            self.program = _write(self.file, way, word, at)
        if next(self.program, self) is self:
            self.program = None

    async def ask(self, tool: str) -> None:
        word = self.new("a")
        self.words.add(word)
        other = "there" if self.target == "here" else "here"
        name, asked = {
            "edit": ("edit_document", {"docName": "words", "find": "two;"}),
            "append": ("write_document", {"docName": "words", "position": "append"}),
            "rename": ("rename_document", {"docName": self.target, "newDocName": other}),
        }[tool]
        if tool == "edit":
            asked["replace"] = f"two;{word};"
        elif tool == "append":
            asked["markdown"] = f"{word};\n"
        else:
            self.words.remove(word)
        try:
            await self.app.call(
                self.owner, f"wiki.{name}", {"space": self.folder.name, **asked}, CONTEXT
            )
        except Conflict:
            self.words.discard(word)
            self.refused.add(word)
        else:
            self.target = other if tool == "rename" else self.target


@contextmanager
def interrupted(page: Page, between: Any) -> Generator[None]:
    """Let a program come in before or after a step, when it is passed for the first or n-th time.

    Only one: two programs that write between a swap and its being taken back are not promised.
    """
    point, is_after, left, step = between or ("read_snapshot", False, -1, ())

    def pass_by(*, after: bool) -> None:
        nonlocal left
        if after is is_after:
            if left == 0:
                page.go_on(*step[1:])
            left -= 1

    kind = posix if point in ("exchange", "rename_new") else disk
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kind, point, _passing(getattr(kind, point), pass_by))
        # A program that is in the middle of writing is so until we are done.
        patch.setattr(space_write, "POLL_INTERVAL_S", 0)
        yield


def _passing(step: Callable[..., Any], pass_by: Callable[..., None]) -> Callable[..., Any]:
    def passing(*args: Any) -> Any:
        pass_by(after=False)
        done = step(*args)
        pass_by(after=True)
        return done

    return passing


def _write(file: Path, way: str, word: str, at: int) -> Iterator[None]:
    """A program that puts a word into the file; others come in wherever it yields."""
    if way == "append_slowly":
        opened = os.open(file, os.O_WRONLY | os.O_APPEND)
        yield
        os.write(opened, f"{word};\n".encode())
        yield
        os.close(opened)
    elif way == "patch_slowly":
        with file.open("r+b", buffering=0) as patched:
            body = _with(patched.read().decode(), word, at)
            yield
            patched.seek(0)
            patched.write(body)
            yield
    elif way == "append":
        with file.open("a") as appended:
            appended.write(f"{word};\n")
    else:
        _write_whole(file, way, _with(file.read_text(encoding="utf-8"), word, at))


def _write_whole(file: Path, way: str, body: bytes) -> None:
    if way == "replace":
        other = file.with_name(".words.swp")
        other.write_bytes(body)
        other.replace(file)
        return
    if way == "back_up":
        file.rename(file.with_name("words.md~"))
    file.write_bytes(body)


def _with(text: str, word: str, at: int) -> bytes:
    ends = [place + 1 for place, it in enumerate(text) if it in ";\n"] or [0]
    place = ends[at % len(ends)]
    return f"{text[:place]}{word};{text[place:]}".encode()


async def live_through(server: SpaceServer, steps: list[Any]) -> None:
    owner, folder = await server.add_space({"words.md": BEGIN, "here.md": "# Here\n"})
    page = Page(server.app, owner, folder)
    for step in steps:
        await page.take(*step)
    while page.program is not None:
        page.go_on("append", 0)
    replaced = [*page.folder.glob(f"{COPY_FOLDER}/*")]
    if not replaced:
        assert sorted(WORD.findall(page.file.read_text(encoding="utf-8"))) == sorted(page.words)
    # What a program wrote into a replaced file is put into the file when a tool looks.
    shown = await page.app.call(
        page.owner,
        "wiki.read_document",
        {"path": "words.md", "space": page.folder.name},
        CONTEXT,
    )
    text = page.file.read_text(encoding="utf-8")
    assert sorted(WORD.findall(text)) == sorted(page.words), text
    assert f"[[{page.target}]]" in text
    assert (page.folder / f"{page.target}.md").exists()
    left = page.folder.rglob(f"*{disk.TEMPORARY_SUFFIX}")
    # A document that was made live keeps its replaced file for a while: it may yet be written.
    assert not [it for it in left if it.parent != page.folder / COPY_FOLDER]
    assert isinstance(shown.structured, dict)
    assert shown.structured["content"] == text


@pytest.fixture(scope="module")
def server(
    module_database: DatabaseLogins, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SpaceServer]:
    home, spaces = (tmp_path_factory.mktemp(it) for it in ("home", "spaces"))
    with open_space_server(module_database, home, spaces) as found:
        yield found


@pytest.mark.timeout(0 if SOAK else 300)
@settings(
    max_examples=MANY, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@example(
    # The second attempt loses, so that the document is made live.
    [
        ("program", "append_slowly", 0),
        ("tool", "edit", ("_require_known", False, 1, ("program", "append", 0))),
    ]
)
@example(
    [
        ("tool", "append", None),
        ("program", "append_slowly", 28),
        ("tool", "append", ("replace", False, 2, ("program", "append_slowly", 28))),
        ("program", "append_slowly", 3),
        ("tool", "append", ("replace", False, 2, ("program", "append", 0))),
        ("program", "patch_slowly", 9),
        ("program", "append_slowly", 0),
        ("tool", "rename", None),
    ]
)
@example(
    [
        ("program", "append", 0),
        ("program", "append", 28),
        ("tool", "append", ("replace", False, 2, ("program", "append_slowly", 28))),
        ("program", "append_slowly", 3),
        ("tool", "append", ("replace", False, 2, ("program", "append", 0))),
        ("program", "patch_slowly", 9),
        ("program", "append_slowly", 0),
        ("tool", "append", None),
    ]
)
@given(steps=st.lists(PROGRAM | TOOL, min_size=1, max_size=8))
def test_each_word_of_a_program_and_of_a_tool_that_was_not_refused_is_there_once(
    server: SpaceServer, steps: list[Any]
) -> None:
    server.portal.call(live_through, server, steps)
