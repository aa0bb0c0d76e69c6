"""Settings that a session brings along: the shim forwards them, and only to its own machine."""

from base64 import b64decode
from dataclasses import replace
from typing import Any, cast

import orjson
from starlette.requests import Request

from pecia.app.app import App
from pecia.app.corridor import Visit
from pecia.doors.http.arrival import arrival_of
from pecia.kernel.errors import Forbidden, InvalidFormat

HEADER = "X-Pecia-Session"


def session_settings(visit: Visit, request: Request, app: App) -> Visit:
    """The visit with the settings of its session. They are neither stored nor logged."""
    given = request.headers.get(HEADER)
    if given is None:
        return visit
    if app.settings.kernel.mode != "local" or not arrival_of(request.scope).is_local:
        raise Forbidden("settings of a session are taken from this machine only", header=HEADER)
    try:
        found = orjson.loads(b64decode(given, validate=True))
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise InvalidFormat(f"{HEADER} is JSON in base64", field=HEADER, expected="object")
    return replace(visit, session=cast(dict[str, Any], found))
