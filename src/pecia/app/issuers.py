"""Token issuers from the settings, and how their keys are fetched."""

from collections.abc import Sequence
from urllib.parse import urlsplit

import orjson

from pecia.kernel.errors import UpstreamError
from pecia.kernel.feature import Feature
from pecia.kernel.identity.claims import ClaimNames
from pecia.kernel.identity.issuer import Issuer
from pecia.kernel.identity.oidc import FetchJwks, TokenVerifier
from pecia.kernel.settings.kernel import KernelSettings

DISCOVERY_PATH = "/.well-known/openid-configuration"


def build_verifier(
    settings: KernelSettings, features: Sequence[Feature], fetch: FetchJwks
) -> TokenVerifier | None:
    """The verifier of access tokens; None if no issuer is configured."""
    if settings.oidc_issuer is None:
        return None
    return TokenVerifier([build_issuer(settings, features)], with_discovery(fetch))


def build_issuer(settings: KernelSettings, features: Sequence[Feature]) -> Issuer:
    """The one configured issuer. Audiences default to this server and each of its endpoints."""
    name = settings.oidc_issuer or ""
    keys_file = settings.oidc_jwks_file
    keys_url = settings.oidc_jwks_url or name.rstrip("/") + DISCOVERY_PATH
    return Issuer(
        issuer=name,
        audiences=settings.oidc_audience or _own_audiences(settings, features),
        jwks_url=None if keys_file else str(keys_url),
        jwks_file=keys_file,
        tenant=settings.oidc_tenant,
        tenant_claim=None if settings.oidc_tenant else settings.oidc_tenant_claim,
        algorithms=frozenset(settings.oidc_algorithms),
        leeway_s=round(settings.oidc_leeway_s),
        names=ClaimNames(
            subject=settings.oidc_user_claim,
            email=settings.oidc_email_claim,
            groups=settings.oidc_groups_claim,
            scopes=(settings.oidc_scope_claim, "scp", "roles"),
        ),
    )


def _own_audiences(settings: KernelSettings, features: Sequence[Feature]) -> tuple[str, ...]:
    """The audiences that clients request by our metadata: the endpoints."""
    own = str(settings.resource_url or settings.public_url or "").rstrip("/")
    endpoints = ["/mcp", "/mcp/all", *(f"/mcp/{feature.name}" for feature in features)]
    paths = ["", "/api/v1", "/api/mcp", *endpoints, *(f"{it}/readonly" for it in endpoints)]
    return tuple(f"{own}{path}" for path in paths) if own else ()


def with_discovery(fetch: FetchJwks) -> FetchJwks:
    """Follow an issuer's discovery document to its keys. It may not point to another scheme."""

    async def keys(url: str) -> bytes:
        found = await fetch(url)
        if not url.endswith(DISCOVERY_PATH):
            return found
        return await fetch(_keys_url(found, url))

    return keys


def _keys_url(document: bytes, issuer_url: str) -> str:
    try:
        url = orjson.loads(document)["jwks_uri"]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        raise UpstreamError("the issuer's discovery document names no keys") from None
    if not isinstance(url, str) or urlsplit(url).scheme != urlsplit(issuer_url).scheme:
        raise UpstreamError("the issuer's discovery document names keys at a weaker address")
    return url
