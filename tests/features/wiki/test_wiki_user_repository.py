"""What we keep below a folder stays out of the repository that the folder is in. Asked of git."""

import subprocess
from pathlib import Path

import pytest

from pecia.interfaces.cli.server.lock import ServerLock, write_folder_lock
from tests.features.wiki.conftest import Space

pytestmark = pytest.mark.anyio

SHARED = {".pecia/.gitignore", ".pecia/config.yml", "a.md", "b.md"}
LOCK = ServerLock("http://127.0.0.1:1", 1, 1, "0", "/h", "one", "2026-01-01T00:00:00Z", "here")
# What earlier versions wrote there: the command line first, or the wiki first.
BY_COMMANDS = (
    "# Written by Pecia: what belongs to this machine.\n"
    "server.lock\nui.lock\nlast-spawn-error.log\ncache/\n"
)
BY_THE_WIKI = "history/\ncatalogs/\ncache/\nserver.lock\nui.lock\nwrite-journal.json*\nstate.json\n"


def untracked(folder: Path) -> set[str]:
    """What `git add .` would put into the user's repository."""
    subprocess.run(["git", "init", "-q", folder], check=True)
    listed = subprocess.run(
        ["git", "-C", folder, "status", "--porcelain", "-uall", "-z"],
        check=True,
        capture_output=True,
        text=True,
    )
    return {it[3:] for it in listed.stdout.split("\0") if it}


@pytest.mark.parametrize("before", [None, BY_COMMANDS, BY_THE_WIKI, "mine\n", "mine"])
@pytest.mark.parametrize("starts", [True, False])
async def test_git_is_offered_documents_and_the_shared_file_alone(
    space: Space, before: str | None, starts: bool
) -> None:
    space.write({"a.md": "[[b]]\n", "b.md": "text\n", ".pecia/config.yml": "folders: []\n"})
    if before is not None:
        space.write({".pecia/.gitignore": before})
    if starts:
        write_folder_lock(space.folder, LOCK)
    await space.value("write_document", docName="a", markdown="more\n", position="append")
    await space.value("rename_document", docName="b", newDocName="c")
    await space.value("rename_document", docName="c", newDocName="b")
    space.write({".pecia/ui.lock": "{}", ".pecia/state.json": "{}", ".pecia/cache/x": "x"})
    space.write({".pecia/write-journal.json": "{}", ".pecia/last-spawn-error.log": "x"})
    assert untracked(space.folder) == SHARED
    assert space.read(".pecia/.gitignore").startswith(before or "#")


async def test_what_a_person_wants_tracked_stays_tracked(space: Space) -> None:
    space.write({"a.md": "x\n", ".pecia/.gitignore": "!catalogs/\n", ".pecia/catalogs/I.md": "x\n"})
    await space.value("write_document", docName="a", markdown="more\n", position="append")
    assert ".pecia/catalogs/I.md" in untracked(space.folder)
    assert not any("history" in it for it in untracked(space.folder))
