"""The proof that a command is the owner's: the token of the home whose server it speaks to."""

from pathlib import Path

from pecia.doors.cli.configured import token
from pecia.doors.cli.lock import home_lock, is_claimed, read_lock
from pecia.kernel.identity import owner_token


def token_for(home: Path) -> str | None:
    """What a command shows the server of a home: the user's own token, else that of the owner."""
    return token() or owners_token(home)


def owners_token(home: Path) -> str | None:
    """The owner's token, for what only the owner does.

    It goes to no other process: while one holds the home, the address in its lock is that one's,
    and nobody else can listen there.
    """
    return owner_token.read(home) if is_claimed(home) else None


def token_at(home: Path, url: str) -> str | None:
    """The same for an address that somebody gave: the owner's token where it is this home's."""
    lock = read_lock(home_lock(home))
    is_ours = lock is not None and lock.url.rstrip("/") == url.rstrip("/")
    return token_for(home) if is_ours else token()
