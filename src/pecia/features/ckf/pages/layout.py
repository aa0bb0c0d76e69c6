"""The layout of every page: head, navigation and security headers."""

from functools import cache
from importlib.resources import files

from pecia.features.ckf.pages.html import Html, Piece, join_html, tag
from pecia.kernel.errors import NotFound
from pecia.kernel.feature import FeaturePage, FeatureRequest

# No inline script or style, nothing cross-origin: text of a package cannot become code.
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
# Without a referrer, browsers send `Origin: null` with forms, which the HTTP interface refuses.
HEADERS = (("content-security-policy", CONTENT_SECURITY_POLICY), ("referrer-policy", "same-origin"))
STATIC_FILES = {
    "pages.css": "text/css; charset=utf-8",
    "pages.js": "text/javascript; charset=utf-8",
}
NAV_LINKS = (
    ("/viewer", "Viewer"),
    ("/compiler", "Compiler"),
    ("/compiler-heuristic-vs-llm", "Heuristic vs. model"),
)


def render_page(title: str, *main: Piece, here: str, status: int = 200) -> FeaturePage:
    """A whole page. `here` is its path, so that its own link is marked."""
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", f"{title} · Pecia"),
        tag("link", rel="stylesheet", href="/ckf/pages.css"),
        tag("script", src="/ckf/pages.js", defer=True),
    )
    body = tag("body", _top(here), tag("main", *main, id="main"))
    html = join_html(Html("<!doctype html>"), tag("html", head, body, lang="en"))
    return FeaturePage(html.encode(), status=status, headers=HEADERS)


async def serve_static(ask: FeatureRequest) -> FeaturePage:
    """The style and the script of the pages."""
    name = ask.path["name"]
    if name not in STATIC_FILES:
        raise NotFound(f"no static file {name[:100]!r}")
    return FeaturePage(_file(name), STATIC_FILES[name], headers=(("cache-control", "no-cache"),))


def attachment(body: str, name: str, content_type: str) -> FeaturePage:
    """A download. `name` is generated here, and plain ASCII."""
    saved = ("content-disposition", f'attachment; filename="{name}"')
    return FeaturePage(body.encode(), f"{content_type}; charset=utf-8", headers=(saved,))


def _top(here: str) -> Html:
    links = (
        tag("a", name, href=path, aria_current="page" if path == here else None)
        for path, name in NAV_LINKS
    )
    return tag(
        "header", tag("a", "Pecia", href="/", class_="brand"), tag("nav", links), class_="top"
    )


@cache
def _file(name: str) -> bytes:
    return files("pecia.features.ckf.pages").joinpath(name).read_bytes()
