"""How the owner of a local install proves to be the owner: by a secret, or by the user's process.

The secrets are the token of the home, and sessions of a browser that came by a one-time link.
Sessions and links are of this process and end with it.
"""

import hmac
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from time import monotonic

from pecia.kernel.errors import NotFound
from pecia.kernel.identity import owner_token
from pecia.kernel.identity.token_error import invalid_token

LINK_TTL_S = 600.0
SESSION_TTL_S = 12 * 3600.0
MAX_ENTRIES = 1_000
"""Most links and sessions kept; the oldest are evicted."""

SIGN_IN_HELP = (
    "this server is its owner's alone: connect as the user who started it, or send the token in "
    f"the file {owner_token.FILE} of its home as a Bearer token in the header `Authorization`; a "
    "browser signs in with the link of `pecia open`"
)


@dataclass(slots=True)
class LocalOwner:
    """The secrets that stand for the owner. Only their hashes are kept here."""

    token: str = field(repr=False)
    clock: Callable[[], float] = monotonic
    _links: dict[bytes, float] = field(default_factory=dict[bytes, float])
    _sessions: dict[bytes, float] = field(default_factory=dict[bytes, float])

    def check(self, bearer: str) -> None:
        """Nothing for a secret of the owner; AuthRequired for any other."""
        if hmac.compare_digest(bearer.encode(), self.token.encode()):
            return
        if self._sessions.get(_digest(bearer), 0.0) <= self.clock():
            raise invalid_token("this is not the owner's token, or the sign-in has expired")

    def make_link(self) -> str:
        """A code that signs a browser in, once."""
        code = secrets.token_urlsafe(24)
        _put_bounded(self._links, _digest(code), self.clock() + LINK_TTL_S)
        return code

    def sign_in(self, code: str) -> str:
        """The session for such a code, which is spent by that."""
        ends = self._links.pop(_digest(code), 0.0)
        if ends <= self.clock():
            raise NotFound(
                "this sign-in link was used already, or is too old", hint="pecia open makes another"
            )
        session = owner_token.mint()
        _put_bounded(self._sessions, _digest(session), self.clock() + SESSION_TTL_S)
        return session

    def sign_out(self, session: str | None) -> None:
        """End a session; without one, all of them. The token of the home stays valid."""
        if session is None:
            self._sessions.clear()
        else:
            self._sessions.pop(_digest(session), None)


def _digest(text: str) -> bytes:
    return sha256(text.encode()).digest()


def _put_bounded(found: dict[bytes, float], key: bytes, ends: float) -> None:
    found[key] = ends
    while len(found) > MAX_ENTRIES:
        del found[next(iter(found))]
