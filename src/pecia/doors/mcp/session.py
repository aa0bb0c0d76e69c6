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
from pecia.app.corridor import Visit
from pecia.doors.http.arrival import arrival_of
from pecia.kernel.errors import Forbidden, InvalidFormat, Json

HEADER = "X-Pecia-Session"

# Headers for the name of a space, or for a folder in it; and what the wiki knows them by.
MEANT = {"X-Pecia-Space": "wiki.space", "X-Pecia-Project": "wiki.project"}
LONGEST_SPACE = 4000


def session_settings(visit: Visit, request: Request, app: App) -> Visit:
    """The visit with the settings of its session. They are neither stored nor logged."""
    meant = _space(request)
    found = _forwarded(request, app)
    return replace(visit, session={**found, **meant}) if found or meant else visit


def _space(request: Request) -> dict[str, Json]:
    given = {MEANT[name]: request.headers.get(name) for name in MEANT}
    return {key: unquote(it)[:LONGEST_SPACE] for key, it in given.items() if it}


def _forwarded(request: Request, app: App) -> dict[str, Json]:
    given = request.headers.get(HEADER)
    if given is None:
        return {}
    if app.settings.kernel.mode != "local" or not arrival_of(request.scope).is_local:
        raise Forbidden("settings of a session are taken from this machine only", header=HEADER)
    try:
        found = orjson.loads(b64decode(given, validate=True))
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise InvalidFormat(f"{HEADER} is JSON in base64", field=HEADER, expected="object")
    return cast(dict[str, Json], found)
