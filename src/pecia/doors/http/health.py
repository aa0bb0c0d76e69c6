"""Whether this process is up, and whether it is fit to serve. Tells nothing of anybody's data."""

from starlette.requests import Request
from starlette.responses import Response

from pecia import __version__
from pecia.app.app import App
from pecia.doors.http.errors import as_json


class Health:
    """The two questions that those who run servers ask."""

    def __init__(self, app: App, instance: str) -> None:
        self._app = app
        self._instance = instance

    async def alive(self, request: Request) -> Response:
        """The process answers. Nothing else is looked at, so that nothing else can fail it."""
        return as_json(
            {
                "status": "ok",
                "name": "pecia",
                "version": __version__,
                "mode": self._app.settings.kernel.mode,
                "instance": self._instance,
            }
        )
