"""The console as an annex of the HTTP door. It knows the built files, and no tool."""

from collections.abc import Mapping
from urllib.parse import urlsplit

import orjson
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from pecia import __version__
from pecia.app.app import App
from pecia.doors.http.app import Annex
from pecia.doors.http.endpoint import Endpoint, Handler
from pecia.doors.http.page import Markup, page
from pecia.doors.http.visit import Doorkeeper
from pecia.doors.web.assets import Asset, load_assets
from pecia.kernel.errors import NotFound
from pecia.kernel.identity.caller import Scope
from pecia.kernel.settings.kernel import KernelSettings

AT = "/console"


def mount_console(app: App, keeper: Doorkeeper) -> Annex:
    """The routes of the console. Everything it shows comes from the API, under its own rights."""
    assets = load_assets()
    settings = app.settings.kernel
    return Annex(
        (
            Route(AT, Endpoint({"GET": _to_the_door})),
            Route(f"{AT}/about.json", Endpoint({"GET": _about(settings)})),
            Route(f"{AT}/{{path:path}}", Endpoint({"GET": _files(assets, policy(settings))})),
        ),
        home=_to_the_door if assets else None,
    )


def policy(settings: KernelSettings) -> str:
    """What the page may do: its own files, this server, and the issuer for signing in."""
    issuer = urlsplit(settings.oidc_issuer or "")
    beside = f" {issuer.scheme}://{issuer.netloc}" if issuer.netloc else ""
    return (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        f"connect-src 'self'{beside}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


def about(settings: KernelSettings) -> dict[str, object]:
    """What the page must know before anybody has signed in. Nothing here is anybody's."""
    can_sign_in = settings.oidc_issuer and settings.oidc_client_id
    return {
        "version": __version__,
        "mode": settings.mode,
        "mcp": settings.mcp_enabled,
        "oidc": {
            "issuer": settings.oidc_issuer,
            "client_id": settings.oidc_client_id,
            "scopes": [it.value for it in Scope],
        }
        if can_sign_in
        else None,
    }


def _about(settings: KernelSettings) -> Handler:
    body = orjson.dumps(about(settings))

    async def answer(request: Request) -> Response:
        return Response(body, media_type="application/json")

    return answer


async def _to_the_door(request: Request) -> Response:
    return RedirectResponse(f"{AT}/", 307)


def _files(assets: Mapping[str, Asset], allowed: str) -> Handler:
    async def answer(request: Request) -> Response:
        path = request.path_params["path"] or "index.html"
        if not assets:
            return _not_built()
        if path not in assets:
            raise NotFound(f"the console has no file {path[:200]!r}")
        asset = assets[path]
        keep = "public, max-age=31536000, immutable" if asset.is_hashed else "no-cache"
        headers = {"content-security-policy": allowed, "cache-control": keep}
        return Response(asset.body, headers=headers, media_type=asset.content_type)

    return answer


def _not_built() -> Response:
    """From a checkout without Node the pages are missing; everything else works."""
    return page(
        "The console was not built",
        [
            "This Pecia runs from a checkout whose pages were not built. Run `make web`, "
            "which needs Node, and start again; or install a released wheel, which has them.",
            Markup('<p>Every tool is at <a href="/api/v1/docs">/api/v1/docs</a>.</p>'),
        ],
    )
