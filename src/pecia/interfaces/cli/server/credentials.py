"""The proof that a command is the owner's: the token of the home whose server it speaks to."""

from pathlib import Path

from pecia.interfaces.cli.server.lock import home_lock_path, is_claimed, read_lock
from pecia.interfaces.cli.settings import read_token
from pecia.kernel.identity import owner_token


def token_for_home(home: Path) -> str | None:
    """What a command shows the server of a home: the user's own token, else that of the owner."""
    return read_token() or read_owner_token(home)


def read_owner_token(home: Path) -> str | None:
    """The owner's token, for what only the owner does.

    It goes to no other process: while one holds the home, the address in its lock is that one's,
    and nobody else can listen there.
    """
    return owner_token.read(home) if is_claimed(home) else None


def token_for_url(home: Path, url: str) -> str | None:
    """The same for an address that somebody gave: the owner's token where it is this home's."""
    lock = read_lock(home_lock_path(home))
    is_ours = lock is not None and lock.url.rstrip("/") == url.rstrip("/")
    return token_for_home(home) if is_ours else read_token()
