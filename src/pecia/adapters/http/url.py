"""URLs that callers name. Pure."""

import re
from urllib.parse import SplitResult, urlsplit

from pecia.kernel.errors import InvalidFormat
from pecia.kernel.redaction.url import find_secret_parameters, redact_url


def split_url(url: str) -> SplitResult:
    """The parts; all empty where it is no URL."""
    try:
        return urlsplit(url)
    except ValueError:
        return urlsplit("")


def require_no_key(url: str, *, field: str, source_id: str) -> None:
    """Refuse an address with a key in its query: addresses are stored, listed and exported."""
    if found := find_secret_parameters(url):
        names = " and ".join(f'"{it}"' for it in found)
        raise InvalidFormat(
            f'Field "{field}" has a key in the address: {names} would be stored in clear',
            field=field,
            got=redact_url(url)[:500],
            expected="the address without it",
            hint=f"add the source without it; then pecia source credential {source_id} takes the "
            "key from standard input and keeps it sealed",
        )


def without_login(url: str) -> str:
    """Errors are logged and audited: they must not contain a secret from a URL."""
    return re.sub(r"(?<=://)[^/?#]*@", "…@", url)[:500]
