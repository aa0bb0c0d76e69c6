"""Allowed values of Host and Origin. Pure."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

from pecia.kernel.settings.kernel import KernelSettings

WILDCARD_ADDRESSES = frozenset(("", "0.0.0.0", "::"))
"""Wildcard listen addresses, never a valid Host: browsers resolve some to this machine."""

LOOPBACK_HOSTS = frozenset(("localhost", "127.0.0.1", "[::1]"))

_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(:[0-9]{1,5})?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class TrustedHosts:
    """The host names of this server, and the origins that it trusts."""

    hosts: frozenset[str]
    """With a port, that port; without one, any."""
    origins: frozenset[str]

    @classmethod
    def from_settings(cls, settings: KernelSettings) -> "TrustedHosts":
        public = urlsplit(settings.public_url or "")
        known = [settings.host, public.hostname or "", *settings.allowed_hosts]
        own = [f"{public.scheme}://{public.netloc}"] if public.netloc else []
        return cls(
            LOOPBACK_HOSTS
            | {_bracket_ipv6(it.lower()) for it in known if it not in WILDCARD_ADDRESSES},
            frozenset(_normalize_origins([*own, *settings.allowed_origins])),
        )

    def has_host(self, host: str) -> bool:
        """Whether a `Host` header names this server: protects against DNS rebinding."""
        found = _HOST.fullmatch(host)
        if found is None:
            return False
        name = found[1].lower().removesuffix(".")
        return name in self.hosts or f"{name}{found[2] or ''}" in self.hosts

    def has_origin(self, origin: str, *, own: str) -> bool:
        """Whether a page of that origin may call: our own, or one in `allowed_origins`."""
        return origin.lower() == own.lower() or self.is_cors_origin(origin)

    def is_cors_origin(self, origin: str) -> bool:
        """Whether that origin is named in the settings, and so gets CORS headers."""
        return origin.lower() in self.origins


def _normalize_origins(texts: Iterable[str]) -> Iterable[str]:
    for text in texts:
        parts = urlsplit(text)
        yield f"{parts.scheme}://{parts.netloc}".lower() if parts.netloc else text.lower()


def _bracket_ipv6(host: str) -> str:
    """IPv6 addresses are in brackets in a Host header."""
    return f"[{host}]" if host.count(":") > 1 and not host.startswith("[") else host
