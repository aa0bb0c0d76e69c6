"""URLs that callers name. Pure."""

import re
from urllib.parse import SplitResult, urlsplit


def split_url(url: str) -> SplitResult:
    """The parts; all empty where it is no URL."""
    try:
        return urlsplit(url)
    except ValueError:
        return urlsplit("")


def without_login(url: str) -> str:
    """Errors are logged and audited: they must not contain a secret from a URL."""
    return re.sub(r"(?<=://)[^/?#]*@", "…@", url)[:500]
