"""HTML pages of the HTTP interface: what the server is, and which tools it has."""

from collections.abc import Sequence
from html import escape

from starlette.requests import Request
from starlette.responses import Response

from pecia import __version__
from pecia.app.app import App
from pecia.interfaces.http.endpoint import Handler
from pecia.interfaces.http.pages.template import RawHtml, render_page
from pecia.interfaces.http.routes.tools import API, may_get, tool_path
from pecia.kernel.tool.model import AnyTool

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
    tools = sorted(app.full_view.tools.values(), key=tool_path)
    return _static_handler(
        render_page("The tools of this server", [_introduction(), RawHtml(_list(tools))])
    )


def _introduction() -> str:
    return (
        "POST a JSON object to a path; where GET is listed too, arguments may be in the query. "
        "The token goes in the Authorization header, as Bearer."
    )


def _list(tools: Sequence[AnyTool]) -> str:
    entries = (
        f"<dt><code>{'GET, POST' if may_get(it) else 'POST'} {escape(tool_path(it))}</code></dt>"
        f"<dd>{escape(it.description)} <em>{escape(it.scope.value)}</em></dd>"
        for it in tools
    )
    return f"<dl>{''.join(entries)}</dl>"


def _static_handler(shown: Response) -> Handler:
    """A static page, the same for everybody: rendered once."""

    async def answer(request: Request) -> Response:
        return Response(shown.body, 200, shown.headers)

    return answer
