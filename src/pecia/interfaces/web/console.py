"""The console as a mount of the HTTP interface. It knows the built files, and no tool."""

import gzip
import hashlib
import mimetypes
import re
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from urllib.parse import urlsplit

import orjson
from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from pecia import __version__
from pecia.app.app import App
from pecia.interfaces.http.app import HttpMount
from pecia.interfaces.http.auth.authenticator import HttpAuthenticator
from pecia.interfaces.http.auth.session_cookie import has_session
from pecia.interfaces.http.endpoint import Handler, HttpEndpoint
from pecia.interfaces.http.pages.template import RawHtml, render_page
from pecia.interfaces.http.request_info import get_request_info
from pecia.kernel.errors import NotFound
from pecia.kernel.identity.caller import Scope
from pecia.kernel.settings.kernel import KernelSettings

STATIC_FOLDER = "static"
TEXT_TYPES = ("application/javascript", "application/json", "image/svg+xml")
GZIP_LEVEL = 6
DIAGRAM_FRAME = "diagram.html"
_SCRIPT = re.compile(rb"<script>(.*?)</script>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class StaticAsset:
    """One file. One with a hash in its name never changes, so a browser may cache it for ever."""

    body: bytes
    content_type: str
    is_hashed: bool
    is_text: bool = False


def load_assets() -> dict[str, StaticAsset]:
    """Every built file by its path below `/console/`; empty where the pages were not built."""
    folder = files("pecia.interfaces.web").joinpath(STATIC_FOLDER)
    return dict(_walk_assets(folder, "")) if folder.is_dir() else {}


def _walk_assets(folder: Traversable, path: str) -> list[tuple[str, StaticAsset]]:
    found: list[tuple[str, StaticAsset]] = []
    for entry in sorted(folder.iterdir(), key=lambda it: it.name):
        name = f"{path}{entry.name}"
        if entry.is_dir():
            found += _walk_assets(entry, f"{name}/")
        else:
            found.append((name, _load_asset(entry, name)))
    return found


def _load_asset(entry: Traversable, name: str) -> StaticAsset:
    kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
    text = kind.startswith("text/") or kind in TEXT_TYPES
    return StaticAsset(
        entry.read_bytes(),
        f"{kind}; charset=utf-8" if text else kind,
        name.startswith("assets/"),
        text,
    )


CONSOLE_PATH = "/console"


def mount_console(app: App, keeper: HttpAuthenticator) -> HttpMount:
    """The routes of the console. Everything it shows comes from the API, with the user's rights."""
    assets = load_assets()
    settings = app.settings.kernel
    return HttpMount(
        (
            Route(CONSOLE_PATH, HttpEndpoint({"GET": _redirect_home})),
            Route(f"{CONSOLE_PATH}/about.json", HttpEndpoint({"GET": _about_handler(settings)})),
            Route(
                f"{CONSOLE_PATH}/{{path:path}}",
                HttpEndpoint({"GET": _asset_handler(assets, content_security_policy(settings))}),
            ),
        ),
        home=_redirect_home if assets else None,
    )


def content_security_policy(settings: KernelSettings) -> str:
    """The Content-Security-Policy: own files, this server, and the issuer for signing in."""
    issuer = urlsplit(settings.oidc_issuer or "")
    beside = f" {issuer.scheme}://{issuer.netloc}" if issuer.netloc else ""
    return (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; "
        "media-src 'self'; font-src 'self'; worker-src 'self'; "
        f"frame-src 'self'; connect-src 'self'{beside}; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


def diagram_frame_headers(body: bytes) -> dict[str, str]:
    """Of the frame that draws diagrams: an origin of its own, no network, and no script but its
    own and the library that the page around it sends. Only here styles may be inline: an SVG is
    made of them."""
    hashes = [b64encode(hashlib.sha256(it).digest()).decode() for it in _SCRIPT.findall(body)]
    scripts = "".join(f"'sha256-{it}' " for it in hashes)
    policy = (
        f"sandbox allow-scripts; default-src 'none'; script-src {scripts}blob:; "
        "style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
    )
    return {"content-security-policy": policy, "x-frame-options": "SAMEORIGIN"}


def about_document(settings: KernelSettings) -> dict[str, object]:
    """What the page needs before sign-in. Public data only."""
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


def _about_handler(settings: KernelSettings) -> Handler:
    known = about_document(settings)

    async def answer(request: Request) -> Response:
        base_url = get_request_info(request.scope).base_url
        # The cookie is out of reach of scripts: whether there is one the page learns here.
        about = {**known, "has_session": has_session(request, base_url)}
        return Response(
            orjson.dumps(about),
            headers={"cache-control": "no-store"},
            media_type="application/json",
        )

    return answer


async def _redirect_home(request: Request) -> Response:
    return RedirectResponse(f"{CONSOLE_PATH}/", 307)


def accepts_gzip(accept: str) -> bool:
    """Whether `Accept-Encoding` names gzip, and not only to refuse it."""
    for part in accept.lower().split(","):
        name, _, weight = part.partition(";")
        if name.strip() == "gzip":
            return weight.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False


def _asset_handler(assets: Mapping[str, StaticAsset], allowed: str) -> Handler:
    # Compressed when it is first asked for: a server whose console nobody opens pays nothing.
    packed: dict[str, bytes] = {}

    async def answer(request: Request) -> Response:
        path = request.path_params["path"] or "index.html"
        if not assets:
            return _not_built()
        if path not in assets:
            raise NotFound(f"the console has no file {path[:200]!r}")
        asset = assets[path]
        keep = "public, max-age=31536000, immutable" if asset.is_hashed else "no-cache"
        headers = {"content-security-policy": allowed, "cache-control": keep}
        if path == DIAGRAM_FRAME:
            headers |= diagram_frame_headers(asset.body)
        body = asset.body
        if asset.is_text:
            headers["vary"] = "accept-encoding"
            if accepts_gzip(request.headers.get("accept-encoding", "")):
                if path not in packed:
                    packed[path] = await run_sync(gzip.compress, asset.body, GZIP_LEVEL)
                headers["content-encoding"] = "gzip"
                body = packed[path]
        return Response(body, headers=headers, media_type=asset.content_type)

    return answer


def _not_built() -> Response:
    """From a checkout without Node the pages are missing; everything else works."""
    return render_page(
        "The console was not built",
        [
            "This Pecia runs from a checkout whose pages were not built. Install Node and run "
            "`make start` again; or install a released wheel, which has them.",
            RawHtml(
                "<p>Documents can be read without it, at <code>/read/SOURCE/KEY</code>; "
                'every tool is at <a href="/api/v1/docs">/api/v1/docs</a>.</p>'
            ),
        ],
    )
