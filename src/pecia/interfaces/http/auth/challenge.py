"""The `WWW-Authenticate` header by RFC 6750 and RFC 9728. Pure."""

import re

from starlette.requests import HTTPConnection

from pecia.interfaces.http.request_info import get_request_info, raw_authorization
from pecia.kernel.errors import AuthRequired, Forbidden, PeciaError

RESOURCE_METADATA_PATH = "/.well-known/oauth-protected-resource"

_UNQUOTABLE = re.compile(r"[^\x20-\x21\x23-\x5b\x5d-\x7e]")


def challenge_headers(error: PeciaError, connection: HTTPConnection) -> dict[str, str]:
    """The header of a 401, and of a 403 that a token with more scope would solve; else none."""
    scope = error.fields.get("scope")
    if isinstance(error, AuthRequired):
        # A client without a token made no mistake yet: no `error` parameter.
        wrong = "invalid_token" if raw_authorization(connection) is not None else None
    elif isinstance(error, Forbidden) and isinstance(scope, str):
        wrong = "insufficient_scope"
    else:
        return {}
    arrival = get_request_info(connection.scope)
    metadata = f"{arrival.base_url}{RESOURCE_METADATA_PATH}{arrival.resource}"
    wanted = scope if isinstance(scope, str) else None
    if wrong is None:
        parameters = _format_parameters(resource_metadata=metadata, scope=wanted)
    else:
        parameters = _format_parameters(
            error=wrong,
            scope=wanted,
            resource_metadata=metadata,
            error_description=error.message,
        )
    return {"www-authenticate": f"Bearer {parameters}"}


def _format_parameters(**words: str | None) -> str:
    return ", ".join(f'{name}="{_escape_quoted(word)}"' for name, word in words.items() if word)


def _escape_quoted(text: str) -> str:
    """The text as a quoted value: RFC 6750 allows no quotes and no backslashes."""
    return _UNQUOTABLE.sub("'", text)
