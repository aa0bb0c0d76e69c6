"""A URL without secrets, whose host is still exactly the one that is called. Pure."""

import re
from urllib.parse import unquote, urlsplit

from pecia.kernel.redaction.names import is_secret_name, is_secret_query_name
from pecia.kernel.redaction.text import REDACTED, looks_random, redact

MIN_KEY_CHARS = 20
"""A path segment this long of letters and digits is a key, as in `/s/8fk2…/mcp`."""

_PARAMETER = re.compile(r"([^=&;#]*)=([^&;#]*)")
_SEGMENT = re.compile(r"[^/]+")


def redact_url(url: str) -> str:
    """The URL without user name and password, without the values of secret parameters, without
    segments and values that look like keys."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return redact(url)
    start = url.find("//") + 2
    if not parts.netloc or not url[start:].startswith(parts.netloc):
        return redact(url)
    user, _, host = parts.netloc.rpartition("@")
    rest = url[start + len(parts.netloc) :]
    path, mark, query = _split(rest)
    path = _SEGMENT.sub(_segment, path)
    shown = redact(f"{path}{mark}{_PARAMETER.sub(_parameter, query)}")
    return f"{url[:start]}{f'{REDACTED}@' if user else ''}{host}{shown}"


def find_secret_parameters(url: str) -> list[str]:
    """The names of query parameters whose value is a secret by its name, in their order."""
    _, _, query = _split(url)
    return [unquote(it[1]) for it in _PARAMETER.finditer(query) if _is_named_secret(it)]


def drop_secret_parameters(query: str) -> str:
    """A query without parameters that are secrets by their name, whatever they hold."""
    kept = [it for it in query.split("&") if not is_secret_name(unquote(it.partition("=")[0]))]
    return "&".join(kept)


def _split(rest: str) -> tuple[str, str, str]:
    """The path, and what begins with `?` or `#`."""
    end = next((at for at, sign in enumerate(rest) if sign in "?#"), len(rest))
    return rest[:end], rest[end : end + 1], rest[end + 1 :]


def _segment(found: re.Match[str]) -> str:
    text = unquote(found[0])
    has_both = any(map(str.isdigit, text)) and any(map(str.isalpha, text))
    return REDACTED if has_both and len(text) >= MIN_KEY_CHARS and "." not in text else found[0]


def _parameter(found: re.Match[str]) -> str:
    value = unquote(found[2])
    hidden = value and (_is_named_secret(found) or looks_random(value))
    return f"{found[1]}={REDACTED}" if hidden else found[0]


def _is_named_secret(found: re.Match[str]) -> bool:
    name, value = unquote(found[1]), unquote(found[2])
    # `key`, `code` and such are secrets by name alone only where nothing shorter is meant.
    is_named = is_secret_name(name) or (is_secret_query_name(name) and len(value) >= 6)
    return bool(value) and is_named
