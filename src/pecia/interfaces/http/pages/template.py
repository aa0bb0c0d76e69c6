"""The few pages the server renders itself: small, without scripts, fonts or anything external."""

import hashlib
from base64 import b64encode
from collections.abc import Mapping, Sequence
from html import escape

from starlette.responses import HTMLResponse

STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:3rem auto;padding:0 1rem}"
    "code{font-size:.95em}dt{margin-top:1rem;font-weight:600}"
)
_STYLE_HASH = b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
CONTENT_SECURITY_POLICY = (
    f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)


class RawHtml(str):
    """Text that is HTML already. Everything else is escaped."""

    __slots__ = ()


def render_page(
    title: str,
    paragraphs: Sequence[str],
    *,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
) -> HTMLResponse:
    """A whole page: a heading and paragraphs."""
    body = "".join(it if isinstance(it, RawHtml) else f"<p>{escape(it)}</p>" for it in paragraphs)
    name = escape(title)
    html = (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{name}</title><style>{STYLE}</style><h1>{name}</h1>{body}</html>"
    )
    return HTMLResponse(
        html, status, {"content-security-policy": CONTENT_SECURITY_POLICY, **(headers or {})}
    )
