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
TABS = (
    ("/viewer", "Viewer"),
    ("/compiler", "Compiler"),
    ("/compiler-heuristic-vs-llm", "Heuristic vs. model"),
)
# The entries of the console's rail that everybody has, with the paths of their icons.
RAIL = (
    ("/console/", "Home", "M2.5 7L8 2.5 13.5 7v6.5h-4v-4h-3v4h-4z"),
    (
        "/console/#/search",
        "Search",
        "M2.5 7a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0M10.5 10.5L14 14",
    ),
    (
        "/console/#/ask",
        "Ask",
        "M2.5 3h11v8h-6l-3 2.5V11h-2zM6.3 6a1.7 1.7 0 1 1 2.3 1.5c-.4.2-.6.4-.6.9M8 9.6v.1",
    ),
    ("/console/#/documents", "Documents", "M3.5 1.5h6l3 3v10h-9zM6 7.5h4M6 10.5h4"),
    (
        "/console/#/memories",
        "Memories",
        "M2 8a6 6 0 1 0 12 0a6 6 0 1 0-12 0M8 4.5V8l2.5 2",
    ),
    (
        "/viewer",
        "Packages",
        "M2.5 5L8 2.5 13.5 5v6L8 13.5 2.5 11zM2.5 5L8 7.5 13.5 5M8 7.5v6",
    ),
    ("/console/#/cascade", "Cascade", "M8 2l6 3-6 3-6-3zM2 8l6 3 6-3M2 11l6 3 6-3"),
)
# The bar of a phone has room for five.
NOT_ON_A_PHONE = ("Memories", "Cascade")
MARK = Html(
    '<svg width="18" height="18" viewBox="0 0 18 18" aria-hidden="true">'
    '<path d="M2 2h6v6H2zM10 2h6v6h-6zM2 10h6v6H2z" fill="currentColor"/>'
    '<path d="M10.75 10.75h4.5v4.5h-4.5z" fill="none" stroke="currentColor" '
    'stroke-width="1.5"/></svg>'
)


def render_page(title: str, *main: Piece, here: str, status: int = 200) -> FeaturePage:
    """A whole page in the frame of the console. `here` is its path: its own tab is marked."""
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", f"{title} · Pecia"),
        # The design system of the HTTP interface; the second has what only packages have.
        tag("link", rel="stylesheet", href="/design.css"),
        tag("link", rel="stylesheet", href="/ckf/pages.css"),
        tag("script", src="/ckf/pages.js", defer=True),
    )
    content = tag("main", _tabs(here), *main, id="main", class_="page ckf", tabindex="-1")
    skip = tag("a", "Skip to content", href="#main", class_="skip")
    body = tag("body", skip, tag("div", _rail(), tag("div", content), class_="app"))
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


def _rail() -> Html:
    brand = tag("a", MARK, tag("span", "Pecia"), href="/", class_="brand", aria_label="Pecia, home")
    links = (_rail_link(*it) for it in RAIL)
    return tag(
        "aside", brand, tag("nav", links, aria_label="Pages"), class_="rail", aria_label="Pecia"
    )


def _rail_link(path: str, name: str, drawing: str) -> Html:
    icon = Html(
        f'<svg class="icon" viewBox="0 0 16 16" aria-hidden="true"><path d="{drawing}"/></svg>'
    )
    current = "page" if path == "/viewer" else None
    text = tag("span", name, class_="text")
    kind = "rail-link administration" if name in NOT_ON_A_PHONE else "rail-link"
    return tag("a", icon, text, href=path, title=name, class_=kind, aria_current=current)


def _tabs(here: str) -> Html:
    links = (
        tag("a", name, href=path, aria_current="page" if path == here else None)
        for path, name in TABS
    )
    return tag("nav", links, class_="tabs", aria_label="Packages")


@cache
def _file(name: str) -> bytes:
    return files("pecia.features.ckf.pages").joinpath(name).read_bytes()
