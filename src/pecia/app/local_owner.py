"""How the owner of a local install proves to be the owner: by a secret, or by the user's process.

The secrets are the token of the home, and sessions of a browser that came by a one-time link.
Links end with this process. Sessions survive a restart: ADR 187.
"""

import hmac
import logging
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from time import time

import orjson

from pecia.kernel.errors import NotFound
from pecia.kernel.identity import owner_token
from pecia.kernel.identity.token_error import invalid_token
from pecia.kernel.store.atomic_file import write_atomic

SESSIONS_FILE = "owner.sessions"

LINK_TTL_S = 600.0
SESSION_TTL_S = 12 * 3600.0
MAX_ENTRIES = 1_000
"""Most links and sessions kept; the oldest are evicted."""

SIGN_IN_HELP = (
    "this server is its owner's alone: connect as the user who started it, or send the token in "
    f"the file {owner_token.FILE} of its home as a Bearer token in the header `Authorization`; a "
    "browser signs in with the link of `pecia open`"
)


log = logging.getLogger(__name__)


@dataclass(slots=True)
class LocalOwner:
    """The secrets that stand for the owner. Only keyed hashes are kept, in memory and on disk.

    The key is the token of the home: a new token ends every session.
    """

    token: str = field(repr=False)
    home: Path
    clock: Callable[[], float] = time
    _links: dict[str, float] = field(default_factory=dict[str, float])
    _sessions: dict[str, float] = field(default_factory=dict[str, float])
    _write_lock: Lock = field(default_factory=Lock, repr=False)

    def __post_init__(self) -> None:
        self._sessions = self._load_sessions()

    def check(self, bearer: str) -> None:
        """Nothing for a secret of the owner; AuthRequired for any other."""
        if hmac.compare_digest(bearer.encode(), self.token.encode()):
            return
        if self._sessions.get(self._digest(bearer), 0.0) <= self.clock():
            raise invalid_token("this is not the owner's token, or the sign-in has expired")

    def make_link(self) -> str:
        """A code that signs a browser in, once."""
        code = secrets.token_urlsafe(24)
        _put_bounded(self._links, self._digest(code), self.clock() + LINK_TTL_S)
        return code

    def sign_in(self, code: str) -> str:
        """The session for such a code, which is spent by that."""
        ends = self._links.pop(self._digest(code), 0.0)
        if ends <= self.clock():
            raise NotFound(
                "this sign-in link was used already, or is too old", hint="pecia open makes another"
            )
        session = owner_token.mint()
        with self._write_lock:
            _put_bounded(self._sessions, self._digest(session), self.clock() + SESSION_TTL_S)
            self._store_sessions()
        return session

    def sign_out(self, session: str | None) -> None:
        """End a session; without one, all of them. The token of the home stays valid."""
        with self._write_lock:
            if session is None:
                self._sessions.clear()
            elif self._sessions.pop(self._digest(session), None) is None:
                return
            self._store_sessions()

    def _digest(self, text: str) -> str:
        return hmac.digest(self.token.encode(), text.encode(), "sha256").hex()

    def _load_sessions(self) -> dict[str, float]:
        """Those that have not ended; none where the file is missing or cannot be read."""
        try:
            found: dict[str, float] = orjson.loads((self.home / SESSIONS_FILE).read_bytes())
            now = self.clock()
            # A clock that was set back must not make a session longer.
            return {key: ends for key, ends in found.items() if 0 < ends - now <= SESSION_TTL_S}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, AttributeError, TypeError):
            log.warning("%s cannot be read: browsers must sign in again", SESSIONS_FILE)
            return {}

    def _store_sessions(self) -> None:
        now = self.clock()
        self._sessions = {key: ends for key, ends in self._sessions.items() if ends > now}
        try:
            write_atomic(self.home / SESSIONS_FILE, orjson.dumps(self._sessions).decode())
        except OSError:
            log.exception("%s cannot be written: sign-ins end with this process", SESSIONS_FILE)


def _put_bounded(found: dict[str, float], key: str, ends: float) -> None:
    found[key] = ends
    while len(found) > MAX_ENTRIES:
        del found[next(iter(found))]
