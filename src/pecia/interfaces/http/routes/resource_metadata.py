"""OAuth protected resource metadata, RFC 9728. Public."""

from collections.abc import Mapping, Sequence

from starlette.requests import Request
from starlette.responses import Response

from pecia.app.app import App
from pecia.interfaces.http.auth.challenge import RESOURCE_METADATA_PATH
from pecia.interfaces.http.endpoint import Handler, HttpEndpoint
from pecia.interfaces.http.errors import json_response
from pecia.interfaces.http.request_info import get_request_info
from pecia.kernel.errors import Json
from pecia.kernel.settings.kernel import KernelSettings

DEFAULT_RESOURCE = "/mcp"
"""The default resource of the server, unless `resource_url` names another."""


def metadata_paths(app: App, resources: Sequence[str]) -> Mapping[str, HttpEndpoint]:
    """One document for the server and one for each protected endpoint: each is its own resource."""
    settings = app.settings.kernel
    scopes = sorted({tool.scope.value for tool in app.full_view.tools.values()})
    return {
        f"{RESOURCE_METADATA_PATH}{path}": HttpEndpoint(
            {"GET": _metadata_handler(settings, path, scopes)}
        )
        for path in ("", *resources)
    }


def _metadata_handler(settings: KernelSettings, path: str, scopes: Sequence[str]) -> Handler:
    async def answer(request: Request) -> Response:
        base = get_request_info(request.scope).base_url
        own = f"{base}{path}" if path else settings.resource_url or f"{base}{DEFAULT_RESOURCE}"
        return json_response(
            {
                "resource": own,
                "resource_name": "Pecia",
                "scopes_supported": [*scopes],
                "bearer_methods_supported": ["header"],
                **_authorization_servers(settings.oidc_issuer),
            }
        )

    return answer


def _authorization_servers(issuer: str | None) -> dict[str, Json]:
    if issuer is not None:
        return {"authorization_servers": [issuer]}
    return {"pecia_note": "no authorization server: use a personal access token of this server"}
