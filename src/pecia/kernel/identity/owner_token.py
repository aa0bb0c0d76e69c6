"""The secrets of the owner of a local install: what they look like, and where the token lies.

One per home, in a file that only the owner can read: who can read it is the owner. Only the
standard library, because the shim of an editor reads it too.
"""

import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

PREFIX = "peciaown_"
FILE = "owner.token"
ENTROPY_BYTES = 32

_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def mint() -> str:
    return PREFIX + secrets.token_urlsafe(ENTROPY_BYTES)


def is_owner_token(bearer: str) -> bool:
    """Whether this credential claims to be the owner's, rather than a user's token."""
    return bearer.startswith(PREFIX)


def read(home: Path) -> str | None:
    """The token of a home; None where there is none, or others could have read or written it."""
    try:
        handle = os.open(home / FILE, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(handle, encoding="ascii", errors="replace") as file:
        facts = os.fstat(handle)
        is_private = stat.S_ISREG(facts.st_mode) and not facts.st_mode & _OTHERS
        found = file.read(1000).strip() if is_private else ""
    return found if is_owner_token(found) and found.isascii() and found.isprintable() else None


def ensure(home: Path) -> str:
    """The token of a home, made where there is none that can be relied on."""
    if (found := read(home)) is not None:
        return found
    path = home / FILE
    draft = home / f".{FILE}-{secrets.token_hex(8)}"
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(mint() + "\n")
        if path.is_symlink() or path.exists():
            # It was open to others: whatever it says is theirs as well.
            draft.replace(path)
        else:
            with suppress(FileExistsError):
                # Another process may be quicker: then its token is the one.
                path.hardlink_to(draft)
    finally:
        draft.unlink(missing_ok=True)
    found = read(home)
    if found is None:
        raise OSError(f"{path} cannot be kept private")
    return found
