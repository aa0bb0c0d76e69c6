"""What `WWW-Authenticate` says, as RFC 6750 and RFC 9728 want it. Pure."""

import re

from starlette.requests import HTTPConnection

from pecia.doors.http.arrival import arrival_of
from pecia.doors.http.credential import claimed
from pecia.kernel.errors import AuthRequired, Forbidden, PeciaError

WELL_KNOWN = "/.well-known/oauth-protected-resource"

_UNQUOTABLE = re.compile(r"[^\x20-\x21\x23-\x5b\x5d-\x7e]")


def challenge(error: PeciaError, connection: HTTPConnection) -> dict[str, str]:
    """The header of a 401, and of a 403 that a stronger token would mend; none for the rest."""
    scope = error.fields.get("scope")
    if isinstance(error, AuthRequired):
        # A client without a token made no mistake yet, and is told of none.
        wrong = "invalid_token" if claimed(connection) is not None else None
    elif isinstance(error, Forbidden) and isinstance(scope, str):
        wrong = "insufficient_scope"
    else:
        return {}
    arrival = arrival_of(connection.scope)
    metadata = f"{arrival.base_url}{WELL_KNOWN}{arrival.resource}"
    wanted = scope if isinstance(scope, str) else None
    if wrong is None:
        said = _said(resource_metadata=metadata, scope=wanted)
    else:
        said = _said(
            error=wrong,
            scope=wanted,
            resource_metadata=metadata,
            error_description=error.message,
        )
    return {"www-authenticate": f"Bearer {said}"}


def _said(**words: str | None) -> str:
    return ", ".join(f'{name}="{_quotable(word)}"' for name, word in words.items() if word)


def _quotable(text: str) -> str:
    """What may stand between the quotes: RFC 6750 leaves out quotes and backslashes."""
    return _UNQUOTABLE.sub("'", text)
