"""CORS headers, for the origins in `allowed_origins` only. Pure."""

from collections.abc import Mapping

from starlette.responses import Response

EXPOSED_HEADERS = "Mcp-Session-Id, Retry-After, WWW-Authenticate, X-Request-Id"
ALLOWED_METHODS = "DELETE, GET, HEAD, OPTIONS, POST, PUT"
MAX_AGE_S = 600


def cors_headers(origin: str) -> list[tuple[bytes, bytes]]:
    """The CORS headers of a response to that origin. No credentials: we set no cookie."""
    return [
        (b"access-control-allow-origin", origin.encode("latin-1")),
        (b"access-control-expose-headers", EXPOSED_HEADERS.encode()),
        (b"vary", b"Origin"),
    ]


def is_preflight(method: str, headers: Mapping[str, str]) -> bool:
    """Whether this is a CORS preflight request."""
    return method == "OPTIONS" and "access-control-request-method" in headers


def preflight_response(headers: Mapping[str, str]) -> Response:
    """The preflight response. Any header is allowed: the operator trusts the origin."""
    requested = headers.get("access-control-request-headers", "")
    return Response(
        status_code=204,
        headers={
            "access-control-allow-methods": ALLOWED_METHODS,
            "access-control-allow-headers": requested or "Authorization, Content-Type",
            "access-control-max-age": str(MAX_AGE_S),
        },
    )
