"""Fetches an issuer's keys, for an App that a command opens."""

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pecia.kernel.errors import UpstreamError
from pecia.kernel.settings.kernel import KernelSettings

if TYPE_CHECKING:
    from pecia.kernel.identity.oidc import FetchJwks

MAX_BYTES = 1024 * 1024


def make_oidc_fetch(settings: KernelSettings) -> "FetchJwks":
    """Fetches an issuer's documents. Hosts that the operator configured may be internal."""
    named = [it for it in (settings.oidc_issuer, settings.oidc_jwks_url) if it]

    async def fetch(url: str, /) -> bytes:
        # Lazy import: few servers have an issuer.
        from pecia.adapters.http.egress_rules import EgressRules
        from pecia.adapters.http.fetch import Fetcher, HttpFetchLimits
        from pecia.adapters.http.guard import EgressGuard

        rules = EgressRules.from_trusted_hosts(_host_and_port(it) for it in named)
        limits = HttpFetchLimits(max_bytes=MAX_BYTES, timeout_s=settings.oidc_timeout_s, hops=0)
        async with Fetcher(EgressGuard(rules)) as fetcher:
            answer = await fetcher.fetch(url, limits=limits)
        if answer.status != 200:
            raise UpstreamError(f"{url} answered {answer.status}", status=answer.status)
        return answer.body

    return fetch


def _host_and_port(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.hostname}:{parts.port or (443 if parts.scheme == 'https' else 80)}"
