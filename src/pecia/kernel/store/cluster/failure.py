"""What to tell people when PostgreSQL or the disk will not. Reads text, returns errors."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from subprocess import SubprocessError

import psycopg

from pecia.kernel.errors import PeciaError, StorageFull, Unavailable

SHOWN_LINES = 6
FULL_DISK = ("No space left on device", "Disk quota exceeded", "Check free disk space")

# What PostgreSQL says, and what helps. The first that matches wins.
ADVICE = {
    "Read-only file system": "the disk is mounted read-only: mount it for writing",
    "Permission denied": "the user that runs it may not read or write there: give it that right",
    "invalid permissions": "others can read the data directory: set its mode to 0700",
    "wrong ownership": "the data directory belongs to another user: run Pecia as that user",
    "could not look up effective user ID": "this user id has no name: add it to /etc/passwd",
    "is still in use": "another PostgreSQL runs on this data directory: stop it first",
    "could not resize shared memory": "the shared memory is full: give the container more of it",
    "could not map anonymous shared memory": "the memory is full: free some",
    "invalid checkpoint record": "the data directory is damaged: restore a backup",
    "could not locate a valid checkpoint record": "the data directory is damaged: restore a backup",
}


def explain_failure(what: str, said: str, where: Path) -> PeciaError:
    """An error that says what failed, what PostgreSQL said of it, and what to do."""
    shown = "\n".join(said.strip().splitlines()[-SHOWN_LINES:])
    if any(sign in said for sign in FULL_DISK):
        return StorageFull(
            f"{what}: the disk is full. What was saved is safe; free some space.\n{shown}",
            path=str(where),
        )
    for sign, advice in ADVICE.items():
        if sign in said:
            return Unavailable(f"{what}: {advice}.\n{shown}", path=str(where))
    return Unavailable(f"{what}.\n{shown or 'It said nothing.'}", path=str(where))


@contextmanager
def explain_failures(what: str, where: Path) -> Generator[None]:
    """Turn refusals of the OS or the database in the block into errors that people can act on."""
    try:
        yield
    except (OSError, SubprocessError, psycopg.Error) as error:
        raise explain_failure(what, str(error), where) from error
