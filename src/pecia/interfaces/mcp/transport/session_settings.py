"""Settings of a session: the stdio relay sends them, to a server on the same machine only.

The default space comes in separate headers, from any machine: it grants no rights.
"""

from base64 import b64decode
from dataclasses import replace
from typing import cast
from urllib.parse import unquote

import orjson
from starlette.requests import Request

from pecia.app.app import App
from pecia.app.dispatch import RequestContext
from pecia.interfaces.http.request_info import get_request_info
from pecia.interfaces.mcp.views.cipher import cipher_options
from pecia.kernel.errors import Forbidden, InvalidFormat, Json

SESSION_HEADER = "X-Pecia-Session"

# Headers for the name of a space, or for a folder in it, and their session keys in the wiki.
SPACE_HEADERS = {"X-Pecia-Space": "wiki.space", "X-Pecia-Project": "wiki.project"}
MAX_SPACE_CHARS = 4000


def with_session_settings(context: RequestContext, request: Request, app: App) -> RequestContext:
    """The context with the settings of its session. They are neither stored nor logged."""
    meant = _space_settings(request)
    found = _forwarded_settings(request, app)
    return replace(context, session={**found, **meant}) if found or meant else context


def _space_settings(request: Request) -> dict[str, Json]:
    headers = {SPACE_HEADERS[name]: request.headers.get(name) for name in SPACE_HEADERS}
    return {key: unquote(it)[:MAX_SPACE_CHARS] for key, it in headers.items() if it}


def _forwarded_settings(request: Request, app: App) -> dict[str, Json]:
    header = request.headers.get(SESSION_HEADER)
    if header is None:
        return {}
    if app.settings.kernel.mode != "local" or not get_request_info(request.scope).is_local:
        raise Forbidden(
            "session settings are accepted from this machine only", header=SESSION_HEADER
        )
    try:
        found = orjson.loads(b64decode(header, validate=True))
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise InvalidFormat(
            f"{SESSION_HEADER} must be JSON in base64", field=SESSION_HEADER, expected="object"
        )
    session = cast(dict[str, Json], found)
    # A value that is none is refused with the first request, and not by the tool that needs it.
    cipher_options(app.settings, session)
    return session
