"""CORS: which foreign pages may read our answers. Only those the operator named. Pure."""

from collections.abc import Mapping

from starlette.responses import Response

EXPOSED_HEADERS = "Mcp-Session-Id, Retry-After, WWW-Authenticate, X-Request-Id"
ALLOWED_METHODS = "DELETE, GET, HEAD, OPTIONS, POST, PUT"
MAX_AGE_S = 600


def cors_headers(origin: str) -> list[tuple[bytes, bytes]]:
    """What an answer to a page of that origin carries. No credentials: we set no cookie."""
    return [
        (b"access-control-allow-origin", origin.encode("latin-1")),
        (b"access-control-expose-headers", EXPOSED_HEADERS.encode()),
        (b"vary", b"Origin"),
    ]


def is_preflight(method: str, headers: Mapping[str, str]) -> bool:
    """Whether a browser asks on behalf of a page what it may send."""
    return method == "OPTIONS" and "access-control-request-method" in headers


def preflight_response(headers: Mapping[str, str]) -> Response:
    """Leave to send any header: the page is one the operator trusts with the API."""
    asked = headers.get("access-control-request-headers", "")
    return Response(
        status_code=204,
        headers={
            "access-control-allow-methods": ALLOWED_METHODS,
            "access-control-allow-headers": asked or "Authorization, Content-Type",
            "access-control-max-age": str(MAX_AGE_S),
        },
    )
