"""HTML pages of the HTTP interface: what the server is, and which tools it has."""

import re
from collections.abc import Sequence
from functools import cache
from html import escape
from itertools import groupby

from starlette.requests import Request
from starlette.responses import Response

from pecia import __version__
from pecia.app.app import App
from pecia.interfaces.http.endpoint import Handler
from pecia.interfaces.http.pages.template import RawHtml, render_bar, render_document, render_page
from pecia.interfaces.http.routes.tools import API, may_get, tool_path
from pecia.kernel.tool.model import AnyTool
from pecia.kernel.tool.on_demand import load_tools

_CODE = re.compile("`([^`]+)`")
LINKS = {
    f"{API}/docs": "The tools of the API",
    f"{API}/openapi.json": "The same as OpenAPI",
    "/healthz": "Whether the process is up",
    "/readyz": "Whether it is ready to serve",
}


def home_page(app: App) -> Handler:
    """The start page. It names nobody: the reader is not authenticated."""
    links = "".join(f'<li><a href="{path}">{escape(it)}</a></li>' for path, it in LINKS.items())
    shown = render_page(
        "Pecia",
        [
            f"Version {__version__}, {app.settings.kernel.mode} mode.",
            RawHtml(f"<ul>{links}</ul>"),
        ],
    )
    return _static_handler(shown)


def docs_page(app: App) -> Handler:
    """Every tool with its path, scope and description."""
    tools = sorted(app.full_view.tools.values(), key=lambda it: (it.feature, tool_path(it)))
    title = "The tools of this server"

    @cache
    def render() -> Response:
        body = (
            f'{render_bar("/", "Start page")}<main class="page reading"><div class="stack">'
            f"<h1>{title}</h1><p>{escape(_introduction())}</p>{_contents(tools)}</div>"
            f"{_list(tools)}</main>"
        )
        return render_document(title, body)

    async def answer(request: Request) -> Response:
        await load_tools(tools)
        shown = render()
        return Response(shown.body, 200, shown.headers)

    return answer


def _introduction() -> str:
    return (
        "POST a JSON object to a path; where GET is listed too, arguments may be in the query. "
        "The token goes in the Authorization header, as Bearer."
    )


def _contents(tools: Sequence[AnyTool]) -> str:
    """Links to the toolsets: the page is long."""
    names = sorted({it.feature for it in tools})
    links = "".join(f'<a href="#{escape(it)}">{escape(it)}</a>' for it in names)
    return f'<nav class="row wide" aria-label="Toolsets">{links}</nav>'


def _list(tools: Sequence[AnyTool]) -> str:
    """By toolset, one section each."""
    toolsets = {name: [*found] for name, found in groupby(tools, key=lambda it: it.feature)}
    return "".join(
        f'<section class="section" id="{escape(name)}">'
        f'<div class="section-head"><h2>{escape(name)}</h2></div>'
        f'<ul class="list">{"".join(_entry(it) for it in found)}</ul></section>'
        for name, found in toolsets.items()
    )


def _entry(it: AnyTool) -> str:
    methods = "GET, POST" if may_get(it) else "POST"
    words = _CODE.sub(r"<code>\1</code>", escape(it.description))
    return (
        f'<li><div class="grow"><code><b>{escape(tool_path(it))}</b></code><br>'
        f'<span class="soft">{words}</span><br>'
        f'<span class="note-text small">{methods} · {escape(it.scope.value)}</span></div></li>'
    )


def _static_handler(shown: Response) -> Handler:
    """A static page, the same for everybody: rendered once."""

    async def answer(request: Request) -> Response:
        return Response(shown.body, 200, shown.headers)

    return answer
