"""Which names say that their value is a secret: of fields, variables, headers and flags. Pure."""

import re
from functools import lru_cache

MAX_NAME_CHARS = 200

WORDS = frozenset(
    (
        *("password", "passwd", "passphrase", "passcode", "pwd", "pass", "secret", "token"),
        *("apikey", "credential", "credentials", "authorization", "cookie", "auth", "bearer"),
        *("pat", "otp", "jwt", "passin", "passout", "userpwd"),
    )
)
"""As the last word of a name."""

ENDINGS = ("password", "passwd", "passphrase", "secret", "token", "apikey", "pwd")
"""Of a name written as one word, as PGPASSWORD is."""

PLURALS = frozenset(("passwords", "secrets", "tokens", "cookies", "apikeys"))
"""A number under one of these is a count, as in `max_tokens`; anything else is a secret."""

KEY_QUALIFIERS = frozenset(
    (
        *("api", "access", "secret", "private", "signing", "encryption", "auth", "account"),
        *("shared", "master", "service", "license", "storage", "client", "ssh", "deploy"),
        *("webhook", "subscription", "function", "host", "app", "application", "consumer"),
        "session",
    )
)
"""What stands before `key` where the key opens something."""

WEAK_WORDS = frozenset(("token", "auth", "cookie", "pass", "bearer", "pat", "otp", "jwt"))
"""Also words of plain text: before a colon they alone prove nothing."""

QUERY_NAMES = frozenset(("code", "sig", "signature", "key", "hmac", "sid", "session", "sessionid"))
"""Secrets only as the name of a query parameter."""

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SPLIT = re.compile(r"[^A-Za-z0-9]+")


@lru_cache(maxsize=2048)
def is_secret_name(name: str) -> bool:
    """Whether whatever bears this name is a secret: `client-secret`, `GITHUB_TOKEN`, `apiKey`."""
    words = _words(name)
    if not words:
        return False
    last = words[-1]
    if last in WORDS or last.endswith(ENDINGS):
        return True
    return last == "key" and len(words) > 1 and words[-2] in KEY_QUALIFIERS


@lru_cache(maxsize=2048)
def is_plural_secret_name(name: str) -> bool:
    """Whether the name says that there are several: hidden unless the value is a number."""
    words = _words(name)
    if not words:
        return False
    return words[-1] in PLURALS or (
        words[-1] == "keys" and len(words) > 1 and words[-2] in KEY_QUALIFIERS
    )


@lru_cache(maxsize=2048)
def is_weak(name: str) -> bool:
    """Whether it is one word that plain text uses too."""
    words = _words(name)
    return len(words) == 1 and words[0] in WEAK_WORDS


@lru_cache(maxsize=2048)
def is_secret_query_name(name: str) -> bool:
    """Whether a parameter of this name is a secret in a URL."""
    words = _words(name)
    return bool(words) and (words[-1] in QUERY_NAMES or is_secret_name(name))


def _words(name: str) -> list[str]:
    """The words of a name, in lower case, without the number at its end."""
    split = _CAMEL.sub(" ", name[-MAX_NAME_CHARS:])
    words = [it.lower().rstrip("0123456789") for it in _SPLIT.split(split) if it]
    return [it for it in words if it]
