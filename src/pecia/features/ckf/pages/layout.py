"""The layout of every page: head, navigation and security headers."""

from functools import cache
from importlib.resources import files

from pecia.features.ckf.pages.html import Html, Piece, join_html, tag
from pecia.kernel.errors import NotFound
from pecia.kernel.feature import FeaturePage, FeatureRequest

# No inline script or style, nothing cross-origin: text of a package cannot become code.
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; "
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
# Those of its administration that need no administrator.
ADMINISTRATION = (
    (
        "/console/#/sources",
        "Sources",
        "M2.5 3.8a5.5 2.2 0 1 0 11 0a5.5 2.2 0 1 0-11 0v8.4c0 1.2 2.5 2.2 5.5 2.2s5.5-1 5.5-2.2V3.8"
        "M2.5 8c0 1.2 2.5 2.2 5.5 2.2s5.5-1 5.5-2.2",
    ),
    (
        "/console/#/hub",
        "Hub",
        "M6 8a2 2 0 1 0 4 0a2 2 0 1 0-4 0M1.5 3.5a1.5 1.5 0 1 0 3 0a1.5 1.5 0 1 0-3 0"
        "M11.5 3.5a1.5 1.5 0 1 0 3 0a1.5 1.5 0 1 0-3 0M6.5 14a1.5 1.5 0 1 0 3 0a1.5 1.5 0 1 0-3 0"
        "M4.2 4.5l2.3 2.1M11.8 4.5L9.5 6.6M8 10v2.5",
    ),
    ("/console/#/tokens", "Tokens", "M3.5 7.5h9v6h-9zM5.5 7.5V5a2.5 2.5 0 0 1 5 0v2.5"),
    ("/console/#/jobs", "Jobs", "M2 4h8M2 8h12M2 12h5M12.5 2.5l1.5 1.5-1.5 1.5"),
    ("/console/#/health", "Health", "M1.5 8.5h3l2-5 3 9 2-4h3"),
    ("/console/#/evaluation", "Evaluation", "M2.5 2.5v11h11M5.5 11V8M8.5 11V5M11.5 11V7"),
)
# The bar of a phone has room for five.
NOT_ON_A_PHONE = ("Memories", "Cascade", *(name for _, name, _ in ADMINISTRATION))
THEME = "M2.5 8a5.5 5.5 0 1 0 11 0a5.5 5.5 0 1 0-11 0M8 3v10M9.2 3.2v9.6M10.4 3.7v8.6M11.6 4.6v6.8"
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
        tag("link", rel="icon", href="/icon.svg"),
        tag("link", rel="stylesheet", href="/design.css"),
        tag("link", rel="stylesheet", href="/ckf/pages.css"),
        tag("script", src="/ckf/pages.js", defer=True),
    )
    content = tag("main", _tabs(here), *main, id="main", class_="page ckf", tabindex="-1")
    skip = tag("a", "Skip to content", href="#main", class_="skip")
    body = tag("body", skip, tag("div", _rail(), tag("div", _bar(), content), class_="app"))
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
    head = tag("p", tag("span", "Administration"), class_="rail-head administration")
    links = (
        *(_rail_link(*it) for it in RAIL),
        head,
        *(_rail_link(*it) for it in ADMINISTRATION),
    )
    return tag(
        "aside", brand, tag("nav", links, aria_label="Pages"), class_="rail", aria_label="Pecia"
    )


def _bar() -> Html:
    """The search box and the theme. The script sends a search to the console's own page, whose
    address has it behind the `#`; without scripts there is no such page."""
    words = "Search everything you may see"
    box = tag(
        "input",
        type="search",
        name="q",
        class_="input",
        placeholder=words,
        aria_label=words,
        autocomplete="off",
        enterkeyhint="search",
    )
    form = tag("form", _icon(RAIL[1][2]), box, class_="finder", role="search", data_finder=True)
    theme = tag(
        "button",
        _icon(THEME),
        type="button",
        class_="button quiet icon-only",
        data_switch=True,
        aria_label="Change theme",
        title="Change theme",
    )
    return tag("header", form, tag("div", theme, class_="bar-end"), class_="bar scripted")


def _icon(drawing: str) -> Html:
    return Html(
        f'<svg class="icon" viewBox="0 0 16 16" aria-hidden="true"><path d="{drawing}"/></svg>'
    )


def _rail_link(path: str, name: str, drawing: str) -> Html:
    current = "page" if path == "/viewer" else None
    text = tag("span", name, class_="text")
    kind = "rail-link administration" if name in NOT_ON_A_PHONE else "rail-link"
    return tag("a", _icon(drawing), text, href=path, title=name, class_=kind, aria_current=current)


def _tabs(here: str) -> Html:
    links = (
        tag("a", name, href=path, aria_current="page" if path == here else None)
        for path, name in TABS
    )
    return tag("nav", links, class_="tabs", aria_label="Packages")


@cache
def _file(name: str) -> bytes:
    return files("pecia.features.ckf.pages").joinpath(name).read_bytes()
