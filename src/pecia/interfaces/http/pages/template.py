"""The few pages the server renders itself: the look of the console, without scripts."""

import hashlib
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

SHEETS = ("tokens.css", "components.css", "prose.css", "shell.css")
DESIGN_PATH = "/design.css"
ICON_PATHS = ("/icon.svg", "/favicon.ico")
"""The second is asked for by browsers, of pages that name none."""
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
MARK = (
    '<svg width="18" height="18" viewBox="0 0 18 18" aria-hidden="true">'
    '<path d="M2 2h6v6H2zM10 2h6v6h-6zM2 10h6v6H2z" fill="currentColor"/>'
    '<path d="M10.75 10.75h4.5v4.5h-4.5z" fill="none" stroke="currentColor" '
    'stroke-width="1.5"/></svg>'
)


def _load_design() -> bytes:
    folder = files("pecia.interfaces.http.pages").joinpath("design")
    return b"".join(folder.joinpath(it).read_bytes() for it in SHEETS)


DESIGN = _load_design()
ICON = files("pecia.interfaces.http.pages").joinpath("design", "icon.svg").read_bytes()
DESIGN_URL = f"{DESIGN_PATH}?v={hashlib.sha256(DESIGN).hexdigest()[:16]}"


class RawHtml(str):
    """Text that is HTML already. Everything else is escaped."""

    __slots__ = ()


async def serve_design(request: Request) -> Response:
    """The design system as one style sheet; for ever under the address with its hash."""
    is_hashed = f"{DESIGN_PATH}?{request.url.query}" == DESIGN_URL
    headers = {"cache-control": "public, max-age=31536000, immutable" if is_hashed else "no-cache"}
    return Response(DESIGN, headers=headers, media_type="text/css")


async def serve_icon(request: Request) -> Response:
    headers = {"cache-control": "public, max-age=86400"}
    return Response(ICON, headers=headers, media_type="image/svg+xml")


def render_page(
    title: str,
    paragraphs: Sequence[str],
    *,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
) -> HTMLResponse:
    """A whole page: a heading and paragraphs."""
    body = "".join(it if isinstance(it, RawHtml) else f"<p>{escape(it)}</p>" for it in paragraphs)
    main = (
        f'<main class="alone"><p class="brand"><a class="plain row" href="/">{MARK}'
        f'<span>Pecia</span></a></p><div class="stack"><h1>{escape(title)}</h1>{body}</div></main>'
    )
    return render_document(title, main, status=status, headers=headers)


def render_bar(href: str, words: str) -> str:
    """The bar above a page to read: the mark, and one way on."""
    return (
        f'<header class="bar"><a class="brand" href="/">{MARK}<span>Pecia</span></a>'
        f'<span class="bar-end"><a href="{escape(href)}">{escape(words)}</a></span></header>'
    )


def render_document(
    title: str,
    body: str,
    *,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
) -> HTMLResponse:
    """A whole page around a body of HTML."""
    html = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f'<title>{escape(title)}</title><link rel="icon" href="{ICON_PATHS[0]}">'
        f'<link rel="stylesheet" href="{DESIGN_URL}">'
        f"</head><body>{body}</body></html>"
    )
    return HTMLResponse(
        html, status, {"content-security-policy": CONTENT_SECURITY_POLICY, **(headers or {})}
    )
