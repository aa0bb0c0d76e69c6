"""Our folder in a project, and a line for git on what in it is not worth keeping. Blocking."""

from pathlib import Path

from pecia.rooms.wiki import disk

FOLDER = ".pecia"
UNTRACKED = "history/\ncatalogs/\ncache/\nserver.lock\nui.lock\nmanaged-rename.json\nstate.json\n"


def prepare(project: Path) -> None:
    """The folder, where it is not there yet. One that is a link is refused by the disk."""
    place = f"{FOLDER}/.gitignore"
    if not disk.exists(project, place):
        disk.write(project, place, UNTRACKED.encode())
