"""Settings that a session brings along: the shim forwards them, and only to its own machine.

The space that its calls mean comes by headers of its own, from anywhere: it permits nothing.
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
from pecia.kernel.errors import Forbidden, InvalidFormat, Json

SESSION_HEADER = "X-Pecia-Session"

# Headers for the name of a space, or for a folder in it; and what the wiki knows them by.
SPACE_HEADERS = {"X-Pecia-Space": "wiki.space", "X-Pecia-Project": "wiki.project"}
MAX_SPACE_CHARS = 4000


def with_session_settings(visit: RequestContext, request: Request, app: App) -> RequestContext:
    """The visit with the settings of its session. They are neither stored nor logged."""
    meant = _space_settings(request)
    found = _forwarded_settings(request, app)
    return replace(visit, session={**found, **meant}) if found or meant else visit


def _space_settings(request: Request) -> dict[str, Json]:
    given = {SPACE_HEADERS[name]: request.headers.get(name) for name in SPACE_HEADERS}
    return {key: unquote(it)[:MAX_SPACE_CHARS] for key, it in given.items() if it}


def _forwarded_settings(request: Request, app: App) -> dict[str, Json]:
    given = request.headers.get(SESSION_HEADER)
    if given is None:
        return {}
    if app.settings.kernel.mode != "local" or not get_request_info(request.scope).is_local:
        raise Forbidden(
            "settings of a session are taken from this machine only", header=SESSION_HEADER
        )
    try:
        found = orjson.loads(b64decode(given, validate=True))
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise InvalidFormat(
            f"{SESSION_HEADER} is JSON in base64", field=SESSION_HEADER, expected="object"
        )
    return cast(dict[str, Json], found)
