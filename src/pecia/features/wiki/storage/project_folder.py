"""Our folder in a project, and its `.gitignore` for machine-local files. Blocking."""

from contextlib import suppress
from pathlib import Path

from pecia.features.wiki.storage import disk
from pecia.kernel.errors import Collision, InvalidInput, PayloadTooLarge

PROJECT_FOLDER = ".pecia"
JOURNAL_NAME = "write-journal.json"
IMPORTS_NAME = "imports.json"
CLAIM_NAME = "installation.lock"
IGNORE_HEADER = "# Written by Pecia: what belongs to this machine."
# Everything there except `config.yml`, which is shared with the project.
IGNORED_LINES = (
    *("history/", "catalogs/", "cache/", "server.lock", "ui.lock", "last-spawn-error.log"),
    *(f"{JOURNAL_NAME}*", IMPORTS_NAME, CLAIM_NAME, "state.json", f"*{disk.TEMPORARY_SUFFIX}"),
)
MAX_IGNORE_FILE_BYTES = 1_000_000


def ensure_project_folder(project: Path) -> None:
    """Create the folder if missing. A link in its place is refused by `disk`.

    Missing lines are added even if a person wrote the file: our history in somebody's repository is
    worse than an extra line. Existing content stays byte for byte.
    """
    place = f"{PROJECT_FOLDER}/.gitignore"
    if not disk.exists(project, place):
        with suppress(Collision):
            disk.replace(project, place, complete_ignore_file(b"") or b"", None)
        return
    # Never written through a link. A file being written just now is completed next time.
    with suppress(InvalidInput, PayloadTooLarge, Collision):
        was = disk.read(project, place, MAX_IGNORE_FILE_BYTES)
        body = complete_ignore_file(was)
        if body is not None:
            disk.replace(project, place, body, was)


def complete_ignore_file(body: bytes) -> bytes | None:
    """The ignore file with missing lines added; None if it has them all. Pure."""
    has = body.decode(errors="replace").splitlines()
    # A person may want some of it in their repository, with a `!` line.
    missing = [it for it in IGNORED_LINES if it not in has and f"!{it}" not in has]
    if not missing:
        return None
    lines = missing if IGNORE_HEADER in has else [IGNORE_HEADER, *missing]
    gap = b"" if not body or body.endswith(b"\n") else b"\n"
    return body + gap + "".join(f"{it}\n" for it in lines).encode()
