"""Who of ours is who in commits, by the setting of a remote. Pure.

A line is `USER=NAME <EMAIL>`; the user `*` stands for everybody who has no line of their own.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pecia.kernel.errors import InvalidFormat

EVERYBODY = "*"
DOMAIN = "pecia.local"
SYSTEM_AUTHOR = ("Pecia", f"sync@{DOMAIN}")
MAX_NAME_CHARS = 200
_LINE = re.compile(r"([^=<>\n]{1,200})=\s*([^<>\n]{1,200}?)\s*<([^<>\s]{1,200})>")
_WRITER = re.compile(r"(agent|principal)-(.+)")
_UNSAFE = re.compile(r"[<>\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class AuthorLine:
    user: str
    name: str
    email: str


def parse_author(text: str) -> AuthorLine:
    found = _LINE.fullmatch(text.strip())
    if found is None:
        raise InvalidFormat(
            f"{text[:200]!r} does not say who is who",
            field="authors",
            got=text[:200],
            expected="USER=NAME <EMAIL>, such as ana=Ana Lima <ana@example.com>; * for all others",
        )
    return AuthorLine(found[1].strip(), found[2], found[3])


@dataclass(frozen=True, slots=True)
class AuthorMap:
    """`users` are names by id."""

    lines: Sequence[AuthorLine]
    users: Mapping[str, str]

    def to_git(self, writer: str) -> tuple[str, str]:
        """The name and address in commits of a writer of versions."""
        found = _WRITER.fullmatch(writer)
        user_id = found[2] if found else ""
        name = self.users.get(user_id)
        if name is None:
            return self._default() or SYSTEM_AUTHOR
        for it in self.lines:
            if it.user in (name, user_id):
                return it.name, it.email
        return self._default() or (clean_name(name), f"{user_id}@{DOMAIN}")

    def to_writer(self, name: str, email: str) -> str:
        """The writer of the version that a commit becomes. A name that is no user of ours is marked
        as coming from git: anybody can write any name into a commit."""
        ids = {known: user_id for user_id, known in self.users.items()}
        for it in self.lines:
            if it.email.casefold() == email.casefold() and it.user != EVERYBODY:
                user_id = ids.get(it.user, it.user if it.user in self.users else None)
                if user_id is not None:
                    return f"principal-{user_id}"
        own = email.removesuffix(f"@{DOMAIN}")
        if own != email and own in self.users:
            return f"principal-{own}"
        return f"{clean_name(name) or 'somebody'} (git)"

    def _default(self) -> tuple[str, str] | None:
        found = next((it for it in self.lines if it.user == EVERYBODY), None)
        return None if found is None else (found.name, found.email)


def clean_name(text: str) -> str:
    """A name that can be written into a commit."""
    return _UNSAFE.sub(" ", text).strip()[:MAX_NAME_CHARS]
