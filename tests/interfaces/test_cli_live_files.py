"""Lines that programs append to the file of a live document while its server is stopped: they are
in the file when the command returns, and not only in a replaced file that nobody looks for."""

import os
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from tests.features.wiki.live_editor import PATIENCE_S, at
from tests.interfaces.shell import Shell, opened_shell

pytestmark = pytest.mark.slow

PAGE = "# Log\n\nEND\n"


@pytest.fixture(scope="module")
def shell() -> Iterator[Shell]:
    with opened_shell() as made:
        yield made


@pytest.fixture
def log(shell: Shell, request: pytest.FixtureRequest) -> Path:
    """A document that was edited in the browser once, on a server that was started again."""
    folder = shell.folder(f"notes-{request.node.name[-12:].strip('_')}")
    file = folder / "log.md"
    file.write_text(PAGE)
    shell.ok("start", folder, "--detach", "--port", 0)
    anyio.run(_open_once, shell.lock.url, folder.name)
    shell.ok("stop")
    shell.ok("start", folder, "--detach", "--port", 0)
    return file


async def _open_once(url: str, space: str) -> None:
    async with at(url, "log", space) as hand:
        await hand.until_text(lambda text: text == PAGE)


def edit(shell: Shell, file: Path) -> None:
    """A tool's edit, which replaces the file."""
    where = ("--docName", "log", "--space", file.parent.name)
    shell.ok("call", "wiki.edit_document", *where, "--find", "# Log", "--replace", "# Log a1")


def append(opened: int, line: str) -> None:
    os.write(opened, f"{line}\n".encode())


def test_a_stop_puts_lines_into_the_file_that_went_into_a_replaced_one(
    shell: Shell, log: Path
) -> None:
    opened = os.open(log, os.O_WRONLY | os.O_APPEND)
    edit(shell, log)
    append(opened, "p1")
    os.close(opened)
    shell.ok("stop")
    assert log.read_text() == "# Log a1\n\nEND\np1\n"


def test_a_stop_names_the_file_that_a_program_still_writes(shell: Shell, log: Path) -> None:
    opened = os.open(log, os.O_WRONLY | os.O_APPEND)
    try:
        edit(shell, log)
        append(opened, "p1")
        shell.ok("stop")
        assert log.read_text() == "# Log a1\n\nEND\np1\n"
        said = (shell.home / "server.log").read_text()
        assert f"wiki.file_behind path=log.md space=wiki:{log.parent.name}" in said
        append(opened, "p2")
    finally:
        os.close(opened)
    shell.ok("start", log.parent, "--detach", "--port", 0)
    shell.ok("call", "wiki.read_document", "--path", "log.md", "--space", log.parent.name)
    assert log.read_text() == "# Log a1\n\nEND\np1\np2\n"


def test_lines_in_a_replaced_file_come_back_while_nobody_asks(shell: Shell, log: Path) -> None:
    opened = os.open(log, os.O_WRONLY | os.O_APPEND)
    edit(shell, log)
    append(opened, "p1")
    os.close(opened)
    anyio.run(_until_text, log, "# Log a1\n\nEND\np1\n")


async def _until_text(file: Path, text: str) -> None:
    with anyio.fail_after(PATIENCE_S):
        while True:
            if await anyio.Path(file).read_text() == text:
                return
            await anyio.sleep(0.05)
