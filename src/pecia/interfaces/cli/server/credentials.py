"""The token that a command sends: that of the home whose server it calls."""

from pathlib import Path

from pecia.interfaces.cli.server.lock import home_lock_path, is_claimed, read_lock
from pecia.interfaces.cli.settings import read_token
from pecia.kernel.identity import owner_token


def token_for_home(home: Path) -> str | None:
    """The token for the server of a home: the user's own, else the owner's."""
    return read_token() or read_owner_token(home)


def read_owner_token(home: Path) -> str | None:
    """The owner's token, for owner-only operations.

    It goes to no other process: while one holds the home, the address in the lock is its own, and
    no other process can listen there.
    """
    return owner_token.read(home) if is_claimed(home) else None


def token_for_url(home: Path, url: str) -> str | None:
    """The same for a given address: the owner's token where it is this home's server."""
    lock = read_lock(home_lock_path(home))
    is_ours = lock is not None and lock.url.rstrip("/") == url.rstrip("/")
    return token_for_home(home) if is_ours else read_token()
