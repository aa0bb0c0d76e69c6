"""What an OAuth client must know of this server before it asks for a token: RFC 9728. Public."""

from collections.abc import Mapping, Sequence

from starlette.requests import Request
from starlette.responses import Response

from pecia.app.app import App
from pecia.doors.http.arrival import arrival_of
from pecia.doors.http.challenge import WELL_KNOWN
from pecia.doors.http.endpoint import Endpoint, Handler
from pecia.doors.http.errors import as_json
from pecia.kernel.errors import Json
from pecia.kernel.settings.kernel import KernelSettings

MAIN = "/mcp"
"""The endpoint that the server as a whole stands for, unless `resource_url` names another."""


def metadata_paths(app: App, resources: Sequence[str]) -> Mapping[str, Endpoint]:
    """One document for the server and one for each protected endpoint: each is its own resource."""
    settings = app.settings.kernel
    scopes = sorted({tool.scope.value for tool in app.everything.tools.values()})
    return {
        f"{WELL_KNOWN}{path}": Endpoint({"GET": _document(settings, path, scopes)})
        for path in ("", *resources)
    }


def _document(settings: KernelSettings, path: str, scopes: Sequence[str]) -> Handler:
    async def answer(request: Request) -> Response:
        base = arrival_of(request.scope).base_url
        own = f"{base}{path}" if path else settings.resource_url or f"{base}{MAIN}"
        return as_json(
            {
                "resource": own,
                "resource_name": "Pecia",
                "scopes_supported": [*scopes],
                "bearer_methods_supported": ["header"],
                **_servers(settings.oidc_issuer),
            }
        )

    return answer


def _servers(issuer: str | None) -> dict[str, Json]:
    if issuer is not None:
        return {"authorization_servers": [issuer]}
    return {"pecia_note": "no authorization server: use a personal access token of this server"}
