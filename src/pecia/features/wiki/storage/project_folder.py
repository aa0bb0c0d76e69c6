"""Our folder in a project, and lines that keep git from what in it is this machine's. Blocking."""

from contextlib import suppress
from pathlib import Path

from pecia.features.wiki.storage import disk
from pecia.kernel.errors import Collision, InvalidInput, PayloadTooLarge

PROJECT_FOLDER = ".pecia"
IGNORE_HEADER = "# Written by Pecia: what belongs to this machine."
# All that we make there but `config.yml`, which is for everybody who has the project.
IGNORED_LINES = (
    *("history/", "catalogs/", "cache/", "server.lock", "ui.lock", "last-spawn-error.log"),
    *("managed-rename.json", "state.json", f"*{disk.TEMPORARY_SUFFIX}"),
)
MAX_IGNORE_FILE_BYTES = 1_000_000


def ensure_project_folder(project: Path) -> None:
    """The folder, where it is not there yet. One that is a link is refused by the disk.

    Lines that are missing are added whoever wrote the file: our history in somebody's repository
    is worse than a line too many. What a person wrote stays to the byte.
    """
    place = f"{PROJECT_FOLDER}/.gitignore"
    if not disk.exists(project, place):
        with suppress(Collision):
            disk.replace(project, place, complete_ignore_file(b"") or b"", None)
        return
    # A link is nothing to write through. One that somebody writes just now is completed next time.
    with suppress(InvalidInput, PayloadTooLarge, Collision):
        was = disk.read(project, place, MAX_IGNORE_FILE_BYTES)
        body = complete_ignore_file(was)
        if body is not None:
            disk.replace(project, place, body, was)


def complete_ignore_file(body: bytes) -> bytes | None:
    """The ignore file with the lines that it lacks; None where it lacks none. Pure."""
    has = body.decode(errors="replace").splitlines()
    # A person may want some of it in their repository, and says so with a `!`.
    missing = [it for it in IGNORED_LINES if it not in has and f"!{it}" not in has]
    if not missing:
        return None
    lines = missing if IGNORE_HEADER in has else [IGNORE_HEADER, *missing]
    gap = b"" if not body or body.endswith(b"\n") else b"\n"
    return body + gap + "".join(f"{it}\n" for it in lines).encode()
